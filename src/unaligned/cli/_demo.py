"""The work of ``unaligned demo``: alignment and clusters of shipped data."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    single_view_scores,
)
from unaligned.pavuc import PAVuC
from unaligned.savuc import SAVuC

__all__ = ["run_demo"]

PAPER, ABLATION, OURS = "PAVuC-ATS", "NPA-VuC (ablation)", "SAVuC"


def run_demo(seed: int) -> None:
    """Shuffle four views of the digits, cluster them, and compare with the truth."""
    console = Console()
    digits = load_digits_views()
    console.print(
        f"{len(digits.y)} handwritten digits in {len(digits.Xs)} views "
        f"({', '.join(digits.view_names)}); rows of every view shuffled on their own."
    )
    # The model has no intercept, so views must be centred.
    views = [X - X.mean(axis=0) for X in digits.Xs]
    shuffled = unalign(views, digits.y, random_state=seed)
    results = {}
    with _progress_bar(console) as progress:
        task = progress.add_task("k-means on single views", total=None)
        singles = single_view_scores(shuffled.Xs, shuffled.ys, 10, random_state=seed)
        progress.update(task, total=1, completed=1)
        models = {
            PAPER: PAVuC(10, random_state=seed),
            ABLATION: PAVuC(10, align=False, random_state=seed),
            OURS: SAVuC(10, effort="quick", random_state=seed),
        }
        for name, model in models.items():
            results[name] = _run(name, model, shuffled, progress)
    best = max(singles, key=lambda scores: scores["acc"])
    console.print(_table(results, best))
    verdicts = zip(digits.view_names, models[OURS].alignment_.verdict, strict=True)
    refused = [name for name, verdict in verdicts if verdict == "none"]
    console.print(_verdict(results, refused))


class _Result(NamedTuple):
    scores: dict[str, float]
    template_alone: dict[str, float]
    alignment_rate: float
    chance: float
    seconds: float


def _run(name: str, model: Any, shuffled: Any, progress: Progress) -> _Result:
    """Fit a model and score it."""
    task = progress.add_task(name, total=getattr(model, "max_iter", None))
    if hasattr(model, "set_callbacks"):  # scikit-learn ≥ 1.9
        model.set_callbacks(_Advance(progress, task))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # usual after 60 iterations
        model.fit(shuffled.Xs)
    seconds = time.perf_counter() - start
    progress.update(task, total=1, completed=1)
    t, ys, alignment = model.template_, shuffled.ys, model.alignment_
    y_t = ys[t]
    matched = [
        i
        for i, rows in enumerate(alignment.permutations)
        if i != t and (rows >= 0).any()
    ]
    rates = [
        category_alignment_rate(ys[i], y_t, alignment.permutations[i]) for i in matched
    ]
    chances = [category_alignment_chance(ys[i], y_t) for i in matched]
    return _Result(
        clustering_scores(ys[t], model.view_labels_[t]),
        clustering_scores(ys[t], model.single_view_labels_[t]),
        float(np.mean(rates)) if rates else np.nan,
        float(np.mean(chances)) if rates else np.nan,
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


def _verdict(results: dict[str, _Result], refused: list[str]) -> str:
    """Say in two sentences what the numbers mean."""
    paper, ours = results[PAPER], results[OURS]
    by_luck = paper.alignment_rate < 2 * paper.chance
    luck = "is no better than chance" if by_luck else "is better than chance"
    gain = 100 * (paper.scores["acc"] - paper.template_alone["acc"])
    whom = f" (it refuses {', '.join(refused)})" if refused else ""
    return (
        f"With no pair known, the alignment of PAVuC-ATS {luck}: "
        f"{100 * paper.alignment_rate:.0f} % of its pairs show the same digit, chance "
        f"gives {100 * paper.chance:.0f} %, and its labels gain {gain:+.1f} points "
        "over those of its template view alone. Of the pairs that SAVuC finds"
        f"{whom}, {100 * ours.alignment_rate:.0f} % show the same digit."
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
    """Callback that advances a progress bar by one per iteration."""

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
