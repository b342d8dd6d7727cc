"""Which cells every table and figure needs.

A plan is asked again and again: it lists the cells it knows it needs, given the results
so far. What needs a choice (the best grid point) is listed once the choice can be made.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from unaligned.benchmark.cells import Cell, Results
from unaligned.benchmark.methods import METHODS, Setting
from unaligned.benchmark.protocol import (
    N_SHUFFLES,
    RATIOS,
    SYNTHETIC,
    entry_of,
    load_views,
)
from unaligned.benchmark.summary import CRITERIA, Case, nominate, released_setting

__all__ = ["PLANS", "Study", "gave_up"]

FLOORS = ("single view", "random labels")
PAIRED = (
    "LMVSC", "FPMVSCAG", "FMVACC", "FDAGF", "RCAGL", "CAMVC", "AEVC",
)  # fmt: skip
UNPAIRED = ("CMVNMF", "UPMGCSM", "VuCG", "PAVuC", "SAVuC")
TABLE4 = (*PAIRED, *UNPAIRED, *FLOORS)
DEEP = ("PVC", "MvCLN")
TABLE5 = (*DEEP, "PAVuC", "SAVuC", *FLOORS)
TABLE6 = ("PAVuC", "NPA-VuC")
TABLE7 = UNPAIRED
SPEED = ("PAVuC in 15 iterations", "plain NumPy in 15 iterations")
SCALING = (*PAIRED, *UNPAIRED, *DEEP, *SPEED)
ONTO_REFERENCE = ("SCOT", "SCOT, self-tuned", "Rosetta")
UNPAIRED_DEEP = ("SMILE", "CPMN")
HALVES = ("SAVuC", *ONTO_REFERENCE, *UNPAIRED_DEEP)
RIVALS = (
    "SAVuC", *ONTO_REFERENCE, "PAVuC", "UPMGCSM", *UNPAIRED_DEEP, *DEEP, "SURE",
)  # fmt: skip
# Not in a quick run: tuning is a grid of transports, a minute for 600 rows.
LONG = ("SCOT, self-tuned",)
RIVAL_RATIOS = (0.0, 0.1, 0.5)
FIGURE4 = ("PAVuC", "SAVuC", "plain bridge", *DEEP)
FIGURE5_MU = (1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class Study:
    """What is asked for."""

    cases: tuple[Case, ...]
    methods: tuple[str, ...] = tuple(METHODS)
    shuffles: int = N_SHUFFLES
    grid_shuffles: int = 1
    """Shuffles that grids are searched on; 0: grids are not searched."""
    ratios: tuple[float, ...] = RATIOS
    sizes: tuple[int, ...] = (500, 1000, 2000, 4000, 8000, 16000)
    quick: bool = False
    time_limit: float = 600.0

    def wanted(self, names: Iterable[str]) -> list[str]:
        """Those of some methods that are asked for, and can run here."""
        long = LONG if self.quick else ()
        return [
            name
            for name in names
            if name in self.methods and METHODS[name].can_run and name not in long
        ]


@cache
def n_views_of(dataset: str) -> int:
    """Count the views of a dataset."""
    return len(load_views(entry_of(dataset)).Xs)


def two_views(case: Case) -> Case:
    """Give the case of Table 5: that of Table 4 where there are but two views."""
    if n_views_of(case.dataset) == 2:
        return case
    return Case(case.dataset, case.rows, case.entry.table5_views)


def searched(
    study: Study, results: Results, case: Case, name: str, ratio: float = 0.0
) -> Iterator[Cell]:
    """Grid of a method, then its chosen settings on all shuffles."""
    n_views = len(case.views) if case.views else n_views_of(case.dataset)
    grid = list(METHODS[name].settings(n_views, study.quick))
    settled: list[Setting] = []
    if (released := released_setting(name, case.entry)) is not None:
        settled.append(released)
    if len(grid) == 1:
        settled += grid
    elif study.grid_shuffles or name == "single view":
        tried = [
            case.cell(name, setting, ratio=ratio, shuffle=shuffle)
            for setting in grid
            for shuffle in range(max(study.grid_shuffles, 1))
        ]
        yield from tried
        if all(results.get(cell) or gave_up(cell, results) for cell in tried):
            chosen = [nominate(results, case, name, rule, ratio) for rule in CRITERIA]
            settled += [setting for setting in chosen if setting is not None]
    elif released is None:
        settled.append(METHODS[name].defaults)
    for setting in settled:
        for shuffle in range(study.shuffles):
            yield case.cell(name, setting, ratio=ratio, shuffle=shuffle)


def gave_up(cell: Cell, results: Results, time_limit: float | None = None) -> bool:
    """Whether cells like one ran out of time or memory, and none came to an end."""
    ends = [
        record["status"]
        for _, record in results.like(cell)
        if time_limit is None or record.get("limit", time_limit) >= time_limit
    ]
    return "done" not in ends and bool({"time-out", "out of memory"} & set(ends))


def table4(study: Study, results: Results) -> Iterator[Cell]:
    """All methods, all views, fully shuffled."""
    for case in study.cases:
        for name in study.wanted(TABLE4):
            yield from searched(study, results, case, name)


def table5(study: Study, results: Results) -> Iterator[Cell]:
    """Two views; methods that need pairs get one in a hundred."""
    for case in map(two_views, study.cases):
        for name in study.wanted(TABLE5):
            ratio = METHODS[name].known_share
            yield from searched(study, results, case, name, ratio)


def table6(study: Study, results: Results) -> Iterator[Cell]:
    """PAVuC with and without its alignment term, settings as released."""
    for case in study.cases:
        for name in study.wanted(TABLE6):
            setting = released_setting(name, case.entry) or {}
            for shuffle in range(study.shuffles):
                yield case.cell(name, setting, shuffle=shuffle)


def table7(study: Study, results: Results) -> Iterator[Cell]:
    """Methods that take misalignment into account, as in Table 4."""
    for case in study.cases:
        for name in study.wanted(TABLE7):
            yield from searched(study, results, case, name)


def figure3(study: Study, results: Results) -> Iterator[Cell]:
    """Map of the views and of the fused graph."""
    for case in study.cases:
        for name in study.wanted(["PAVuC"]):
            yield case.cell(name, case.entry.released, measure="map")


def figure4(study: Study, results: Results) -> Iterator[Cell]:
    """Shares of known pairs; PAVuC as released. PVC and MvCLN take two views."""
    pairs_of_views = map(two_views, study.cases) if study.wanted(DEEP) else ()
    for case in dict.fromkeys([*study.cases, *pairs_of_views]):
        n_views = len(case.views) if case.views else n_views_of(case.dataset)
        for name in study.wanted(FIGURE4):
            method = METHODS[name]
            if method.needs_pairs and n_views != 2:
                continue
            released = released_setting(name, case.entry)
            setting = released or method.fixed(n_views, study.quick)
            for ratio in (r for r in study.ratios if r or not method.needs_pairs):
                for shuffle in range(study.shuffles):
                    yield case.cell(name, setting, ratio=ratio, shuffle=shuffle)
        for name in study.wanted(["single view"]):
            yield from searched(study, results, case, name)


def figure5(study: Study, results: Results) -> Iterator[Cell]:
    """PAVuC over α and μ, with as many anchors as released."""
    alphas, mus = METHODS["PAVuC"].grid["alpha"], list(FIGURE5_MU)
    if study.quick:
        alphas, mus = alphas[::5], mus[::3]
    for case in study.cases:
        for name in study.wanted(["PAVuC"]):
            for alpha in alphas:
                for mu in mus:
                    setting = case.entry.released | {"alpha": alpha, "mu": mu}
                    for shuffle in range(max(study.grid_shuffles, 1)):
                        yield case.cell(name, setting, shuffle=shuffle)


def figure6(study: Study, results: Results) -> Iterator[Cell]:
    """PAVuC iteration by iteration."""
    for case in study.cases:
        for name in study.wanted(["PAVuC"]):
            yield case.cell(name, case.entry.released, measure="trace")


def only_setting(study: Study, name: str) -> Setting:
    """Give the default setting of a method, or its quick one."""
    method = METHODS[name]
    return next(method.settings(1, True)) if study.quick else method.defaults


def halves(study: Study, results: Results) -> Iterator[Cell]:
    """Every two views of a dataset, each with objects of its own; if quick, two."""
    for case in study.cases:
        n_views = n_views_of(case.dataset)
        pairs = [*combinations(case.views or range(n_views), 2)]
        for views in pairs[:1] if study.quick else pairs:
            yield from halves_of(study, Case(case.dataset, case.rows, views))


def halves_of(study: Study, two: Case) -> Iterator[Cell]:
    """Two views, each with objects of its own."""
    for name in study.wanted(HALVES):
        for shuffle in range(study.shuffles):
            setting = only_setting(study, name)
            yield two.cell(name, setting, shuffle=shuffle, measure="halves")


def rivals(study: Study, results: Results) -> Iterator[Cell]:
    """Two views, with no pair known, one in ten, every other one; disjoint halves."""
    for case in map(rival_views, study.cases):
        for ratio in (r for r in study.ratios if r in RIVAL_RATIOS):
            for name in study.wanted(RIVALS):
                if METHODS[name].needs_pairs and not ratio:
                    continue
                for shuffle in range(study.shuffles):
                    yield case.cell(
                        name,
                        only_setting(study, name),
                        ratio=ratio,
                        shuffle=shuffle,
                        measure="rivals",
                    )
        yield from halves_of(study, case)


def rival_views(case: Case) -> Case:
    """Give two views, as Table 5 does, and name them in any case."""
    two = two_views(case)
    return Case(two.dataset, two.rows, two.views or (0, 1))


def scaling(study: Study, results: Results) -> Iterator[Cell]:
    """Growing synthetic data, for every method until it is too slow."""
    for name in study.wanted(SCALING):
        setting = METHODS[name].fixed(3, study.quick)
        views, ratio = (0, 1) if name in DEEP else None, METHODS[name].known_share
        for size in study.sizes:
            cell = Cell(SYNTHETIC, name, setting, ratio, views=views, rows=size)
            yield cell
            seconds = (results.get(cell) or {}).get("seconds", study.time_limit)
            if seconds > study.time_limit / 2:  # twice the rows take twice the time
                break


PLANS = {
    plan.__name__: plan
    for plan in (
        table4, table5, table6, table7, figure3, figure4, figure5, figure6, scaling,
        halves, rivals,
    )
}  # fmt: skip
