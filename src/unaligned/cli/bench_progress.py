"""What ``unaligned bench`` shows while it runs."""

import time
from datetime import timedelta
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from unaligned.benchmark.cells import Cell, Results
from unaligned.benchmark.forecast import Forecast
from unaligned.benchmark.runner import Running
from unaligned.benchmark.study import Observer

__all__ = ["BenchProgress"]

SILENCE = 30.0  # seconds between two lines where there is no terminal


class BenchProgress(Observer):
    """A bar, the time left and the running cells; or a line now and then.

    Parameters
    ----------
    console : Console
    results : Results
        Earlier runs, from which times are estimated.
    jobs : int
        Cells at a time.
    """

    def __init__(self, console: Console, results: Results, jobs: int) -> None:
        self._console, self._jobs = console, jobs
        self._forecast = Forecast(results)
        self._waiting: dict[str, Cell] = {}
        self._total = self._done = self._failed = 0
        self._spoke = time.monotonic()
        self._live = Live(console=console, transient=True, auto_refresh=False)

    def __enter__(self) -> "BenchProgress":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._live.stop()
        if self._total:
            self._console.print(f"{self._counts()}.")

    def planned(self, cells: list[Cell]) -> None:
        """Add cells to what is to be done."""
        self._total += len(cells)
        self._waiting |= {cell.key: cell for cell in cells}

    def running(self, running: list[Running]) -> None:
        """Show the state; in a file or a pipe, every half minute."""
        if self._console.is_terminal:
            lines = [
                Text(f"  {one.cell}, {timedelta(seconds=int(one.seconds))}", "dim")
                for one in running
            ]
            bar = ProgressBar(max(self._total, 1), self._done, width=40)
            line = Text(f"{self._counts()}; {self._time_left()}")
            self._live.update(Group(bar, line, *lines), refresh=True)
        elif time.monotonic() - self._spoke > SILENCE:
            self._spoke = time.monotonic()
            now = "; ".join(str(one.cell) for one in running)
            self._console.print(f"{self._counts()}; {self._time_left()}; now {now}")

    def ended(self, cell: Cell, record: dict[str, Any]) -> None:
        """Count a cell, and print why if it failed."""
        self._waiting.pop(cell.key, None)
        self._forecast.learn(cell, record)
        self._done += 1
        if record["status"] not in ("done", "skipped"):
            self._failed += 1
            why = f"{record['status']}: {record.get('reason', '')}"
            self._console.print(f"{cell}: {why}", style="yellow")

    def _counts(self) -> str:
        text = f"{self._done} of {self._total} cells"
        return f"{text}, {self._failed} failed" if self._failed else text

    def _time_left(self) -> str:
        seconds = self._forecast.seconds_left(self._waiting.values(), self._jobs)
        if seconds is None:
            return "time left not known yet"
        return f"about {timedelta(seconds=round(seconds))} left"
