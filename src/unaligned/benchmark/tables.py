"""Tables 4 to 7 of the paper with our figures beside the published ones.

A table is plain data; `unaligned.benchmark.page` and the command line render it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from unaligned.benchmark import published_tables
from unaligned.benchmark.cells import Results, describe_setting
from unaligned.benchmark.methods import METHODS, Setting
from unaligned.benchmark.protocol import PAIRED_SHARE
from unaligned.benchmark.study import TABLE4, TABLE5, TABLE6, TABLE7
from unaligned.benchmark.summary import (
    CRITERIA,
    Case,
    Summary,
    cases_of,
    choose,
    grid_records,
    released_setting,
    summarise,
)

__all__ = [
    "Column",
    "Spread",
    "Table",
    "Value",
    "show",
    "table4",
    "table5",
    "table6",
    "table7",
]

SCORES = {"acc": "ACC", "nmi": "NMI", "f": "F"}
ALONE, FIRST = "template_alone.", "first_view."
OTHER_DATA = (
    "The paper's figures are of other data of this name (other features, or other "
    "rows), so no difference is given."
)
ORDERS = (
    "Scores are in the template's row order, and again in that of the first view; the "
    "paper does not say which of them its ablation was scored in."
)


class Spread(NamedTuple):
    """A mean, and the standard deviation over shuffles."""

    mean: float
    deviation: float | None


Value = str | float | int | Spread | None


@dataclass(frozen=True)
class Column:
    """Heading of a column, and how its values are written."""

    name: str
    digits: int | None = None
    """Decimals of numbers; None: text."""
    signed: bool = False
    room: int = 0
    """Letters that a line must have room for, or the column is left out."""


@dataclass(frozen=True)
class Table:
    """Columns and rows, with what a reader has to know."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[list[Value]]
    notes: list[str] = field(default_factory=list)


def show(column: Column, value: Value) -> str:
    """Write a value as its column says.

    Examples
    --------
    >>> show(Column("ACC", 1), Spread(53.46, 0.41))
    '53.5 ± 0.4'
    >>> show(Column("Δ ACC", 1, signed=True), 0.06)
    '+0.1'
    >>> show(Column("Δ ACC", 1, signed=True), -0.04)
    '+0.0'
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, Spread):
        mean = show(column, value.mean)
        if value.deviation is None:
            return mean
        return f"{mean} ± {value.deviation:.{column.digits}f}"
    value = round(value, column.digits or 0) + 0.0  # no minus before a zero
    text = f"{value:{'+' if column.signed else ''},.{column.digits or 0}f}"
    return text.replace("-", "−")


SCORE_COLUMNS = (
    Column("method"),
    Column("chosen by"),
    *(
        column
        for score in SCORES.values()
        for room in [0 if score == "ACC" else 110]
        for column in (
            Column(score, 1, room=room),
            Column(f"{score}, paper", 1, room=room and 160),
            Column(f"Δ {score}", 1, signed=True, room=room and 130),
        )
    ),
    Column("same class", 1),
    Column("by chance", 1),
    Column("seconds", 1, room=160),
    Column("shuffles", room=130),
    Column("setting", room=180),
)


def table4(results: Results) -> list[Table]:
    """All methods on all views, fully shuffled, one table for each dataset."""
    published = published_tables()["table4_fully_unaligned"]
    return [
        scores_table(results, case, f"Table 4: {case}", TABLE4, published)
        for case in cases_of(results)
        if case.views is None
        and case.dataset != "synthetic"
        and searched(results, case)
    ]


def table5(results: Results) -> list[Table]:
    """Two views, beside methods that need pairs."""
    published = published_tables()["table5_two_views"]
    tables = []
    for case in cases_of(results):
        deep = any(results.like(case.cell(n, {}, ratio=PAIRED_SHARE)) for n in METHODS)
        if case.views is not None or deep:
            title = f"Table 5: {case}"
            tables.append(scores_table(results, case, title, TABLE5, published))
    return tables


def searched(results: Results, case: Case) -> bool:
    """Whether Table 4 has anything of a case but PAVuC and its ablation."""
    others = [name for name in TABLE4 if name not in TABLE6]
    return any(results.like(case.cell(name, {})) for name in others)


def scores_table(
    results: Results,
    case: Case,
    title: str,
    names: tuple[str, ...],
    published: dict[str, dict[str, dict[str, float | None]]],
) -> Table:
    """Every method by every rule, with the floors that the paper lacks."""
    rows = []
    for name in names:
        method = METHODS[name]
        ratio = PAIRED_SHARE if method.needs_pairs else 0.0
        paper = published.get(method.published_name, {}).get(case.entry.published or "")
        for rule in rules_of(results, case, name, ratio):
            found = chosen(results, case, name, rule, ratio)
            if found is None:
                continue
            label = label_of(name, rule)
            rows.append(score_row(label, rule, found, paper, case.entry.same_data))
            if name == "PAVuC" and rule not in CRITERIA:
                rows.append(
                    score_row("PAVuC's template alone", rule, found, part=ALONE)
                )
    notes = [grid_note(results, case, names)]
    if case.entry.published and not case.entry.same_data:
        notes.append(OTHER_DATA)
    if any(METHODS[name].needs_pairs for name in names):
        notes.append("PVC and MvCLN know 1 % of the pairs, the others none.")
    columns = SCORE_COLUMNS
    if case.entry.published is None:
        columns, rows = without(columns, rows, "paper", "Δ")
    return Table(slug(title), title, columns, rows, notes)


def rules_of(results: Results, case: Case, name: str, ratio: float = 0.0) -> list[str]:
    """Rules that a method can be chosen by, given what was run."""
    rules = list(CRITERIA) if len(grid_records(results, case, name, ratio)) > 1 else []
    if not rules or released_setting(name, case.entry):
        rules.insert(0, fixed_rule(name, case))
    return rules


def fixed_rule(name: str, case: Case) -> str:
    """Tell who fixed a method's setting where nothing is searched."""
    released = released_setting(name, case.entry) and case.entry.published
    return "released" if released else "defaults"


