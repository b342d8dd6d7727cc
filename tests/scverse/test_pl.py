"""Plots of cells; ``make test-all`` installs what they need."""

import doctest

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import unaligned.scverse.mapping
from unaligned.scverse import joint_map, pl

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("default"),
]

GRAY = to_rgba("lightgray")


@pytest.fixture(autouse=True)
def no_window():
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def cells(anndata):
    """Two modalities with what `align` writes; the third was refused."""
    rng = np.random.RandomState(0)
    made = {}
    for name, n in (("rna", 30), ("atac", 20), ("noise", 10)):
        made[name] = anndata.AnnData(rng.normal(size=(n, 3)))
        made[name].obs_names = [f"{name}-{row}" for row in range(n)]
        made[name].var_names = [f"{name} gene {j}" for j in range(3)]
        made[name].uns["unaligned"] = {
            "template": "rna",
            "modalities": np.array(["rna", "atac", "noise"], dtype=object),
            "verdict": np.array(["objects", "objects", "none"], dtype=object),
            "trust": np.array([1.0, 0.9, 0.1]),
        }
    for name, other in (("rna", "atac"), ("atac", "rna")):
        own, n = made[name], made[name].n_obs
        own.obsm["X_unaligned"] = rng.normal(size=(n, 4))
        partner = [f"{other}-{row}" if row < 15 else None for row in range(n)]
        own.obs[f"unaligned_partner_{other}"] = partner
        own.obs[f"unaligned_confidence_{other}"] = np.where(
            np.arange(n) < 15, np.linspace(0.5, 1, n), 0
        )
    made["rna"].obs["type"] = np.repeat(["b", "a", "unknown"], 10)
    made["rna"].obs["type"] = made["rna"].obs["type"].astype("category")
    return made


def points(ax):
    """Places and colours of the cells that were drawn."""
    drawn = [path for path in ax.collections if len(path.get_offsets())]
    places = np.vstack([path.get_offsets() for path in drawn])
    ax.figure.canvas.draw()
    colors = [
        np.broadcast_to(path.get_facecolors(), (len(path.get_offsets()), 4))
        for path in drawn
    ]
    return places, np.vstack(colors)


def names_of(ax):
    return [text.get_text() for text in ax.get_legend().texts]


def colors_of(ax, cells, name):
    """Colour of each cell of a modality, found by its place."""
    places, colors = points(ax)
    own = cells[name].obsm["X_unaligned"][:, :2]
    at = np.linalg.norm(own[:, None] - places[None], axis=2).argmin(axis=1)
    return colors[at]


def test_every_cell_is_drawn_in_the_colour_of_its_modality(cells):
    ax = pl.embedding(cells, show=False)
    assert names_of(ax) == ["rna", "atac"]
    places, _ = points(ax)
    expected = np.vstack([cells[m].obsm["X_unaligned"][:, :2] for m in ("rna", "atac")])
    np.testing.assert_allclose(np.sort(places, axis=0), np.sort(expected, axis=0))
    assert len(np.unique(colors_of(ax, cells, "rna"), axis=0)) == 1
    assert (colors_of(ax, cells, "rna")[0] != colors_of(ax, cells, "atac")[0]).any()


def test_categories_have_their_colours_and_the_unknown_are_gray(cells):
    cells["rna"].uns["type_colors"] = ["#ff0000", "#0000ff", "#00ff00"]
    ax = pl.embedding(cells, color="type", show=False)
    assert names_of(ax) == ["a", "b", "unknown"]
    drawn = colors_of(ax, cells, "rna")
    np.testing.assert_allclose(drawn[:10], [to_rgba("blue")] * 10)
    np.testing.assert_allclose(drawn[10:20], [to_rgba("red")] * 10)
    np.testing.assert_allclose(colors_of(ax, cells, "atac"), [GRAY] * 20)
    del cells["rna"].uns["type_colors"]
    ax = pl.embedding(cells, color="type", show=False)
    np.testing.assert_allclose(colors_of(ax, cells, "rna")[20:], [GRAY] * 10)


