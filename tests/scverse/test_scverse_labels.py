"""``unaligned.scverse.transfer_labels``; ``make test-all`` installs what it needs."""

import doctest

import numpy as np
import pytest

import unaligned.scverse.labels
from unaligned.datasets import load_digits_views, unalign
from unaligned.scverse import transfer_labels

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("default"),
]


def modalities(anndata, views, share, n=600):
    """Cells of two views of the digits; a share of them is in both."""
    digits = load_digits_views()
    chosen = [digits.Xs[i][:n] for i in views]
    data = unalign(chosen, digits.y[:n], share, random_state=0)
    rna, atac = map(anndata.AnnData, data.Xs)
    for own, name in ((rna, "rna"), (atac, "atac")):
        own.obs_names = [
            f"both-{row}" if row < data.n_aligned else f"{name}-{row}"
            for row in range(n)
        ]
    rna.obs["digit"] = data.ys[0].astype(str)
    return rna, atac, data


def test_confidence_is_the_share_of_right_labels_along_known_pairs(anndata):
    rna, atac, data = modalities(anndata, (0, 1), 0.1)
    found = transfer_labels(rna, atac, "digit", effort="quick")
    new = slice(data.n_aligned, None)
    right = (found["guess"].astype(str) == data.ys[1].astype(str)).to_numpy()[new]
    sure = found["confidence"].to_numpy()[new]
    assert right.mean() > 0.75
    assert sure.mean() == pytest.approx(right.mean(), abs=0.1)
    assert sure[right].mean() > sure[~right].mean() + 0.05
    known = found["guess"].astype(str).to_numpy()[: data.n_aligned]
    np.testing.assert_array_equal(known, data.ys[0][: data.n_aligned].astype(str))
    assert list(atac.obs.columns) == []
    assert not atac.uns


def test_what_is_doubtful_is_unknown(anndata):
    rna, atac, _ = modalities(anndata, (0, 1), 0.1)
    found = transfer_labels(
        rna, atac, "digit", threshold=0.8, effort="quick", inplace=True
    )
    doubtful = found["confidence"] < 0.8
    assert 0 < doubtful.mean() < 1
    label = found["label"].astype(str)
    assert (label[doubtful] == "unknown").all()
    assert (label[~doubtful] == found["guess"].astype(str)[~doubtful]).all()
    written = atac.obs["digit_transferred"].astype(str)
    assert written.equals(label)
    about = atac.uns["digit_transferred"]
    assert about["n_held_out"] == 60
    assert about["held_out"] > 0.7
    assert about["verdict"].tolist()[1] in ("classes", "objects")


def test_a_type_that_the_source_lacks_has_less_confidence(anndata):
    rna, atac, data = modalities(anndata, (0, 1), 0.15)
    seen = data.ys[0] != 0
    found = transfer_labels(rna[seen].copy(), atac, "digit", effort="quick")
    new = ~found.index.str.startswith("both")
    truth = data.ys[1][new]
    sure = found["confidence"].to_numpy()[new]
    right = found["guess"].astype(str).to_numpy()[new] == truth.astype(str)
    assert sure[truth == 0].mean() < 0.45
    others = truth != 0
    assert sure[others].mean() == pytest.approx(right[others].mean(), abs=0.1)


def test_matches_stand_for_known_pairs(anndata):
    rna, atac, data = modalities(anndata, (0, 3), 0.0, n=400)
    rna.obs.loc[rna.obs_names[:50], "digit"] = None  # nobody knows what they are
    found = transfer_labels(rna, atac, "digit", aligned=None, effort="quick")
    assert found.attrs["verdict"] == "objects"
    right = found["guess"].astype(str) == data.ys[1].astype(str)
    assert right.mean() > 0.8
    assert found["confidence"].mean() == pytest.approx(right.mean(), abs=0.1)


def test_where_nothing_corresponds_all_is_unknown(anndata):
    rng = np.random.RandomState(0)
    rna, atac = (anndata.AnnData(rng.normal(size=(150, 20))) for _ in range(2))
    rna.obs["kind"] = rng.choice(["a", "b"], 150)
    found = transfer_labels(rna, atac, "kind", aligned=None, effort="quick")
    assert set(found["label"]) == {"unknown"}
    assert found["confidence"].eq(0).all()
    assert found["guess"].isna().all()
    with pytest.raises(ValueError, match="key='type' is no column"):
        transfer_labels(rna, atac, "type")
    found = transfer_labels(rna, atac, "kind", aligned=None, threshold=0)
    assert set(found["label"]) == {"unknown"}
    with pytest.raises(ValueError, match="holds the label 'a'"):
        transfer_labels(rna, atac, "kind", unknown="a")
    rna.obs["nobody"] = None
    with pytest.raises(ValueError, match="without any label"):
        transfer_labels(rna, atac, "nobody")


def test_the_example_of_the_docstring_runs(anndata):
    text = transfer_labels.__doc__.replace("  # doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(
        text, {}, "transfer", unaligned.scverse.labels.__file__, 0
    )
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))


@pytest.mark.parametrize("other", [None, np.ones((3, 2)), "cells"])
def test_only_anndata_has_cells(anndata, other):
    cells = anndata.AnnData(np.ones((3, 2)))
    with pytest.raises(TypeError, match="source must be an AnnData, got"):
        transfer_labels(other, cells, "type")
    with pytest.raises(TypeError, match="target must be an AnnData, got"):
        transfer_labels(cells, other, "type")