def chosen(
    results: Results, case: Case, name: str, rule: str, ratio: float = 0.0
) -> Summary | None:
    """All shuffles of the setting that a rule chooses."""
    setting: Setting | None = choose(results, case, name, rule, ratio)
    if setting is None:
        failed = [
            record for _, record in results.like(case.cell(name, {}, ratio=ratio))
        ]
        return Summary({}, tuple(failed)) if failed else None
    return summarise(results, case, name, setting, ratio)


def label_of(name: str, rule: str) -> str:
    """Name of a method in a table."""
    if name == "single view":
        return "k-means on the best view" if rule == "oracle" else "k-means on one view"
    return f"{name} (reconstruction)" if METHODS[name].reconstruction else name


def score_row(
    label: str,
    rule: str,
    found: Summary,
    paper: dict[str, float | None] | None = None,
    same_data: bool = True,
    part: str = "",
) -> list[Value]:
    """One row of a table of scores; ``part`` is where records have other scores."""
    row: list[Value] = [label, rule]
    for score, heading in SCORES.items():
        name = part + score
        mean, theirs = found.mean(name), (paper or {}).get(heading)
        row.append(None if mean is None else Spread(mean, found.spread(name)))
        row.append(theirs)
        known = mean is not None and theirs is not None and same_data
        row.append(mean - theirs if known else None)  # type: ignore[operator]
    if part:
        row += [None, None, None]
    else:
        row += [found.mean(name) for name in ("same_class", "by_chance")]
        row.append(found.median("seconds"))
    return [*row, count(found), describe_setting(found.setting)]


def count(found: Summary) -> str:
    """Shuffles that came to an end, and how others ended."""
    return ": ".join([str(len(found.done)), *found.failures[:1]])


def grid_note(results: Results, case: Case, names: tuple[str, ...]) -> str:
    """Say what grids were searched on."""
    searched = [
        len(set.intersection(*map(set, grid.values())))
        for name in names
        if len(grid := grid_records(results, case, name)) > 1
    ]
    if not searched:
        return "No grid was searched."
    shuffles = "one shuffle" if max(searched) == 1 else f"{max(searched)} shuffles"
    return f"Grids were searched on {shuffles}, the chosen setting run on all."


