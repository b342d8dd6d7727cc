"""Figures 3 to 6 of the paper and the curves of scaling, as SVG.

Axes and letters are drawn in one colour that pages replace by that of their text, so
that figures are readable on light and on dark.
"""

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from unaligned.benchmark.cells import Results, describe_setting
from unaligned.benchmark.columns import slug
from unaligned.benchmark.methods import METHODS
from unaligned.benchmark.plans import FIGURE5_MU, SCALING
from unaligned.benchmark.scaling import growth
from unaligned.benchmark.summary import Case, Summary, cases_of, choose, summarise

__all__ = ["INK", "Picture", "figure3", "figure4", "figure5", "figure6", "scaling"]

INK = "#010203"  # no other colour is like it: pages replace it
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "osD^vPX"
STYLES = tuple(
    {"color": colour, "marker": marker, "ms": 4}
    for colour, marker in zip(COLOURS, MARKERS, strict=False)
)
SCORES = {"acc": "ACC", "nmi": "NMI"}
MOST_COLUMNS = 5


INKED = (
    "text.color",
    "axes.edgecolor",
    "axes.labelcolor",
    "xtick.color",
    "ytick.color",
)
STYLE: Any = dict.fromkeys(INKED, INK) | {
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.color": "#808080",
    "legend.frameon": False,
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "unaligned",  # the same figure is the same file
}


@dataclass(frozen=True)
class Picture:
    """A figure: where it belongs, what it shows, and the drawing."""

    name: str
    title: str
    caption: str
    figure: Any

    @cached_property
    def svg(self) -> str:
        """Drawing without background, in ``INK``, from its first tag on."""
        import matplotlib

        file = io.StringIO()
        with matplotlib.rc_context(STYLE):
            self.figure.savefig(file, format="svg", metadata={"Date": None}, dpi=120)
        text = file.getvalue()
        return text[text.index("<svg") :]

    @property
    def file(self) -> str:
        """Drawing on white, for a file of its own."""
        return self.svg.replace("<svg", '<svg style="background: #fff"', 1)


