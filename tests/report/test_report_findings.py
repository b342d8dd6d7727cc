import re
import sys
import warnings
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from unaligned import Alignment, PAVuC, SAVuC, load
from unaligned.report import gather, maps, write_report
from unaligned.report.rows import check_columns, check_ids

NAMES, SIZES = ["a", "b"], [3, 2]


@pytest.fixture(autouse=True)
def _quick_maps(monkeypatch):
    """Principal directions instead of t-SNE: these tests do not look at the maps."""
    monkeypatch.setattr(maps, "N_LANDMARKS", 9)


@pytest.fixture
def model(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Xs = dict(zip(["x", "y", "z"], blobs[0], strict=True))
        return PAVuC(3, max_iter=3, alpha=1.7, random_state=0).fit(Xs, aligned=15)


def test_findings_are_what_the_model_holds(model):
    found = gather(model)
    assert found.method == "PAVuC"
    assert [view.name for view in found.views] == ["x", "y", "z"]
    assert found.template == model.template_
    assert found.n_clusters == 3
    assert {view.verdict for view in found.others} == {"untested"}
    assert [view.known for view in found.others] == [15 / 60] * 2
    assert [view.n_features for view in found.views] == [5, 4, 6]
    np.testing.assert_array_equal(found.objective, model.objective_)
    for i, view in enumerate(found.views):
        np.testing.assert_array_equal(view.labels, model.view_labels_[i])
        np.testing.assert_array_equal(view.partners, model.alignment_.permutations[i])
        assert view.shares_clusters
        assert view.weight == model.view_weights_[i]
        assert view.n_matched == 60
        assert view.coordinates.shape == (60, 2)
    changed = {p.name: p.value for p in found.parameters if not p.is_default}
    assert changed == {
        "n_clusters": "3", "max_iter": "3", "alpha": "1.7", "random_state": "0"
    }  # fmt: skip
    assert {"unaligned", "numpy", "python"} <= set(found.versions)
    assert found.citation == model.citation


def test_a_method_that_refuses_views_says_so(blobs):
    noise = np.random.RandomState(0).normal(size=(40, 3))
    model = SAVuC(3, effort="quick", random_state=0).fit([blobs[0][0], noise])
    found = gather(model)
    assert found.others[0].verdict == "none"
    assert [view.n_rows for view in found.views] == [60, 40]
    assert sum(view.shares_clusters for view in found.views) == 1
    assert found.others[0].n_matched == 0


def test_an_alignment_alone_has_no_clusters(blobs):
    alignment = Alignment(0, [np.arange(60)] * 2, [np.ones(60)] * 2, np.ones(2))
    found = gather(alignment, blobs[0][:2])
    assert found.method == "align"
    assert found.n_clusters == 0
    assert found.parameters == []
    assert [view.n_features for view in found.views] == [5, 4]


def test_an_estimator_must_be_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        PAVuC(3).report(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_rows_are_named_by_the_index_of_data_frames(model, blobs):
    frame = pd.DataFrame(blobs[0][1], index=[f"cell {i}" for i in range(60)])
    found = gather(model, [blobs[0][0], frame, pd.DataFrame(blobs[0][2])])
    assert [view.ids is None for view in found.views] == [True, False, True]
    assert found.views[1].ids[59] == "cell 59"


def test_ids_by_order_or_by_name():
    assert check_ids([["p", "q", "r"], None], None, NAMES, SIZES) == [
        ["p", "q", "r"],
        None,
    ]
    assert check_ids({"b": np.array([7, 8])}, None, NAMES, SIZES) == [None, ["7", "8"]]
    assert check_ids(None, None, NAMES, SIZES) == [None, None]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([["p", "q"], None], "ids has 2 values for view 'a', which has 3 rows"),
        ([["p", "q", "r"]], "ids holds 1 arrays, but there are 2 views"),
        ({"c": [1]}, r"ids names 'c', which is none of the views \['a', 'b'\]"),
        (["pqr", None], "one value per row"),
    ],
)
def test_ids_that_fit_nothing_are_named(ids, message):
    with pytest.raises(ValueError, match=message):
        check_ids(ids, None, NAMES, [3 if message != "one value per row" else 9, 2])


def test_columns_are_numbers_or_categories():
    columns = {
        "measured": [np.array([0.5, np.nan, 2.0]), None],
        "batch": [["x", "y", None], np.array(["y", "z"])],
        "digit": [np.array([3.0, 10.0, 3.0]), np.array([10, 2])],
        "many": [np.arange(3), np.arange(2)],
    }
    measured, batch, digit, many = check_columns(columns, NAMES, SIZES)
    assert measured.categories is None
    np.testing.assert_array_equal(measured.values[0], np.float32([0.5, np.nan, 2]))
    assert measured.values[1] is None
    assert batch.categories == ["x", "y", "z"]
    np.testing.assert_array_equal(batch.values[0], [0, 1, -1])
    np.testing.assert_array_equal(batch.values[1], [1, 2])
    assert digit.categories == ["2", "3", "10"]
    np.testing.assert_array_equal(digit.values[0], [1, 2, 1])
    assert many.categories == ["0", "1", "2"]


def test_many_whole_numbers_are_numbers():
    (column,) = check_columns({"age": [np.arange(50)]}, ["a"], [50])
    assert column.categories is None


def test_columns_that_fit_nothing_are_named():
    with pytest.raises(TypeError, match="columns is a list"):
        check_columns([1, 2], NAMES, SIZES)
    with pytest.raises(ValueError, match=r"columns\['x'\] has 1 values for view 'a'"):
        check_columns({"x": [[1], [1, 2]]}, NAMES, SIZES)
    with pytest.raises(ValueError, match=r"columns\['x'\] has no values for any view"):
        check_columns({"x": [None, None]}, NAMES, SIZES)


def test_a_report_is_written_whole_or_not_at_all(model, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="ids holds"):
        model.report(path, ids=[[1]])
    assert path.read_text() == "before"
    assert model.report(path, title="Cells & <tissue>") == path
    assert "<title>Cells &amp; &lt;tissue&gt;</title>" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_model_gives_the_same_page(model, tmp_path):
    one, other = model.report(tmp_path / "1.html"), model.report(tmp_path / "2.html")
    assert one.read_bytes() == other.read_bytes()


def test_a_model_from_a_file_gives_the_same_page(model, tmp_path):
    model.save(tmp_path / "fit.model")
    again = load(tmp_path / "fit.model")
    one, other = model.report(tmp_path / "1.html"), again.report(tmp_path / "2.html")
    assert one.read_bytes() == other.read_bytes()


def test_the_page_is_opened_when_asked(model, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = write_report(model, tmp_path / "a page.html", open_browser=True)
    assert opened == [path.as_uri()]


def test_a_line_per_map_where_the_model_is_verbose(model, tmp_path, capsys):
    model.set_params(verbose=1).report(tmp_path / "page.html")
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [f"[report] map of view {v} drawn" for v in "xyz"]


def test_without_jinja2_the_way_out_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install unaligned\[report\]"):
        model.report(tmp_path / "page.html")


def test_without_a_path_a_report_shows_itself(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = model.report()
    assert list(tmp_path.iterdir()) == []
    shown = page._repr_html_()
    (inner,) = re.findall(r'^<iframe srcdoc="([^"]*)"', shown)
    assert unescape(inner) == page.html
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert "save(path)" in repr(page)
    saved = page.save("page.html")
    assert saved.read_bytes() == model.report(tmp_path / "2.html").read_bytes()
