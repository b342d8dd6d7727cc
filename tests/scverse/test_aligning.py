"""``unaligned.scverse.align``; ``make test-all`` installs what it needs."""

import doctest

import numpy as np
import pytest

import unaligned.scverse.aligning
from tests.cli.file_views import shuffled_digits
from unaligned import align as align_arrays
from unaligned.datasets import load_digits_views, unalign
from unaligned.scverse import align

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture
def digits(anndata):
    """Two modalities whose cells nobody knows."""
    Xs, orders, _ = shuffled_digits()
    cells = {}
    for name, X in zip(("rna", "atac"), Xs, strict=True):
        cells[name] = anndata.AnnData(X)
        cells[name].obs_names = [f"{name}-{row}" for row in range(len(X))]
    return cells, orders


@pytest.fixture
def partly_paired(anndata, mudata):
    """A tenth of the cells is in both modalities; the others are in one."""
    digits = load_digits_views()
    views = [digits.Xs[0][:600], digits.Xs[1][:600]]
    data = unalign(views, digits.y[:600], 0.1, random_state=0)
    cells = {}
    for name, X in zip(("rna", "atac"), data.Xs, strict=True):
        cells[name] = anndata.AnnData(X)
        cells[name].obs_names = [
            f"both-{row}" if row < 60 else f"{name}-{row}" for row in range(600)
        ]
        cells[name].var_names = [f"{name}-{j}" for j in range(X.shape[1])]
    return mudata.MuData(cells), data


def test_partners_are_those_of_the_arrays(digits):
    cells, _ = digits
    before = {name: own.copy() for name, own in cells.items()}
    found = align(cells, effort="quick")
    Xs = {name: own.X for name, own in cells.items()}
    same = align_arrays(Xs, effort="quick", random_state=0)
    np.testing.assert_array_equal(found.pairs(0, 1), same.pairs(0, 1))
    assert found.verdict == same.verdict == ["objects", "objects"]
    assert found.row_ids[0][:2] == ["rna-0", "rna-1"]
    for name, own in cells.items():
        assert own.obs.equals(before[name].obs)
        assert not own.obsm
        assert not own.uns


def test_results_are_written_when_asked_for(digits):
    cells, _ = digits
    found = align(cells, effort="quick", inplace=True, key_added="ours")
    rna, atac = cells["rna"], cells["atac"]
    partner = rna.obs["ours_partner_atac"].dropna()
    assert len(partner) == len(found.pairs(0, 1))
    assert rna.uns["ours"]["verdict"].tolist() == ["objects", "objects"]
    assert len(rna.uns["ours"]["preparation"]) == 2
    # Partners lie near each other in the space that both are placed in.
    one, other = (own.obsm["X_ours"] for own in (rna, atac))
    pairs = found.pairs(0, 1)
    near = np.linalg.norm(one[pairs[:, 0]] - other[pairs[:, 1]], axis=1).mean()
    shifted = np.roll(pairs[:, 1], 1)
    far = np.linalg.norm(one[pairs[:, 0]] - other[shifted], axis=1).mean()
    assert near < far / 2


def test_cells_in_both_modalities_are_the_bridge(partly_paired):
    mdata, data = partly_paired
    found = align(mdata, effort="quick", inplace=True)
    assert found.verdict[1 - found.template] in ("classes", "objects")
    assert found.known[1 - found.template] == pytest.approx(0.1)
    one, other = (mdata[name].obsm["X_unaligned"] for name in ("rna", "atac"))
    assert one.shape[1] == other.shape[1]
    nearest = np.argmin(
        np.linalg.norm(other[60:, None] - one[None, 60:], axis=2), axis=1
    )
    same = data.ys[0][60:][nearest] == data.ys[1][60:]
    assert same.mean() > 0.6
    assert mdata.uns["unaligned"]["template"] in ("rna", "atac")


def test_counts_and_peaks_are_recognised_and_said(anndata):
    rng = np.random.RandomState(0)
    counts = rng.poisson(rng.gamma(0.5, 2, size=(60, 40)))
    rna, atac = anndata.AnnData(counts * 1.0), anndata.AnnData(np.minimum(counts, 1.0))
    atac.var_names = [f"chr2-{i}-{i + 5}" for i in range(40)]
    cells = {"rna": rna, "atac": atac}
    align(cells, aligned=None, effort="quick", inplace=True)
    genes, peaks = rna.uns["unaligned"]["preparation"]
    assert "logarithms were taken" in genes
    assert "The columns are peaks" in peaks
    rna.layers["counts"] = rna.X.copy()
    chosen = {"rna": "counts"}
    align(cells, aligned=None, effort="quick", inplace=True, layer=chosen)
    align(
        cells,
        aligned=None,
        effort="quick",
        inplace=True,
        transform={"rna": "none", "atac": "lsi"},
    )
    assert "logarithms" not in rna.uns["unaligned"]["preparation"][0]
    with pytest.raises(ValueError, match="Modality 'rna': layer is 'no'"):
        align(cells, aligned=None, layer="no")


def test_the_example_of_the_docstring_runs(anndata):
    text = align.__doc__.replace("  # doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(
        text, {}, "align", unaligned.scverse.aligning.__file__, 0
    )
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
