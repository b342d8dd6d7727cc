"""How long what is left will take, from how long the like of it took."""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from unaligned.benchmark.cells import Cell, Results

__all__ = ["Forecast"]


class Forecast:
    """Expects of a cell what the most similar cells took.

    Parameters
    ----------
    results : Results
        Those of earlier runs count.
    """

    def __init__(self, results: Results) -> None:
        self._seconds: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for cell, record in results:
            self.learn(cell, record)

    def learn(self, cell: Cell, record: dict[str, Any]) -> None:
        """Take the time of a cell that ended into account."""
        if "wall" in record:
            for kind in self._kinds(cell):
                self._seconds[kind].append(record["wall"])

    def expect(self, cell: Cell) -> float | None:
        """Seconds that a cell should take; None where nothing is known yet."""
        for kind in self._kinds(cell):
            if kind in self._seconds:
                # Of a sum: medians would leave out the few cells that take long.
                return statistics.fmean(self._seconds[kind])
        return None

    def seconds_left(self, cells: Iterable[Cell], jobs: int) -> float | None:
        """Seconds until some cells are done by so many workers."""
        expected = [self.expect(cell) for cell in cells]
        if any(seconds is None for seconds in expected):
            return None
        return sum(filter(None, expected)) / jobs

    @staticmethod
    def _kinds(cell: Cell) -> list[tuple[Any, ...]]:
        """List the groups that a cell belongs to, the most alike first."""
        return [
            (cell.dataset, cell.rows, cell.method, cell.measure),
            (cell.dataset, cell.rows),
            (cell.dataset,),
            (),
        ]
