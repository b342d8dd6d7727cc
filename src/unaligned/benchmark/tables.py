"""Tables 4 to 7 of the paper with our figures beside the published ones.

A table is plain data; `unaligned.benchmark.page` and the command line render it.
"""

from unaligned.benchmark import published_tables
from unaligned.benchmark.cells import Results, describe_setting
from unaligned.benchmark.columns import Column, Spread, Table, Value, slug, without
from unaligned.benchmark.methods import METHODS, Setting
from unaligned.benchmark.plans import DEEP, TABLE4, TABLE5, TABLE6, TABLE7
from unaligned.benchmark.protocol import PAIRED_SHARE
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
    "cases_of_table4",
    "cases_of_table5",
    "cases_of_table6",
    "chosen",
    "fixed_rule",
    "label_of",
    "published_scores",
    "rules_of",
    "table4",
    "table5",
    "table6",
    "table7",
]

Published = dict[str, dict[str, dict[str, float | None]]]

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
    Column("CPU seconds", 1, room=160),
    Column("shuffles", room=130),
    Column("setting", room=180),
)


def table4(results: Results) -> list[Table]:
    """All methods on all views, fully shuffled, one table for each dataset."""
    published = published_tables()["table4_fully_unaligned"]
    return [
        scores_table(results, case, f"Table 4: {case}", TABLE4, published)
        for case in cases_of_table4(results)
    ]


def cases_of_table4(results: Results) -> list[Case]:
    """All views of a dataset, where more was run than PAVuC and its ablation."""
    others = [name for name in TABLE4 if name not in TABLE6]
    return [
        case
        for case in cases_of(results)
        if case.views is None
        and any(results.like(case.cell(name, {})) for name in others)
    ]


def table5(results: Results) -> list[Table]:
    """Two views, beside methods that need pairs."""
    published = published_tables()["table5_two_views"]
    return [
        scores_table(results, case, f"Table 5: {case}", TABLE5, published)
        for case in cases_of_table5(results)
    ]


def cases_of_table5(results: Results) -> list[Case]:
    """Two views of a dataset: some of more, or all with methods that need pairs."""
    return [
        case
        for case in cases_of(results)
        if case.views is not None
        or any(results.like(case.cell(name, {}, ratio=PAIRED_SHARE)) for name in DEEP)
    ]


def published_scores(
    published: Published, name: str, case: Case
) -> dict[str, float | None]:
    """Look up the published scores that ours can stand beside, by heading."""
    scores = published.get(METHODS[name].published_name, {})
    found = scores.get(case.entry.published or "", {})
    if name in DEEP:  # their F is not counted over pairs, as ours is
        found = found | {"F": None}
    return found


def scores_table(
    results: Results,
    case: Case,
    title: str,
    names: tuple[str, ...],
    published: Published,
) -> Table:
    """Every method by every rule, with the floors that the paper lacks."""
    rows = []
    for name in names:
        ratio = METHODS[name].known_share
        paper = published_scores(published, name, case)
        for rule in rules_of(results, case, name, ratio):
            found = chosen(results, case, name, rule, ratio)
            if found is None:
                continue
            label = label_of(name, rule)
            tried = len(grid_records(results, case, name, ratio))
            row = score_row(label, rule, found, paper, case.is_the_papers)
            rows.append([*row, tried if rule in CRITERIA else None])
            if name == "PAVuC" and rule not in CRITERIA:
                row = score_row("PAVuC's template alone", rule, found, part=ALONE)
                rows.append([*row, None])
    notes = [grid_note(results, case, names), cost_note(results, case, names)]
    if case.entry.published and not case.is_the_papers:
        notes.append(OTHER_DATA)
    if set(names) & set(DEEP):
        notes.append(
            "PVC and MvCLN know 1 % of the pairs, the others none. Their published F "
            "is another one than ours, which counts pairs of rows, and is left out."
        )
    columns = (*SCORE_COLUMNS, Column("settings tried", 0, room=200))
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


def label_of(name: str, rule: str = "") -> str:
    """Name of a method in a table, and whether it is a reconstruction."""
    if name == "single view":
        return "k-means on the best view" if rule == "oracle" else "k-means on one view"
    return f"{name} (reconstruction)" if METHODS[name].reconstruction else name


