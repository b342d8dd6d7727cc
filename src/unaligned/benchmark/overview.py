"""One table of all rivals: every share of known pairs, and disjoint halves."""

from collections.abc import Callable, Iterator

from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import Column, Table, Value
from unaligned.benchmark.methods import METHODS
from unaligned.benchmark.plans import HALVES, RIVAL_RATIOS, RIVALS
from unaligned.benchmark.rivals import found, has_classes
from unaligned.benchmark.summary import Case, Summary, cases_of
from unaligned.benchmark.tables import label_of

__all__ = ["not_run", "overview_table"]

NOT_RUN = "not run"
NOTES = [
    "Joint ACC, %: one naming of clusters over all rows of both views; in brackets its "
    "floor, the same partitions under random shared names. FOSCTTM, %: 0 is best, 50 "
    "chance. In disjoint halves both are of unseen pairs: FOSCTTM, and in brackets the "
    "share of rows whose partner comes first. A dash: data without classes, or no "
    "common space. Verdicts are of the only method that tests its matches.",
    "CPU seconds and memory are those with no pair known, or with the fewest.",
]


def overview_table(results: Results) -> Table:
    """All that was run of every rival, a row for each of the data and method."""
    shares = [f"{100 * ratio:.0f} %" for ratio in RIVAL_RATIOS]
    columns = (
        Column("data"),
        Column("method"),
        *(Column(f"joint ACC, {share}") for share in shares),
        *(Column(f"FOSCTTM, {share}") for share in shares),
        Column("disjoint halves"),
        Column("CPU s", 1),
        Column("MB", 0),
    )
    rows = [
        row_of(results, case, name)
        for case in cases_of(results, ("rivals",))
        for name in RIVALS
        if any(runs_of(results, case, name))
    ]
    title = "All rivals: shares of known pairs, and disjoint halves"
    return Table("rivals-overview", title, columns, rows, NOTES)


def row_of(results: Results, case: Case, name: str) -> list[Value]:
    """Scores of a method on two views of a dataset."""
    *shared, halves = runs_of(results, case, name)
    needs_pairs = METHODS[name].needs_pairs
    empty = ["needs pairs" if needs_pairs and not r else NOT_RUN for r in RIVAL_RATIOS]
    no_halves = NOT_RUN if name in HALVES else None
    ended = next((run for run in (*shared, halves) if run and run.done), None)
    costs: list[Value] = [None, None]
    if ended:
        costs = [ended.median("cpu_seconds"), ended.median("grown_mb")]
    return [
        str(case),
        label_of(name),
        *(cell(run, joint, gap) for run, gap in zip(shared, empty, strict=True)),
        *(cell(run, place, gap) for run, gap in zip(shared, empty, strict=True)),
        cell(halves, place_of_unseen, no_halves),
        *costs,
    ]


def runs_of(results: Results, case: Case, name: str) -> list[Summary | None]:
    """Collect runs at every share of known pairs, and in disjoint halves."""
    return [
        *(found(results, case, name, "rivals", ratio) for ratio in RIVAL_RATIOS),
        found(results, case, name, "halves"),
    ]


def cell(run: Summary | None, write: Callable[[Summary], Value], empty: Value) -> Value:
    """Write the scores of a run, or how it ended, or that it was not run."""
    if run is None:
        return empty
    return write(run) if run.done else ", ".join(run.failures)


def joint(run: Summary) -> Value:
    """Joint ACC, its floor, and the verdict of a method that has one."""
    if not has_classes(run):
        return None
    scores = f"{run.mean('joint_acc'):.1f} ({run.mean('joint_floor'):.1f})"
    return with_verdict(scores, run)


def with_verdict(text: str | None, run: Summary) -> Value:
    """Add the verdicts that were given."""
    verdicts = sorted({record["verdict"] for record in run.done} - {"untested"})
    return ", ".join(part for part in (text, " or ".join(verdicts)) if part) or None


def place(run: Summary) -> Value:
    """FOSCTTM; the verdict where data have no classes to show it beside."""
    foscttm = run.mean("foscttm")
    text = None if foscttm is None else f"{100 * foscttm:.1f}"
    return text if has_classes(run) else with_verdict(text, run)


def place_of_unseen(run: Summary) -> Value:
    """FOSCTTM and top-1 of unseen pairs, and the verdict."""
    foscttm = run.mean("foscttm")
    if foscttm is None:
        return with_verdict(None, run)
    return with_verdict(f"{100 * foscttm:.1f} ({run.mean('top1'):.1f})", run)


def not_run(results: Results) -> Iterator[str]:
    """Name the methods that were not run at all, with the data they miss."""
    cases = cases_of(results, ("rivals",))
    for name in RIVALS:
        missing = [str(c) for c in cases if not any(runs_of(results, c, name))]
        if missing:
            yield f"- {label_of(name)}: {'; '.join(missing)}"