@pytest.mark.parametrize("color", ["confidence", "rna gene 1"])
def test_numbers_have_a_scale(cells, color):
    ax = pl.embedding(cells, color=color, cmap="gray", show=False)
    assert ax.get_legend() is None
    drawn = colors_of(ax, cells, "rna")
    if color == "confidence":
        sure = cells["rna"].obs["unaligned_confidence_atac"].to_numpy()
        np.testing.assert_allclose(drawn[15:], [GRAY] * 15)  # no partner, no confidence
        drawn, values = drawn[:15], sure[:15]
    else:
        values = cells["rna"].X[:, 1]
    assert (np.argsort(drawn[:, 0], kind="stable") == np.argsort(values)).all()


def test_findings_of_modalities(cells):
    ax = pl.embedding(cells, color="verdict", show=False)
    assert names_of(ax) == ["objects"]
    ax = pl.embedding(cells, color="partner", show=False)
    assert names_of(ax) == ["has a partner", "has none"]
    drawn = colors_of(ax, cells, "rna")
    assert (drawn[:15] == drawn[0]).all()
    assert (drawn[15:] == drawn[15]).all()
    assert (drawn[0] != drawn[15]).any()


def test_axes_are_given_as_scanpy_gives_them(cells, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(1))
    assert pl.embedding(cells, color="type") is None
    assert shown == [1]
    several = pl.embedding(cells, color=["type", "modality"], show=False)
    assert [ax.get_title() for ax in several] == ["type", "modality"]
    _, own = plt.subplots()
    assert pl.embedding(cells["rna"], color="type", ax=own) is own
    assert shown == [1]
    pl.embedding(cells, show=False, save="_types.png")
    pl.trust(cells, show=False, save=True)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "embedding_types.png",
        "trust.pdf",
    ]
    with pytest.raises(ValueError, match="one colour"):
        pl.embedding(cells, color=["type", "modality"], ax=own)


def test_lines_join_partners(cells):
    ax = pl.partners(cells, basis="unaligned", show=False)
    (lines,) = [found for found in ax.collections if hasattr(found, "get_segments")]
    assert len(lines.get_segments()) == 15
    assert ax.get_title() == "15 matches, objects, trust 0.90"
    with pytest.raises(ValueError, match="Two modalities"):
        pl.partners(cells, ("rna", "noise"), basis="unaligned", show=False)


def test_trust_is_that_of_the_modalities(cells):
    ax = pl.trust(cells, show=False)
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.9, 0.1]
    assert [text.get_text() for text in ax.texts] == ["objects", "objects", "none"]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["rna (template)", "atac", "noise"]


def test_a_map_is_made_of_all_cells_that_share_the_space(cells):
    cells["rna"].obsm["X_unaligned"][3] = np.nan
    cells["atac"].obsm["X_unaligned"][:5] = cells["rna"].obsm["X_unaligned"][10:15]
    joint_map(cells)
    one, other = (cells[name].obsm["X_unaligned_map"] for name in ("rna", "atac"))
    assert "X_unaligned_map" not in cells["noise"].obsm
    assert np.isnan(one[3]).all()
    assert np.isfinite(np.delete(one, 3, axis=0)).all()
    near = np.linalg.norm(one[10:15] - other[:5], axis=1)
    assert near.max() < np.nanstd(one)
    pl.embedding(cells, "X_unaligned_map", color="confidence", show=False)
    pl.partners(cells, show=False)


def test_complaints(cells):
    with pytest.raises(ValueError, match=r"obsm\['X_umap'\]; there are \['X_unal"):
        pl.embedding(cells, "umap")
    with pytest.raises(ValueError, match=r"color='kind'.*'type'.*modality, verdict"):
        pl.embedding(cells, color="kind")
    with pytest.raises(ValueError, match="a dict of AnnData, or a MuData"):
        pl.embedding(cells["rna"], color="verdict")
    with pytest.raises(ValueError, match=r"uns\['ours'\]"):
        pl.trust(cells, key="ours")
    with pytest.raises(ValueError, match=r"uns\['ours'\]"):
        pl.embedding(cells, color="confidence", key="ours")
    with pytest.raises(ValueError, match="No modality has obsm"):
        joint_map(cells["noise"])


@pytest.mark.parametrize(
    "documented", [(pl.embedding, pl), (joint_map, unaligned.scverse.mapping)]
)
def test_the_example_of_the_docstring_runs(documented, anndata):
    function, module = documented
    text = function.__doc__.replace("  # doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(
        text, {}, function.__name__, module.__file__, 0
    )
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
