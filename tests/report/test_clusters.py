"""What the clusters of a view are, against plain means; and where the page says it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_findings import make_findings
from scipy import sparse

from unaligned import PAVuC, prepare
from unaligned.report import gather, render
from unaligned.report.clusters import describe_clusters


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    labels = rng.randint(3, size=120)
    X = rng.normal(size=(120, 6))
    X[:, 2] += 3 * (labels == 1)
    X[:, 4] -= 2 * (labels == 2)
    X[:, 5] = 7
    return X, labels


@pytest.mark.parametrize("as_sparse", [False, True])
def test_differences_are_those_of_the_means(rows, as_sparse):
    X, labels = rows
    names = list("abcdef")
    given = sparse.csr_array(X) if as_sparse else X
    found = describe_clusters(given, labels, names, alone=labels)
    assert found.names == [0, 1, 2]
    assert found.sizes == np.bincount(labels).tolist()
    assert found.agreement == 1
    for cluster, distinctive in enumerate(found.distinctive):
        for name, difference in distinctive:
            column = X[:, names.index(name)]
            expected = column[labels == cluster].mean() - column.mean()
            assert difference == pytest.approx(expected / column.std())
            assert abs(difference) >= 0.2
        sizes = [abs(difference) for _, difference in distinctive]
        assert sizes == sorted(sizes, reverse=True)
    assert found.distinctive[1][0][0] == "c"
    assert found.distinctive[1][0][1] > 1
    assert found.distinctive[2][0] == ("e", pytest.approx(found.heat[2, -1]))
    assert "f" not in found.columns  # the same everywhere
    assert [names[j] for j in found.positions] == found.columns


def test_wide_views_show_some_columns_only(rows):
    X = np.hstack([rows[0]] * 10)
    found = describe_clusters(X, rows[1])
    assert len(found.columns) == 20
    assert found.columns[0].startswith("column ")
    assert all(len(distinctive) <= 5 for distinctive in found.distinctive)


@pytest.fixture
def findings(rows):
    X, labels = rows
    frame = pd.DataFrame(X, columns=list("abcdef"))
    other = pd.DataFrame(X[:, ::-1] + labels[:, None], columns=list("ghijkf"))
    views = {"one": prepare(frame, keep=["f"]), "two": other}
    model = PAVuC(3, random_state=0, max_iter=2, n_init=1)
    with pytest.warns(UserWarning, match="converging"):
        model.fit(views)
    return model, gather(model, views, maps=False)


def test_every_view_is_described_and_compared_with_itself_alone(findings):
    model, found = findings
    for i, view in enumerate(found.views):
        assert view.clusters.sizes == np.bincount(model.view_labels_[i]).tolist()
        assert -1 <= view.clusters.agreement <= 1
    page = render(found)
    assert 'id="clusters-title"' in page
    assert "Agreement with the clusters of this view alone" in page


def test_rows_can_be_coloured_by_the_columns_of_their_view(findings, rows):
    _, found = findings
    columns = {column.name: column.values for column in found.columns}
    assert set(columns) == {*"abcdeghijk", "f (one)", "f (two)"}
    np.testing.assert_allclose(columns["c"][0], rows[0][:, 2], rtol=1e-6)
    assert columns["c"][1] is None


def test_without_views_there_is_nothing_to_say():
    assert 'id="clusters-title"' not in render(make_findings())
    base = make_findings()
    views = [replace(view, labels=None) for view in base.views]
    assert 'id="clusters-title"' not in render(replace(base, views=views))
