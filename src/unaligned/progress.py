"""Telling people how a fit goes: scikit-learn's callbacks, and lines on the screen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9 has no callbacks; ``verbose`` still works

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mix-in where there is none."""


__all__ = ["CallbackSupportMixin", "FitProgress", "download_bar", "say"]

MOST_LINES = 200  # of a fit on the screen, about


def say(line: str, to: IO[str] | None = None) -> None:
    """Print a line of progress at once, also where output is a file or a pipe."""
    print(line, flush=True, file=to)


@contextmanager
def download_bar(
    name: str, total: int | None, done: int = 0, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show how a download goes on, where there is a terminal to show it on.

    Gives a function to call with the number of bytes that have come.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = "{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn()
    off = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        task = progress.add_task(f"Fetching {name}", total=total, completed=done)
        yield lambda n_bytes: progress.advance(task, n_bytes)


class FitProgress:
    """Reports the iterations of one fit.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are called (scikit-learn ≥ 1.9), its ``verbose`` is obeyed.
    Xs : views
        What the estimator is being fitted on, for the callbacks.
    max_iter : int
        The most iterations there can be.
    """

    def __init__(self, estimator: Any, Xs: Any, max_iter: int) -> None:
        self.estimator = estimator
        self._max_iter = max_iter
        self._task: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._fit: Any = estimator._init_callback_context(max_subtasks=max_iter)
            self._fit.call_on_fit_task_begin(estimator=estimator, X=Xs)
        else:
            self._fit = None

    def begin_iteration(self) -> None:
        """Announce the next iteration."""
        if self._fit is not None:
            self._task = self._fit.subcontext(task_name="iteration")
            self._task.call_on_fit_task_begin(estimator=self.estimator)

    def end_iteration(
        self,
        iteration: int,
        objective: float | None,
        fitted: Callable[[], dict[str, Any]],
    ) -> bool:
        """Report an iteration; return whether a callback wants to stop.

        ``fitted`` gives the attributes the estimator would have if it stopped now. It
        is called only when a callback asks for the fitted estimator.
        """
        line_every = max(1, self._max_iter // MOST_LINES)
        tell = self.estimator.verbose and self._max_iter > 1
        if tell and iteration % line_every == 0:
            line = f"[{type(self.estimator).__name__}] iteration {iteration}"
            if objective is not None:
                line += f": objective {objective:.8g}"
            say(line)
        if self._task is None:
            return False
        return bool(
            self._task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=fitted
            )
        )

    def end(self) -> None:
        """Close the report of the whole fit."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self.estimator)
