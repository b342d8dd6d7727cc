"""``unaligned.scverse.cluster``; ``make test-all`` installs what it needs."""

import doctest
import warnings

import numpy as np
import pytest

import unaligned.scverse.clusters
from tests.cli.file_views import shuffled_digits
from unaligned import PAVuC, SAVuC
from unaligned.scverse import align, cluster

pytestmark = [
    pytest.mark.heavy,
    # Other people's imports warn as they please.
    pytest.mark.filterwarnings("default"),
]

PAVUC = {"method": "pavuc", "max_iter": 3, "n_init": 1, "inplace": True}


@pytest.fixture
def cells(anndata, blobs):
    """Three modalities of 60 cells; 40 cells of the first are in the others, too."""
    made = {}
    for i, name in enumerate(("rna", "atac", "protein")):
        made[name] = anndata.AnnData(blobs[0][i])
        made[name].obs_names = [f"cell{row + 20 * min(i, 1)}" for row in range(60)]
    return made


@pytest.fixture(scope="module")
def digits(mudata, anndata):
    """Unequal modalities whose cells nobody knows, and a third that is noise."""
    Xs, orders, _ = shuffled_digits()
    modalities = {}
    for name, X in (("rna", Xs[0]), ("atac", Xs[1])):
        modalities[name] = anndata.AnnData(X)
        modalities[name].obs_names = [f"{name}-{row}" for row in range(len(X))]
    noise = np.random.RandomState(0).normal(size=(250, 30))
    modalities["noise"] = anndata.AnnData(noise)
    modalities["noise"].obs_names = [f"n{row}" for row in range(250)]
    mdata = mudata.MuData(modalities)
    return mdata, cluster(mdata, 10, effort="quick", inplace=True), orders


def test_labels_and_coordinates_are_those_of_the_estimator(digits):
    mdata, model, _ = digits
    assert isinstance(model, SAVuC)
    assert model.fused_views_ == (0, 1)
    for i, name in enumerate(("rna", "atac", "noise")):
        labels = mdata[name].obs["unaligned"].astype(int)
        np.testing.assert_array_equal(labels, model.view_labels_[i])
        categories = list(mdata[name].obs["unaligned"].cat.categories)
        assert categories == sorted(categories, key=int)
    for i, name in enumerate(("rna", "atac")):
        places = mdata[name].obsm["X_unaligned"]
        np.testing.assert_array_equal(places, model.transform(mdata[name].X, i))
    assert "X_unaligned" not in mdata["noise"].obsm


def test_partners_name_each_other_and_mostly_the_right_cell(digits):
    mdata, _, orders = digits
    rna, atac = mdata["rna"].obs, mdata["atac"].obs
    partner = rna["unaligned_partner_atac"].dropna()
    assert len(partner) == 280
    back = atac["unaligned_partner_rna"]
    assert all(back[there] == here for here, there in partner.items())
    at = [int(name.removeprefix("atac-")) for name in partner]
    here = [int(name.removeprefix("rna-")) for name in partner.index]
    assert np.mean(orders[1][at] == orders[0][here]) > 0.9
    sure = rna["unaligned_confidence_atac"]
    assert sure[rna["unaligned_partner_atac"].isna()].eq(0).all()
    assert sure[partner.index].gt(0).all()


def test_refused_modalities_have_no_partners_and_say_so(digits):
    mdata, model, _ = digits
    assert mdata["noise"].obs["unaligned_partner_rna"].isna().all()
    assert mdata["rna"].obs["unaligned_partner_noise"].isna().all()
    for where in (mdata, mdata["noise"]):
        about = where.uns["unaligned"]
        np.testing.assert_array_equal(about["trust"], model.alignment_.trust)
        assert about["verdict"].tolist() == ["objects", "objects", "none"]
        assert about["known"].tolist() == [1, 0, 0]
        assert about["shares_clusters"].tolist() == [True, True, False]
        assert about["template"] == "rna"
        assert about["n_clusters"] == 10


