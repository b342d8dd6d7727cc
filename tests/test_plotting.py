import sys
import warnings
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from unaligned import Alignment, PAVuC
from unaligned.baselines import LMVSC
from unaligned.plotting import (
    AlignmentDisplay,
    ClusterEvidenceDisplay,
    ConvergenceDisplay,
    EmbeddingDisplay,
    WeightsDisplay,
)
from unaligned.report.maps import draw_maps, map_view
from unaligned.selection.evidence import weigh

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def model(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Xs = dict(zip("xyz", blobs[0], strict=True))
        return PAVuC(3, max_iter=4, random_state=0).fit(Xs, aligned=40)


def test_convergence_is_the_objective_over_the_iterations(model):
    display = ConvergenceDisplay.from_estimator(model, color="red")
    x, y = display.line_.get_data()
    np.testing.assert_array_equal(x, [1, 2, 3, 4])
    np.testing.assert_array_equal(y, model.objective_)
    assert display.line_.get_color() == "red"
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_legend().get_texts()[0].get_text() == "PAVuC"


def test_several_curves_share_axes(model):
    first = ConvergenceDisplay.from_estimator(model, name="one")
    second = ConvergenceDisplay.from_estimator(model, ax=first.ax_, name="two")
    assert second.ax_ is first.ax_
    assert len(first.ax_.lines) == 2


def test_weights_are_bars_from_the_top_and_the_template_is_marked(model):
    display = WeightsDisplay.from_estimator(model)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_array_equal(widths, model.view_weights_)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    expected = list("xyz")
    expected[model.template_] += " (template)"
    assert names == expected
    assert display.ax_.yaxis_inverted()


def test_what_a_method_lacks_is_named(blobs):
    model = LMVSC(3, random_state=0).fit(blobs[0])
    with pytest.raises(ValueError, match="LMVSC has no view_weights_"):
        WeightsDisplay.from_estimator(model)


@pytest.mark.parametrize(
    "display",
    [
        ClusterEvidenceDisplay,
        ConvergenceDisplay,
        WeightsDisplay,
        EmbeddingDisplay,
        AlignmentDisplay,
    ],
)
def test_estimators_must_be_fitted(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(PAVuC(3))


def test_evidence_is_drawn_with_its_interval(model):
    with pytest.raises(ValueError, match="The number of clusters, 3, was given"):
        ClusterEvidenceDisplay.from_estimator(model)
    scores = np.array([[0.3, 0.5, 0.9, 0.85, 0.4]])
    model.clusters_evidence_ = weigh(np.array([2, 3, 4, 5, 6]), scores, scores / 2)
    display = ClusterEvidenceDisplay.from_estimator(model, linewidth=3)
    for line, expected in zip(display.lines_, (scores[0], scores[0] / 2), strict=True):
        x, y = line.get_data()
        np.testing.assert_array_equal(x, [2, 3, 4, 5, 6])
        np.testing.assert_array_equal(y, expected)
        assert line.get_linewidth() == 3
    low, high = display.interval_.get_extents().intervalx
    at = display.ax_.transData.transform([(4, 0), (5, 0)])[:, 0]
    np.testing.assert_allclose([low, high], at)
    assert display.chosen_.get_xdata()[0] == 4
    assert display.ax_.get_xscale() == "log"


def test_the_map_of_a_view_is_that_of_the_report(model, blobs):
    display = EmbeddingDisplay.from_estimator(model, "y", blobs[0], s=3)
    np.testing.assert_array_equal(display.points_.get_offsets(), map_view(blobs[0][1]))
    colors = display.points_.get_facecolors()
    expected = [matplotlib.colors.to_rgba(f"C{c}") for c in model.view_labels_[1]]
    np.testing.assert_allclose(colors, expected)
    assert display.colorbar_ is None
    assert display.ax_.get_title() == "y"


def test_rows_are_coloured_by_confidence_or_by_what_is_given(model):
    display = EmbeddingDisplay.from_estimator(model, 2, color="confidence")
    rows = model.alignment_.permutations[2]
    expected = np.empty(60)
    for place, row in enumerate(rows):
        expected[row] = model.alignment_.confidence[2][place]
    np.testing.assert_array_equal(display.points_.get_array(), expected)
    assert display.colorbar_ is not None
    given = np.linspace(0, 1, 60)
    display = EmbeddingDisplay.from_estimator(model, 2, color=given)
    np.testing.assert_array_equal(display.points_.get_array(), given)
    with pytest.raises(ValueError, match="color='size' is neither"):
        EmbeddingDisplay.from_estimator(model, color="size")


def test_lines_join_matched_rows(model, blobs):
    alignment, t = model.alignment_, model.template_
    i = (t + 1) % 3
    display = AlignmentDisplay.from_estimator(model, i, blobs[0], n_lines=20)
    both = Alignment(
        0,
        [alignment.permutations[v] for v in (t, i)],
        [alignment.confidence[v] for v in (t, i)],
        alignment.trust[[t, i]],
        known=alignment.known[[t, i]],
    )
    own, other = draw_maps([blobs[0][t], blobs[0][i]], both)
    other = other + np.array([2.4, 0])
    pairs = {tuple(pair) for pair in alignment.pairs(t, i)}
    segments = display.lines_.get_segments()
    assert len(segments) == 20
    for begin, end in segments:
        row = int(np.argmin(np.abs(own - begin).sum(axis=1)))
        partner = int(np.argmin(np.abs(other - end).sum(axis=1)))
        assert (row, partner) in pairs
    assert display.ax_.get_title() == "60 matches, untested"


def test_the_most_trusted_view_is_shown_unless_told(blobs):
    rows = [np.arange(60)] * 3
    alignment = Alignment(1, rows, [np.ones(60)] * 3, np.array([0.2, 1, 0.9]), [*"abc"])
    display = AlignmentDisplay.from_estimator(alignment, Xs=blobs[0])
    assert display.view_names == ("b", "c")
    assert display.ax_.get_title() == "60 matches, objects, trust 0.90"
    nothing_tested = {"trust": np.array([np.nan, 1, np.nan]), "verdict": []}
    known = np.array([0.3, 1, 0.2])
    untested = replace(alignment, **nothing_tested, known=known)
    display = AlignmentDisplay.from_estimator(untested, Xs=blobs[0])
    assert display.view_names == ("b", "a")
    alone = Alignment(0, rows[:1], [np.ones(60)], np.ones(1))
    with pytest.raises(ValueError, match="one view only"):
        AlignmentDisplay.from_estimator(alone, Xs=blobs[0][:1])


def test_without_matplotlib_the_way_out_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install unaligned\[plots\]"):
        ConvergenceDisplay.from_estimator(model)