def score_row(
    label: str,
    rule: str,
    found: Summary,
    paper: dict[str, float | None] = {},  # noqa: B006  never changed
    same_data: bool = True,
    part: str = "",
) -> list[Value]:
    """One row of a table of scores; ``part`` is where records have other scores."""
    row: list[Value] = [label, rule]
    for score, heading in SCORES.items():
        name = part + score
        mean, theirs = found.mean(name), paper.get(heading)
        row.append(None if mean is None else Spread(mean, found.spread(name)))
        row.append(theirs)
        known = mean is not None and theirs is not None and same_data
        row.append(mean - theirs if known else None)  # type: ignore[operator]
    if part:
        row += [None, None, None]
    else:
        row += [found.mean(name) for name in ("same_class", "by_chance")]
        row.append(found.median("cpu_seconds"))
    return [*row, count(found), describe_setting(found.setting)]


def count(found: Summary) -> str:
    """Shuffles that came to an end, and how others ended."""
    return ": ".join([str(len(found.done)), *found.failures[:1]])


def grid_note(results: Results, case: Case, names: tuple[str, ...]) -> str:
    """Say what grids were searched on."""
    searched = []
    for name in names:
        grid = grid_records(results, case, name, METHODS[name].known_share)
        if len(grid) > 1 and name != "single view":
            searched.append(len(set.intersection(*map(set, grid.values()))))
    if not searched:
        return "No grid was searched: settings are released or default ones."
    shuffles = "one shuffle" if max(searched) == 1 else f"{max(searched)} shuffles"
    return f"Grids were searched on {shuffles}, what was chosen there was run on all."


def table6(results: Results) -> list[Table]:
    """PAVuC-ATS with and without its alignment term, scored in two row orders."""
    published = published_tables()["table6_ablation"]
    rows: list[list[Value]] = []
    notes = [ORDERS]
    for case in cases_of_table6(results):
        ablation = []
        for name in TABLE6:
            rule = fixed_rule(name, case)
            found = chosen(results, case, name, rule)
            if found is None:
                continue
            ablation.append(found)
            paper = published_scores(published, name, case)
            for label, part in ((name, ""), (f"{name}, order of view 1", FIRST)):
                if part and name == "PAVuC":
                    paper = {}  # published in the template's order
                row = score_row(label, rule, found, paper, case.is_the_papers, part)
                rows.append([str(case), *row])
        if len(ablation) == 2:
            paper = published["Difference"].get(case.entry.published or "", {})
            rows.append([str(case), *difference_row(*ablation, paper=paper)])
        if ablation and case.is_the_papers:
            paper = published["NPA-VuC"][case.entry.published]
            notes += which_order(str(case), ablation[-1], paper["ACC"])
    if not rows:
        return []
    columns, rows = without((Column("dataset"), *SCORE_COLUMNS), rows, "seconds")
    title = "Table 6: without the alignment term"
    return [Table("table-6", title, columns, rows, notes)]


def cost_note(results: Results, case: Case, names: tuple[str, ...]) -> str:
    """Say what all cells behind a table took."""
    asked = [case.cell(name, {}, ratio=METHODS[name].known_share) for name in names]
    records = [record for cell in asked for _, record in results.like(cell)]
    minutes = sum(record.get("worker_cpu_seconds", 0) for record in records) / 60
    return f"{len(records):,} fits, {minutes:.1f} minutes of processor time."


def cases_of_table6(results: Results) -> list[Case]:
    """All views of a dataset that the ablation was run on."""
    return [
        case
        for case in cases_of(results)
        if case.views is None and results.like(case.cell("NPA-VuC", {}))
    ]


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


def difference_row(
    one: Summary, other: Summary, *, paper: dict[str, float | None]
) -> list[Value]:
    """Tell what the alignment term is worth."""
    row: list[Value] = ["difference", ""]
    for score, heading in SCORES.items():
        ours, theirs = one.mean(score), other.mean(score)
        row.append(None if ours is None or theirs is None else ours - theirs)
        row += [paper.get(heading), None]
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
        if case.views is not None:
            continue
        for name in TABLE7:
            found = chosen(results, case, name, rules_of(results, case, name)[0])
            if found is None:
                continue
            theirs = published.get(case.entry.published or "", {})
            rows.append(
                [
                    str(case),
                    label_of(name),
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