def test_results_survive_a_file(digits, mudata, tmp_path):
    mdata, _, _ = digits
    mdata.write(tmp_path / "cells.h5mu")
    again = mudata.read(tmp_path / "cells.h5mu")
    for name in ("rna", "atac", "noise"):
        assert again[name].obs.equals(mdata[name].obs)
    assert again.uns["unaligned"]["method"] == "SAVuC"


def test_cells_of_one_name_are_known_pairs(cells):
    model = cluster(cells, 3, **PAVUC)
    assert isinstance(model, PAVuC)
    assert model.alignment_.known.min() == pytest.approx(40 / 60)
    assert "untested" in cells["rna"].uns["unaligned"]["verdict"]
    both = [f"cell{row}" for row in range(20, 60)]
    partners = cells["rna"].obs.loc[both, "unaligned_partner_atac"]
    assert list(partners) == both
    places = [cells[name].obsm["X_unaligned"] for name in cells]
    t = model.template_
    np.testing.assert_array_equal(places[t], model.embedding_)
    np.testing.assert_array_equal(places[0][20:], places[1][:40])
    assert cluster(cells, 3, aligned=None, **PAVUC).alignment_.known.sum() == 1


def test_nothing_is_written_unless_asked_for(cells):
    before = {name: own.copy() for name, own in cells.items()}
    cluster(cells, 3, **(PAVUC | {"inplace": False}))
    for name, own in cells.items():
        assert own.obs.equals(before[name].obs)
        assert not own.uns
        assert not own.obsm
        np.testing.assert_array_equal(own.X, before[name].X)


def test_row_numbers_are_no_names(anndata, blobs):
    cells = dict(zip("ab", map(anndata.AnnData, blobs[0][:2]), strict=True))
    with pytest.warns(UserWarning, match='aligned="all"'):
        model = cluster(cells, 3, **PAVUC)
    assert model.alignment_.known.sum() == 1
    assert cluster(cells, 3, aligned="all", **PAVUC).alignment_.known.sum() == 2


def test_other_matrices_can_be_read(cells, blobs):
    expected = cluster(cells, 3, **PAVUC)
    for name in cells:
        cells[name].obsm["X_pca"] = cells[name].X
        cells[name].layers["counts"] = cells[name].X
        cells[name].X = np.zeros_like(cells[name].X)
    for rep in ("X_pca", {"rna": "counts", "atac": "X_pca", "protein": "counts"}):
        found = cluster(cells, 3, use_rep=rep, key_added="again", **PAVUC)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert {"unaligned", "again"} <= set(cells["rna"].obs)
    with pytest.raises(ValueError, match=r"'X_umap'.*'rna'.*'X_pca'.*'counts'"):
        cluster(cells, 3, use_rep="X_umap")


def test_complaints(cells):
    with pytest.raises(TypeError, match="a dict of AnnData"):
        cluster([cells["rna"]], 3)
    with pytest.raises(TypeError, match="a dict of AnnData"):
        cluster({"rna": cells["rna"].X}, 3)
    with pytest.raises(ValueError, match="method='magic' is not known"):
        cluster(cells, 3, method="magic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells["atac"].obs_names = ["same"] * 60
    with pytest.raises(ValueError, match=r"'atac'.*obs_names_make_unique"):
        cluster(cells, 3)


def test_the_example_of_the_docstring_runs(anndata):
    text = cluster.__doc__.replace("  # doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(
        text, {}, "cluster", unaligned.scverse.clusters.__file__, 0
    )
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))


def test_what_a_modality_lacks_is_named(cells):
    with pytest.raises(TypeError, match="modality 'rna' is ndarray"):
        align({**cells, "rna": np.ones((3, 2))})
    empty = cells["rna"].copy()
    empty.X = None
    with pytest.raises(ValueError, match=r"'rna' has no X.*use_rep=.*layer="):
        align({**cells, "rna": empty})