def table6(results: Results) -> list[Table]:
    """PAVuC-ATS with and without its alignment term, scored in two row orders."""
    published = published_tables()["table6_ablation"]
    rows: list[list[Value]] = []
    notes = [ORDERS]
    for case in cases_of(results):
        if case.views is not None or not results.like(case.cell("NPA-VuC", {})):
            continue
        ablation = []
        for name in TABLE6:
            rule = fixed_rule(name, case)
            found = chosen(results, case, name, rule)
            if found is None:
                continue
            ablation.append(found)
            paper = published[METHODS[name].published_name].get(case.entry.published)
            for label, part in ((name, ""), (f"{name}, order of view 1", FIRST)):
                if part and name == "PAVuC":
                    paper = None  # published in the template's order
                row = score_row(label, rule, found, paper, case.entry.same_data, part)
                rows.append([str(case), *row])
        if len(ablation) == 2:
            paper = published["Difference"].get(case.entry.published)
            rows.append([str(case), *difference_row(*ablation, paper=paper)])
        if ablation and case.entry.same_data and case.entry.published:
            paper = published["NPA-VuC"][case.entry.published]
            notes += which_order(str(case), ablation[-1], paper["ACC"])
    if not rows:
        return []
    columns, rows = without((Column("dataset"), *SCORE_COLUMNS), rows, "seconds")
    title = "Table 6: without the alignment term"
    return [Table("table-6", title, columns, rows, notes)]


def which_order(case: str, ablation: Summary, paper: float) -> list[str]:
    """Say so where the published ablation looks like one in the first view's order."""
    template, first = ablation.mean("acc"), ablation.mean(f"{FIRST}acc")
    if template is None or first is None:
        return []
    if not abs(first - paper) < 2 < abs(template - paper):  # points
        return []
    return [
        f"On {case}, the published ACC of NPA-VuC ({paper:.1f}) is that of view 1's "
        f"order ({first:.1f}) rather than of the template's ({template:.1f}), in which "
        "PAVuC-ATS is scored."
    ]


def without(
    columns: tuple[Column, ...], rows: list[list[Value]], *words: str
) -> tuple[tuple[Column, ...], list[list[Value]]]:
    """Leave out columns whose names hold one of some words."""
    kept = [i for i, c in enumerate(columns) if not any(w in c.name for w in words)]
    return tuple(columns[i] for i in kept), [[row[i] for i in kept] for row in rows]


def difference_row(
    one: Summary, other: Summary, *, paper: dict[str, float | None] | None
) -> list[Value]:
    """Tell what the alignment term is worth."""
    row: list[Value] = ["difference", ""]
    for score, heading in SCORES.items():
        ours, theirs = one.mean(score), other.mean(score)
        row.append(None if ours is None or theirs is None else ours - theirs)
        row += [(paper or {}).get(heading), None]
    return [*row, None, None, None, "", ""]


def table7(results: Results) -> list[Table]:
    """Seconds of the methods that take misalignment into account."""
    published = published_tables()["table7_seconds"]
    columns = (
        Column("dataset"),
        Column("method"),
        Column("seconds", 2),
        Column("CPU seconds", 2),
        Column("seconds, paper", 1),
        Column("peak memory of the fit, MB", 0),
        Column("shuffles"),
        Column("setting", room=130),
    )
    rows: list[list[Value]] = []
    for case in cases_of(results):
        if case.views is not None or case.dataset == "synthetic":
            continue
        for name in TABLE7:
            found = chosen(results, case, name, rules_of(results, case, name)[0])
            if found is None:
                continue
            theirs = published.get(case.entry.published or "", {})
            rows.append(
                [
                    str(case),
                    label_of(name, ""),
                    found.median("seconds"),
                    found.median("cpu_seconds"),
                    theirs.get(METHODS[name].published_name),
                    found.median("grown_mb"),
                    count(found),
                    describe_setting(found.setting),
                ]
            )
    notes = [
        "Median over shuffles of the whole fit, k-means included. CPU seconds are what "
        "the processor was at work for it. The paper's seconds are from a PC with an "
        "Intel i7-8700, ours from the machine below."
    ]
    return [Table("table-7", "Table 7: seconds", columns, rows, notes)] if rows else []


def slug(title: str) -> str:
    """Name that can stand in an address.

    Examples
    --------
    >>> slug("Table 4: digits (600 rows)")
    'table-4-digits-600-rows'
    """
    letters = (c if c.isalnum() else " " for c in title.lower())
    return "-".join("".join(letters).split())
