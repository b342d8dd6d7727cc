"""From records to answers: which setting a rule chooses, and what it scores.

Everything is read off the records alone, so that the page can be made from a result
file without knowing how it was asked for.
"""

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from unaligned.benchmark.cells import Cell, Results
from unaligned.benchmark.methods import EVERY_VIEW, METHODS, Setting
from unaligned.benchmark.protocol import DATASETS, SYNTHETIC, DatasetEntry, entry_of

__all__ = [
    "RULES",
    "Case",
    "Summary",
    "cases_of",
    "choose",
    "grid_records",
    "nominate",
    "released_setting",
    "summarise",
]

RULES = {
    "released": "the setting in the authors' program",
    "defaults": "the method's default setting, or its only one",
    "oracle": "the grid point of best ACC, picked with the labels as the paper does: "
    "the best on what the grid was searched on, the label-free choice and the released "
    "setting compete on all shuffles",
    "label-free": "the grid point whose clusters are best predicted from the view they "
    "are scored in (unaligned.selection.predictability): picked without labels",
}
CRITERIA = {"oracle": "acc", "label-free": "label_free"}
Tried = dict[tuple[tuple[str, Any], ...], dict[int, dict[str, Any]]]
"""Records by setting and shuffle."""


@dataclass(frozen=True)
class Case:
    """What is clustered: a dataset, or some of its rows or views."""

    dataset: str
    rows: int | None = None
    views: tuple[int, ...] | None = None

    @property
    def entry(self) -> DatasetEntry:
        """What the protocol says of the dataset."""
        return entry_of(self.dataset)

    @property
    def is_the_papers(self) -> bool:
        """Whether the published scores are of these very data."""
        entry = self.entry
        return entry.published is not None and entry.same_data and self.rows is None

    def cell(self, method: str, setting: Setting, **more: Any) -> Cell:
        """Cell of this case."""
        return Cell(
            self.dataset, method, setting, rows=self.rows, views=self.views, **more
        )

    def __str__(self) -> str:
        name = self.dataset
        if self.rows:
            name += f" ({self.rows:,} rows)"
        if self.views:
            name += f", views {' and '.join(str(i + 1) for i in self.views)}"
        return name


@dataclass(frozen=True)
class Summary:
    """One setting of one method, over its shuffles."""

    setting: Setting
    records: tuple[dict[str, Any], ...]

    @property
    def done(self) -> list[dict[str, Any]]:
        """Records of shuffles that came to an end."""
        return [record for record in self.records if record["status"] == "done"]

    @property
    def failures(self) -> list[str]:
        """How the others ended, each way once."""
        ends = [r["status"] for r in self.records if r["status"] != "done"]
        return sorted(set(ends))

    def values(self, name: str) -> list[float]:
        """List a measurement of all shuffles that have it; dots go into nested ones."""
        found = []
        for record in self.done:
            value: Any = record
            for part in name.split("."):
                value = value.get(part) if value is not None else None
            if value is not None:
                found.append(value)
        return found

    def mean(self, name: str) -> float | None:
        """Mean of a measurement; None where there is none."""
        values = self.values(name)
        return statistics.fmean(values) if values else None

    def spread(self, name: str) -> float | None:
        """Give the standard deviation of a measurement, of two or more."""
        values = self.values(name)
        return statistics.stdev(values) if len(values) > 1 else None

    def median(self, name: str) -> float | None:
        """Median of a measurement; None where there is none."""
        values = self.values(name)
        return statistics.median(values) if values else None


def summarise(
    results: Results,
    case: Case,
    method: str,
    setting: Setting,
    ratio: float = 0.0,
    measure: str = "scores",
) -> Summary | None:
    """Collect all shuffles of a setting; None where none was run."""
    alike = results.like(case.cell(method, setting, ratio=ratio, measure=measure))
    records = [record for cell, record in alike if cell.setting == setting]
    return Summary(setting, tuple(records)) if records else None


def choose(
    results: Results, case: Case, method: str, rule: str, ratio: float = 0.0
) -> Setting | None:
    """Pick a setting by a rule, among those that were run; None where it finds none.

    The best of a grid on one shuffle need not be the best on all. So the oracle, who
    may look, compares what was run on all; without labels, the nominee it is.
    """
    if rule not in CRITERIA:
        fixed = released_setting(method, case.entry)
        if fixed is not None:
            return fixed
        alike = results.like(case.cell(method, {}, ratio=ratio))
        settings = Counter(tuple(cell.setting.items()) for cell, _ in alike)
        return dict(settings.most_common(1)[0][0]) if settings else None
    if rule == "label-free":
        return nominate(results, case, method, rule, ratio)
    finalists = [nominate(results, case, method, other, ratio) for other in CRITERIA]
    finalists.append(released_setting(method, case.entry))
    tried = grid_records(results, case, method, ratio)
    further = {s: records for s, records in tried.items() if dict(s) in finalists}
    return best_of(further, CRITERIA[rule])


def nominate(
    results: Results, case: Case, method: str, rule: str, ratio: float = 0.0
) -> Setting | None:
    """Pick the grid point that is to be run on all shuffles."""
    return best_of(grid_records(results, case, method, ratio), CRITERIA[rule])


def best_of(tried: Tried, criterion: str) -> Setting | None:
    """Pick the setting of best mean, over the shuffles that all were run on."""
    common = set.intersection(*map(set, tried.values())) if tried else set()
    scores = {}
    for setting, records in tried.items():
        searched = Summary({}, tuple(records[shuffle] for shuffle in common))
        if common and len(searched.done) == len(common):
            scores[setting] = searched.mean(criterion)
    if not scores:
        return None
    best = max(scores, key=lambda setting: scores[setting] or 0)  # the first, if tied
    return dict(best)


def grid_records(
    results: Results, case: Case, method: str, ratio: float = 0.0
) -> Tried:
    """Sort records by setting and shuffle, of settings that are points of the grid."""
    grid = METHODS[method].grid
    found: dict[Any, dict[int, dict[str, Any]]] = {}
    for cell, record in results.like(case.cell(method, {}, ratio=ratio)):
        inside = cell.setting.keys() == grid.keys() and all(
            values == EVERY_VIEW or cell.setting[name] in values
            for name, values in grid.items()
        )
        if inside:
            found.setdefault(tuple(cell.setting.items()), {})[cell.shuffle] = record
    return found


def released_setting(method: str, entry: DatasetEntry) -> Setting | None:
    """Give the setting of the authors' program, None for methods of others."""
    if method == "PAVuC":
        return dict(entry.released)
    if method == "NPA-VuC":
        return {name: v for name, v in entry.released.items() if name != "mu"}
    return None


def cases_of(
    results: Results, measures: tuple[str, ...] = ("scores", "trace", "map")
) -> list[Case]:
    """List what was clustered of real data, in the order of the protocol."""
    found = {
        Case(cell.dataset, cell.rows, cell.views)
        for cell, _ in results
        if cell.dataset != SYNTHETIC and cell.measure in measures
    }
    names = list(DATASETS)

    def place(case: Case) -> tuple[int, str, int, tuple[int, ...]]:
        known = names.index(case.dataset) if case.dataset in names else len(names)
        return known, case.dataset, case.rows or 0, case.views or ()

    return sorted(found, key=place)
