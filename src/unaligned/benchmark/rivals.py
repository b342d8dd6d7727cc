"""Tables of the rivals: views of different objects, and shuffled views of the same."""

from collections import Counter
from typing import Any

import numpy as np
from scipy.stats import rankdata

from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import Column, Spread, Table, Value
from unaligned.benchmark.plans import HALVES, RIVAL_RATIOS, RIVALS
from unaligned.benchmark.summary import Case, Summary, cases_of, summarise
from unaligned.benchmark.tables import label_of

__all__ = [
    "found",
    "halves_tables",
    "has_classes",
    "ranks_table",
    "rivals_tables",
]

COST = (
    Column("CPU s", 1),
    Column("MB", 0, room=110),
    Column("runs", room=100),
)
REFUSED = "FOSCTTM: 0 is best, 50 chance. A dash: rows were given no common space."


def found(
    results: Results, case: Case, name: str, measure: str, ratio: float = 0.0
) -> Summary | None:
    """Collect all runs of a method, with whichever one setting it had."""
    alike = results.like(case.cell(name, {}, ratio=ratio, measure=measure))
    if not alike:
        return None
    return summarise(results, case, name, alike[0][0].setting, ratio, measure)


def spread(summary: Summary, name: str, scale: float = 1.0) -> Spread | None:
    """Mean and standard deviation over shuffles."""
    mean, deviation = summary.mean(name), summary.spread(name)
    if mean is None:
        return None
    return Spread(scale * mean, None if deviation is None else scale * deviation)


def verdicts(summary: Summary) -> str:
    """Say how often each verdict was given, and the mean trust."""
    counts = Counter(record["verdict"] for record in summary.done)
    words = ", ".join(f"{word} {count}" for word, count in counts.most_common())
    trust = summary.mean("trust")
    return words if trust is None else f"{words}; trust {trust:.2f}"


def cost_of(summary: Summary) -> list[Value]:
    """Time, memory, and how many runs came to an end."""
    ends = ", ".join(summary.failures)
    runs = f"{len(summary.done)}" + (f" ({ends})" if ends else "")
    return [summary.median("cpu_seconds"), summary.median("grown_mb"), runs]


def has_classes(summary: Summary) -> bool:
    """Whether the data have more than one class."""
    return summary.mean("by_chance") not in (None, 100.0)


def halves_tables(results: Results) -> list[Table]:
    """One table: every two views of a dataset, learned from different objects."""
    columns = (
        Column("data"),
        Column("method"),
        Column("top-1, %", 1),
        Column("of", 0),
        Column("FOSCTTM, %", 1),
        Column("verdict", room=100),
        *COST,
    )
    rows: list[list[Value]] = []
    for case in cases_of(results, ("halves",)):
        for name in HALVES:
            one = found(results, case, name, "halves")
            if one is not None:
                rows.append(
                    [
                        str(case),
                        label_of(name),
                        spread(one, "top1"),
                        one.mean("placed"),
                        spread(one, "foscttm", 100),
                        verdicts(one),
                        *cost_of(one),
                    ]
                )
    title = "Disjoint halves: no object in common, scored on unseen pairs"
    return [Table("disjoint-halves", title, columns, rows, [REFUSED])] if rows else []


def rivals_tables(results: Results) -> list[Table]:
    """One table for every share of known pairs, and one of mean ranks."""
    tables = [shared_table(results, ratio) for ratio in RIVAL_RATIOS]
    tables = [table for table in tables if table.rows]
    return [*tables, ranks_table(results)] if tables else []


def shared_table(results: Results, ratio: float) -> Table:
    """All rivals on all data, at one share of known pairs."""
    columns = (
        Column("data"),
        Column("method"),
        Column("FOSCTTM, %", 1),
        Column("same object, %", 1),
        Column("same class, %", 1),
        Column("by chance, %", 1, room=130),
        Column("joint ACC", 1),
        Column("its floor", 1),
        Column("verdict", room=120),
        *COST,
    )
    rows: list[list[Value]] = []
    for case in cases_of(results, ("rivals",)):
        for name in RIVALS:
            one = found(results, case, name, "rivals", ratio)
            if one is not None:
                scores: list[Value] = [
                    spread(one, "foscttm", 100),
                    spread(one, "same_object"),
                ]
                classes: list[Value] = [None] * 4
                if has_classes(one):
                    classes = [
                        spread(one, "same_class"),
                        one.mean("by_chance"),
                        spread(one, "joint_acc"),
                        one.mean("joint_floor"),
                    ]
                about = [verdicts(one), *cost_of(one)]
                rows.append([str(case), label_of(name), *scores, *classes, *about])
    title = f"Rivals: {100 * ratio:.0f} % of the pairs known"
    notes = [
        REFUSED,
        "Matches are those that were not given. Joint ACC: one naming of clusters over "
        "all rows of both views; its floor: the same partitions under random shared "
        "names. Data without classes have neither.",
        "FOSCTTM is over all rows, those of given pairs among them. SCOT places such a "
        "row on its partner, which lowers its figure by as much as is given.",
    ]
    return Table(f"rivals-{100 * ratio:.0f}", title, columns, rows, notes)


def ranks_table(results: Results) -> Table:
    """Mean rank by joint ACC, among the methods that were run on the same data."""
    columns = (
        Column("method"),
        *(Column(f"{100 * ratio:.0f} % known", 2) for ratio in RIVAL_RATIOS),
    )
    ranks: dict[str, list[Value]] = {name: [] for name in RIVALS}
    for ratio in RIVAL_RATIOS:
        scores = joint_scores_of(results, ratio)
        mean = mean_ranks(scores)
        for name in RIVALS:
            ranks[name].append(mean.get(name))
    rows: list[list[Value]] = [
        [label_of(name), *values]
        for name, values in ranks.items()
        if any(value is not None for value in values)
    ]
    title = "Mean rank by joint ACC"
    notes = [
        "1 is best, among the methods that were run on the same data: a method that "
        "was run on few of them is not compared on the others. A run that did not end "
        "ranks last, with others of its kind.",
        "A method whose partitions of single views are better has a higher joint ACC, "
        "and a higher floor, whether or not it aligns them: where the verdict is none, "
        "the rank says nothing about alignment.",
    ]
    return Table("rival-ranks", title, columns, rows, notes)


def joint_scores_of(results: Results, ratio: float) -> list[dict[str, float]]:
    """Joint ACC of every method, for each of the data; minus infinity: none."""
    scores = []
    for case in cases_of(results, ("rivals",)):
        ran: dict[str, Any] = {
            name: found(results, case, name, "rivals", ratio) for name in RIVALS
        }
        if not any(one and has_classes(one) for one in ran.values()):
            continue
        means = {name: one.mean("joint_acc") for name, one in ran.items() if one}
        scores.append({n: -np.inf if m is None else m for n, m in means.items()})
    return scores


def mean_ranks(scores: list[dict[str, float]]) -> dict[str, float]:
    """Mean rank of every method; equal scores share their ranks.

    Examples
    --------
    >>> mean_ranks([{"a": 3.0, "b": 1.0}, {"a": 2.0, "b": 2.0}])
    {'a': 1.25, 'b': 1.75}
    """
    ranks: dict[str, list[float]] = {}
    for one in scores:
        for name, rank in zip(one, rankdata([-v for v in one.values()]), strict=True):
            ranks.setdefault(name, []).append(float(rank))
    return {name: float(np.mean(found)) for name, found in ranks.items()}
