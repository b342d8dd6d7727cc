"""Running the cells that tables and figures need, until none is missing."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from unaligned.benchmark.cells import Cell, Results
from unaligned.benchmark.environment import (
    describe_environment,
    environment_name,
    load_average,
)
from unaligned.benchmark.measure import measure
from unaligned.benchmark.plans import PLANS, Study, gave_up
from unaligned.benchmark.runner import Limits, Measure, Running, run_cells

__all__ = ["Observer", "run_study"]


class Observer:
    """Its methods are called while a study runs; here they do nothing."""

    def planned(self, cells: list[Cell]) -> None:
        """Take the cells that are to be run next."""

    def running(self, running: list[Running]) -> None:
        """Take the cells in flight, several times a second."""

    def ended(self, cell: Cell, record: dict[str, Any]) -> None:
        """Take a cell that ended, or was given up (status ``"skipped"``)."""


def run_study(
    names: Iterable[str],
    study: Study,
    results: Results,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),  # noqa: B008  frozen
    retry: bool = False,
    again: bool = False,
    observer: Observer | None = None,
    measure: Measure = measure,
) -> None:
    """Run what is missing for some tables and figures.

    Parameters
    ----------
    names : iterable of str
        Keys of ``PLANS``.
    study : Study
    results : Results
        What is there is not run again; what is run is added.
    jobs : int, default=1
        Cells at a time.
    limits : Limits
        A cell that ran into a shorter time limit before is run again.
    retry : bool, default=False
        Whether cells that did not end well before are run again.
    again : bool, default=False
        Whether all cells are run again; the newest result of a cell counts.
    observer : Observer, default=None
    measure : function of a Cell
    """
    observer = observer or Observer()
    environment = describe_environment()
    place = environment_name(environment)
    tried: set[str] = set()

    def missing(cell: Cell) -> bool:
        if cell.key in tried:
            return False
        record = results.get(cell)
        if record is None or again or (retry and record["status"] != "done"):
            return True
        return record["status"] == "time-out" and record["limit"] < limits.seconds

    def worthwhile(cells: list[Cell]) -> Iterator[Cell]:
        for cell in cells:
            tried.add(cell.key)
            if gave_up(cell, results, limits.seconds) and not (retry or again):
                observer.ended(cell, {"status": "skipped"})
            else:
                yield cell

    while True:
        asked = [cell for name in names for cell in PLANS[name](study, results)]
        cells = list(filter(missing, dict.fromkeys(asked)))
        if not cells:
            return
        results.add_environment(place, environment)
        observer.planned(cells)
        records = run_cells(
            worthwhile(cells), measure, jobs=jobs, limits=limits, watch=observer.running
        )
        for record in records:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            record |= {"environment": place, "threads": limits.threads, "at": now}
            record["load"] = load_average()
            results.add(record)
            observer.ended(Cell.of(record), record)
