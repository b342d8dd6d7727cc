"""The command line: ``unaligned demo``."""

import time
import warnings
from typing import Any, NamedTuple

import click
import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from unaligned._version import __version__
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    single_view_scores,
)
from unaligned.pavuc import PAVuC

__all__ = ["main"]

PAPER = "PAVuC-ATS"


@click.group()
@click.version_option(__version__, prog_name="unaligned")
def main() -> None:
    """Cluster and align views whose rows do not correspond."""


@main.command()
@click.option("--seed", default=0, show_default=True, help="Seed of shuffle and fits.")
def demo(seed: int) -> None:
    """Shuffle four views of the digits, cluster them, and say what that is worth."""
    console = Console()
    digits = load_digits_views()
    console.print(
        f"{len(digits.y)} handwritten digits in {len(digits.Xs)} views "
        f"({', '.join(digits.view_names)}); rows of every view shuffled on their own."
    )
    # The model has no intercept, so views must be centred.
    views = [X - X.mean(axis=0) for X in digits.Xs]
    cases: dict[str, tuple[dict[str, Any], float]] = {
        PAPER: ({}, 0.0),
        "NPA-VuC (ablation)": ({"align": False}, 0.0),
        "PAVuC-ATS, ρ = 0.5": ({}, 0.5),
    }
    results = {}
    with _progress_bar(console) as progress:
        floor_task = progress.add_task("k-means on single views", total=1)
        shuffled = unalign(views, digits.y, random_state=seed)
        singles = single_view_scores(shuffled.Xs, shuffled.ys, 10, random_state=seed)
        progress.advance(floor_task)
        for name, (parameters, ratio) in cases.items():
            model = PAVuC(10, random_state=seed, **parameters)
            task = progress.add_task(name, total=model.max_iter)
            if hasattr(model, "set_callbacks"):  # scikit-learn ≥ 1.9
                model.set_callbacks(_Advance(progress, task))
            shuffled = unalign(views, digits.y, ratio, random_state=seed)
            results[name] = _run(model, shuffled)
            progress.update(task, completed=model.max_iter)
    best = max(singles, key=lambda scores: scores["acc"])
    console.print(_table(results, best))
    console.print(_verdict(results[PAPER], best))


class _Result(NamedTuple):
    scores: dict[str, float]
    template_alone: dict[str, float]
    alignment_rate: float
    chance: float
    seconds: float


def _run(model: Any, shuffled: Any) -> _Result:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # usual after 60 iterations
        model.fit(shuffled.Xs, aligned=shuffled.n_aligned)
    seconds = time.perf_counter() - start
    t, ys = model.template_, shuffled.ys
    others = [i for i in range(len(ys)) if i != t]
    rates = [
        category_alignment_rate(ys[i], ys[t], model.alignment_.permutations[i])
        for i in others
    ]
    chances = [category_alignment_chance(ys[i], ys[t]) for i in others]
    return _Result(
        clustering_scores(ys[t], model.view_labels_[t]),
        clustering_scores(ys[t], model.single_view_labels_[t]),
        float(np.mean(rates)),
        float(np.mean(chances)),
        seconds,
    )


def _table(results: dict[str, _Result], best: dict[str, float]) -> Table:
    columns = {
        "ACC": lambda result: result.scores["acc"],
        "NMI": lambda result: result.scores["nmi"],
        "F": lambda result: result.scores["f"],
        "template\nalone": lambda result: result.template_alone["acc"],
        "best\nview*": lambda _: best["acc"],
        "pairs of\none class": lambda result: result.alignment_rate,
        "by\nchance": lambda result: result.chance,
    }
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        caption_justify="left",
        caption="Percent, in the template's row order. *ACC of k-means on the best "
        "single view, picked with the labels (oracle).",
    )
    table.add_column("method", no_wrap=True)
    for column in [*columns, "sec."]:
        table.add_column(column, justify="right", no_wrap=True)
    for name, result in results.items():
        percents = [f"{100 * value(result):.1f}" for value in columns.values()]
        table.add_row(name, *percents, f"{result.seconds:.1f}")
    return table


def _verdict(result: _Result, best: dict[str, float]) -> str:
    """Say in two sentences what the numbers mean."""
    real = result.alignment_rate > 2 * result.chance
    matched = f"{100 * result.alignment_rate:.0f} %"
    chance = f"{100 * result.chance:.0f} %"
    alignment = (
        f"With no pair known, {matched} of the matched rows show the same digit, where "
        f"chance gives {chance}: "
        + (
            "the alignment is real."
            if real
            else "the alignment is no better than luck."
        )
    )
    gain = 100 * (result.scores["acc"] - result.template_alone["acc"])
    other = 100 * best["acc"]
    return (
        f"{alignment} The labels gain {gain:+.1f} points of accuracy over those of the "
        f"template view alone, and plain k-means on the best single view has "
        f"{other:.0f} %."
    )


def _progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:28}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class _Advance:
    """Callback that moves a progress bar on by one per iteration."""

    def __init__(self, progress: Progress, task: Any) -> None:
        self.progress, self.task = progress, task

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        if context.task_name == "iteration":
            self.progress.advance(self.task)
