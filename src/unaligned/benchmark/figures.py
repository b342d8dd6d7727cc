"""Figures 3 to 6 of the paper and the curves of scaling."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from unaligned.benchmark.cells import Results, describe_setting
from unaligned.benchmark.methods import METHODS
from unaligned.benchmark.pictures import (
    COLOURS,
    MARKERS,
    STYLES,
    Picture,
    canvas,
    picture,
)
from unaligned.benchmark.plans import FIGURE4, FIGURE5_MU, SCALING
from unaligned.benchmark.scaling import growth
from unaligned.benchmark.summary import Case, Summary, cases_of, choose, summarise

__all__ = ["figure3", "figure4", "figure5", "figure6", "scaling"]

SCORES = {"acc": "ACC", "nmi": "NMI"}
JOINT = {"joint.acc": "joint ACC"}  # one naming over all rows of all views
MOST_COLUMNS = 5


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
        curves = {name: by_ratio(results, case, name) for name in FIGURE4}
        curves = {name: found for name, found in curves.items() if len(found) > 1}
        if not curves:
            continue
        joint = list_means(curves, "joint.acc")
        scores = SCORES | JOINT if joint else SCORES
        with canvas(len(scores)) as (figure, axes):
            for ax, (score, heading) in zip(axes, scores.items(), strict=True):
                for (name, found), style in zip(curves.items(), STYLES, strict=False):
                    draw_curve(ax, found, score, label=name, **style)
                floor = best_view(results, case)
                if floor is not None and (mean := floor.mean(score)) is not None:
                    label = "k-means on the best view (oracle)"
                    ax.axhline(mean, color="#808080", ls="--", label=label)
                ax.set(xlabel="share ρ of known pairs", ylabel=f"{heading}, %")
            axes[0].legend(fontsize=7)
            if joint:
                floors, label = curves.get("SAVuC", {}), "SAVuC, names shuffled"
                draw_curve(axes[2], floors, "joint.floor_acc", label, color="#808080")
                axes[2].legend(fontsize=7)
        caption = f"ACC: {list_means(curves, 'acc')}. "
        if joint:
            caption += f"Joint ACC, one naming over all rows of all views: {joint}. "
        caption += "Bars are deviations over shuffles."
        pictures.append(picture(f"Figure 4: {case}", caption, figure))
    return pictures


def draw_curve(
    ax: Any, found: dict[float, Summary], score: str, label: str, **style: Any
) -> None:
    """Draw the means of a score, where there are any, with deviations as bars."""
    means = {ratio: one.mean(score) for ratio, one in found.items()}
    means = {ratio: mean for ratio, mean in means.items() if mean is not None}
    if means:
        bars = [found[ratio].spread(score) or 0 for ratio in means]
        ax.errorbar(
            list(means), list(means.values()), bars, label=label, **style, capsize=2
        )


def list_means(curves: dict[str, dict[float, Summary]], score: str) -> str:
    """Write the means of a score of every method, for every share."""
    lines = []
    for name, found in curves.items():
        means = {ratio: one.mean(score) for ratio, one in found.items()}
        texts = [f"{m:.1f} (ρ = {r:g})" for r, m in means.items() if m is not None]
        if texts:
            lines.append(f"{name} {', '.join(texts)}")
    return "; ".join(lines)


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
