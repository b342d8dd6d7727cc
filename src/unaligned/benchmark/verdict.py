"""What of the paper is reproduced, and what its scores are made of."""

from collections.abc import Iterator
from dataclasses import dataclass

from unaligned.benchmark import published_tables
from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import Column, Table, Value
from unaligned.benchmark.methods import METHODS
from unaligned.benchmark.plans import TABLE4, TABLE5
from unaligned.benchmark.protocol import PAPER_DATASETS
from unaligned.benchmark.summary import Case
from unaligned.benchmark.tables import (
    ALONE,
    FIRST,
    Published,
    cases_of_table4,
    cases_of_table5,
    cases_of_table6,
    chosen,
    fixed_rule,
    published_scores,
    rules_of,
)

__all__ = ["verdict_tables"]

NEAR = 2.0  # points: as far as starts and shuffles move the mean of a method


def verdict_tables(results: Results) -> list[Table]:
    """Tables that a reader in a hurry needs."""
    return [*reproduced(results), *made_of(results)]


@dataclass(frozen=True)
class Comparison:
    """A published score and ours."""

    table: str
    case: Case
    method: str
    score: str
    paper: float
    ours: float | None
    """None where no shuffle came to an end."""

    @property
    def is_near(self) -> bool:
        """Whether the score is reproduced."""
        return self.ours is not None and abs(self.ours - self.paper) <= NEAR

    def __str__(self) -> str:
        if self.ours is None:
            return f"{self.method} {self.score} (no result)"
        difference = f"{self.ours - self.paper:+.1f}".replace("-", "−")
        return f"{self.method} {self.score} {difference}"


def reproduced(results: Results) -> list[Table]:
    """Count the published scores that ours come near to, and name the others."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in comparisons(results):
        groups.setdefault((one.table, one.case.dataset), []).append(one)
    rows: list[list[Value]] = [
        [
            *group,
            sum(one.is_near for one in found),
            len(found),
            ", ".join(str(one) for one in found if not one.is_near) or "none",
        ]
        for group, found in groups.items()
    ]
    columns = (
        Column("table"),
        Column("dataset"),
        Column(f"within {NEAR:g} points", 0),
        Column("of", 0),
        Column("not reproduced (ours − the paper's)"),
    )
    notes = [
        "ACC, NMI and F of every method that was run, on the paper's own data; by the "
        "paper's rule, oracle, where a grid was searched."
    ]
    there = {dataset for _, dataset in groups}
    if missing := [name for name in PAPER_DATASETS if name not in there]:
        notes.append(f"The paper's {', '.join(missing)} were not run.")
    title = "What is reproduced"
    return [Table("reproduced", title, columns, rows, notes)] if rows else []


def comparisons(results: Results) -> Iterator[Comparison]:
    """All published scores that ours can be compared with."""
    published = published_tables()
    for case in cases_of_table4(results):
        for name in TABLE4:
            paper = published["table4_fully_unaligned"]
            yield from compare(results, "Table 4", case, name, paper)
    for case in cases_of_table5(results):
        for name in TABLE5:
            paper = published["table5_two_views"]
            yield from compare(results, "Table 5", case, name, paper)
    for case in cases_of_table6(results):
        paper = published["table6_ablation"]
        yield from compare(results, "Table 6", case, "NPA-VuC", paper)
        yield from compare(results, "Table 6", case, "NPA-VuC", paper, part=FIRST)


def compare(
    results: Results,
    table: str,
    case: Case,
    name: str,
    published: Published,
    part: str = "",
) -> Iterator[Comparison]:
    """Scores of one method, by the paper's rule where a grid was searched."""
    if not case.is_the_papers:
        return
    ratio = METHODS[name].known_share
    rules = rules_of(results, case, name, ratio)
    rule = "oracle" if "oracle" in rules else rules[0]
    found = chosen(results, case, name, rule, ratio)
    if found is None:
        return
    label = f"{name} in view 1's order" if part else name
    for score, theirs in published_scores(published, name, case).items():
        if theirs is not None:
            ours = found.mean(part + score.lower())
            yield Comparison(table, case, label, score, theirs, ours)


def made_of(results: Results) -> list[Table]:
    """PAVuC beside what explains its scores, and beside a method that aligns."""
    columns = (
        Column("dataset"),
        Column("PAVuC", 1),
        Column("PAVuC, paper", 1),
        Column("its template alone", 1),
        Column("k-means, best view (oracle)", 1),
        Column("k-means, one view (label-free)", 1),
        Column("SAVuC", 1),
        Column("same class, PAVuC", 1),
        Column("same class, SAVuC", 1),
        Column("by chance", 1),
    )
    rows = [explained(results, case) for case in cases_of_table4(results)]
    notes = [
        "ACC and shares in percent, PAVuC with the released setting. “Same class” is "
        "the share of matched rows whose partner has the same class: where it is no "
        "higher than by chance, the score is that of the template and not of the "
        "alignment."
    ]
    title = "What the scores are made of"
    return [Table("made-of", title, columns, rows, notes)] if rows else []


def explained(results: Results, case: Case) -> list[Value]:
    """Explain the scores of one dataset."""
    fixed = fixed_rule("PAVuC", case)
    published = published_tables()["table4_fully_unaligned"]["PAVuC-ATS"]
    paper = published[case.entry.published] if case.is_the_papers else {}

    def mean(method: str, rule: str, measurement: str = "acc") -> float | None:
        found = chosen(results, case, method, rule)
        return None if found is None else found.mean(measurement)

    return [
        str(case),
        mean("PAVuC", fixed),
        paper.get("ACC"),
        mean("PAVuC", fixed, f"{ALONE}acc"),
        mean("single view", "oracle"),
        mean("single view", "label-free"),
        mean("SAVuC", "defaults"),
        mean("PAVuC", fixed, "same_class"),
        mean("SAVuC", "defaults", "same_class"),
        mean("PAVuC", fixed, "by_chance"),
    ]