@contextmanager
def canvas(columns: int, rows: int = 1, width: float = 3.6) -> Iterator[Any]:
    """Figure and its axes, in one list; pyplot and its global state stay untouched."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "Figures need matplotlib. Install it with `pip install unaligned[plots]`."
        ) from None
    with matplotlib.rc_context(STYLE):
        figure = Figure((width * columns, 2.9 * rows), layout="constrained")
        figure.patch.set_alpha(0)
        yield figure, figure.subplots(rows, columns, squeeze=False).ravel()


def figure3(results: Results) -> list[Picture]:
    """t-SNE of the views and of the fused anchor graph."""
    pictures = []
    for case, record in cells_with(results, "map"):
        panels = record["map"]
        names = [f"view {i + 1}" for i in range(len(panels) - 1)]
        names.append("fused anchor graph")
        columns = min(len(panels), MOST_COLUMNS)
        with canvas(columns, ceil(len(panels) / columns), width=2.6) as (figure, axes):
            for ax, panel, name in zip(axes, panels, names, strict=False):
                x, y = np.array(panel["points"]).T
                ax.scatter(x, y, 5, panel["classes"], cmap="tab20", rasterized=True)
                ax.set(xticks=[], yticks=[], title=name)
            for ax in axes[len(panels) :]:
                ax.remove()
        caption = (
            f"t-SNE of {len(panels[0]['classes']):,} rows, at most 100 of every class, "
            "coloured by class; no pair is known. The fused graph is in the row order "
            "of its template, and coloured by the classes of those rows."
        )
        pictures.append(picture(f"Figure 3: {case}", caption, figure))
    return pictures


def figure4(results: Results) -> list[Picture]:
    """Scores against the share of known pairs."""
    pictures = []
    for case in cases_of(results):
        curves = {name: by_ratio(results, case, name) for name in ("PAVuC", "SAVuC")}
        curves = {name: found for name, found in curves.items() if len(found) > 1}
        if not curves:
            continue
        with canvas(2) as (figure, axes):
            for ax, (score, heading) in zip(axes, SCORES.items(), strict=True):
                for (name, found), style in zip(curves.items(), STYLES, strict=False):
                    means = [one.mean(score) for one in found.values()]
                    bars = [one.spread(score) or 0 for one in found.values()]
                    ax.errorbar(
                        list(found), means, bars, label=name, **style, capsize=2
                    )
                floor = best_view(results, case)
                if floor is not None:
                    label = "k-means on the best view (oracle)"
                    ax.axhline(floor.mean(score), color="#808080", ls="--", label=label)
                ax.set(xlabel="share ρ of known pairs", ylabel=f"{heading}, %")
            axes[0].legend(fontsize=7)
        told = [
            f"{name} "
            + ", ".join(
                f"{one.mean('acc'):.1f} (ρ = {r:g})" for r, one in found.items()
            )
            for name, found in curves.items()
        ]
        caption = f"ACC: {'; '.join(told)}. Bars are deviations over shuffles."
        pictures.append(picture(f"Figure 4: {case}", caption, figure))
    return pictures


def by_ratio(results: Results, case: Case, name: str) -> dict[float, Summary]:
    """Shuffles of the fixed setting, for every share of known pairs that was run."""
    found = {}
    asked = case.cell(name, {})
    ratios = {
        cell.ratio
        for cell, _ in results
        if asked == replace(cell, ratio=0.0, shuffle=0, setting={})
    }
    for ratio in sorted(ratios):
        setting = choose(results, case, name, "defaults", ratio)
        if setting is None:
            continue
        one = summarise(results, case, name, setting, ratio)
        if one is not None and one.done:
            found[ratio] = one
    return found


def best_view(results: Results, case: Case) -> Summary | None:
    """Shuffles of k-means on the best view, picked with the labels."""
    setting = choose(results, case, "single view", "oracle")
    return None if setting is None else summarise(results, case, "single view", setting)


def figure5(results: Results) -> list[Picture]:
    """Scores over α and μ."""
    pictures = []
    for case in cases_of(results):
        surface = over_alpha_and_mu(results, case)
        alphas, mus = full_rectangle(surface)
        if case.views is not None or len(alphas) < 2 or len(mus) < 2:
            continue
        with canvas(2) as (figure, axes):
            for ax, (score, heading) in zip(axes, SCORES.items(), strict=True):
                shown = [[surface[a, m].mean(score) for a in alphas] for m in mus]
                values = np.array(shown, dtype=float)
                ax.imshow(values, cmap="cividis", aspect="auto", origin="lower")
                ax.grid(False)
                middle = (values.min() + values.max()) / 2
                for (row, column), value in np.ndenumerate(values):
                    colour = "white" if value < middle else "black"
                    ax.text(column, row, f"{value:.1f}", color=colour, ha="center",
                            va="center", fontsize=7)  # fmt: skip
                ax.set_xticks(range(len(alphas)), [f"{a:g}" for a in alphas])
                ax.set_yticks(range(len(mus)), [f"{m:g}" for m in mus])
                ax.set(xlabel="α", ylabel="μ", title=f"{heading}, %")
        accs = [surface[a, m].mean("acc") or 0 for a in alphas for m in mus]
        caption = (
            f"PAVuC, {case.entry.released['anchors_per_cluster']} k anchors. ACC lies "
            f"between {min(accs):.1f} and {max(accs):.1f} over the whole range."
        )
        pictures.append(picture(f"Figure 5: {case}", caption, figure))
    return pictures


def over_alpha_and_mu(
    results: Results, case: Case
) -> dict[tuple[float, float], Summary]:
    """Shuffles of PAVuC for every pair (α, μ) of Figure 5, anchors as released."""
    found = {}
    released = case.entry.released
    for alpha in METHODS["PAVuC"].grid["alpha"]:
        for mu in FIGURE5_MU:
            setting = released | {"alpha": alpha, "mu": mu}
            one = summarise(results, case, "PAVuC", setting)
            if one is not None and one.done:
                found[alpha, mu] = one
    return found


def full_rectangle(
    points: Collection[tuple[float, float]],
) -> tuple[list[float], list[float]]:
    """Coordinates of a grid without gaps: lines with most gaps go, one by one.

    Examples
    --------
    >>> full_rectangle([(1, 5), (1, 6), (2, 5), (2, 6), (3, 6)])
    ([1, 2], [5, 6])
    """
    axes = [sorted({point[axis] for point in points}) for axis in (0, 1)]
    kept = set(points)
    while len(kept) < len(axes[0]) * len(axes[1]):
        counts = [
            (
                sum(point[axis] == line for point in kept) / len(axes[1 - axis]),
                axis,
                line,
            )
            for axis in (0, 1)
            for line in axes[axis]
        ]
        _, axis, line = min(counts)
        axes[axis].remove(line)
        kept = {point for point in kept if point[axis] != line}
    return axes[0], axes[1]


def figure6(results: Results) -> list[Picture]:
    """Objective and scores after every iteration."""
    pictures = []
    for case, record in cells_with(results, "trace"):
        trace = record["trace"]
        iterations = range(1, len(trace["objective"]) + 1)
        with canvas(2) as (figure, axes):
            axes[0].plot(iterations, trace["objective"], color=COLOURS[0])
            axes[0].set(xlabel="iteration", ylabel="objective (Eq. 7)")
            for score, style in zip(SCORES, STYLES, strict=False):
                axes[1].plot(iterations, trace[score], label=SCORES[score],
                             **style, markevery=5)  # fmt: skip
            axes[1].set(xlabel="iteration", ylabel="%")
            axes[1].legend()
        steps = np.diff(trace["objective"])
        caption = (
            f"PAVuC, {describe_setting(case.entry.released)}, shuffle 0: the objective "
            f"rises in {np.count_nonzero(steps > 0)} of {len(iterations)} iterations; "
            f"ACC goes from {trace['acc'][0]:.1f} to {trace['acc'][-1]:.1f}."
        )
        pictures.append(picture(f"Figure 6: {case}", caption, figure))
    return pictures


def scaling(results: Results) -> list[Picture]:
    """Time and memory against the number of rows."""
    names = [name for name in SCALING if growth(results, name, "cpu_seconds")]
    if not names:
        return []
    with canvas(2, width=4.8) as (figure, axes):
        for ax, measurement in zip(axes, ("cpu_seconds", "grown_mb"), strict=True):
            for i, name in enumerate(names):
                curve = growth(results, name, measurement)
                if curve:
                    style = {
                        "color": COLOURS[i % len(COLOURS)],
                        "marker": MARKERS[i % len(MARKERS)],
                        "ls": ("-", "--", ":")[i // len(COLOURS) % 3],
                    }
                    ax.plot(*zip(*curve, strict=True), ms=3, **style, label=name)
            ax.set(xscale="log", yscale="log", xlabel="rows")
        axes[0].set(ylabel="CPU seconds")
        axes[1].set(ylabel="memory of the fit, MB")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center",
                      ncols=4, fontsize=7)  # fmt: skip
    caption = "Synthetic views; both axes are logarithmic. The table has the exponents."
    return [picture("Scaling: curves", caption, figure)]


def cells_with(results: Results, measure: str) -> Iterator[tuple[Case, dict[str, Any]]]:
    """PAVuC's cells of another measure than scores, that came to an end."""
    for case in cases_of(results):
        for _, record in results.like(case.cell("PAVuC", {}, measure=measure)):
            if record["status"] == "done":
                yield case, record


def picture(title: str, caption: str, figure: Any) -> Picture:
    """Picture named after its title."""
    return Picture(slug(title), title, caption, figure)
