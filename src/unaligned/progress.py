"""Telling people how a fit goes: scikit-learn's callbacks, and lines on the screen."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, ClassVar

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9 has no callbacks; ``verbose`` still works

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mix-in where there is none."""


__all__ = [
    "CallbackSupportMixin",
    "FitProgress",
    "Heartbeat",
    "Pace",
    "download_bar",
    "say",
]

MOST_LINES = 200  # of a fit on the screen, about
WIDTH = 79  # of a terminal
SILENCE = 2.0  # seconds after which the last line is shown again, with the time


def say(line: str, to: IO[str] | None = None, left: float | None = None) -> None:
    """Print a line of progress at once, also where output is a file or a pipe.

    ``left`` are the seconds that are expected until what it belongs to is done.
    """
    heart = Heartbeat.current
    if heart is None or to is not None:
        print(line + _about(left), flush=True, file=to)
    else:
        heart.say(line, left)


def _about(left: float | None) -> str:
    """Word the seconds that are left."""
    if left is None:
        return ""
    minutes = left / 60
    amount = f"{minutes:.0f} min" if minutes > 2 else f"{left:.0f} s"
    return f", about {amount} left"


def _print(line: str, again: bool) -> None:
    """Print a line over one that was shown again, on terminals and in notebooks.

    Elsewhere every line is one of its own.
    """
    out = sys.stdout
    if out.isatty() or "ipykernel" in sys.modules:
        print(f"\r{line:{WIDTH}}", end="" if again else "\n", flush=True, file=out)
    else:
        print(line, flush=True, file=out)


class Heartbeat:
    """Shows the last line of progress again where nothing new comes for a while.

    A thread of its own looks after it, so that what computes need not. Inside another
    one it does nothing.

    Parameters
    ----------
    show : callable, optional
        Takes a line, and whether it is shown again. Default: print.
    clock : callable, optional
        Gives seconds.

    Examples
    --------
    >>> seconds = iter([0.0, 0.0, 1.0, 3.0])
    >>> heart = Heartbeat(clock=lambda: next(seconds))
    >>> heart.say("searching", left=8)
    searching, about 8 s left
    >>> heart.beat()  # a second later
    >>> heart.beat()  # three seconds later
    searching: 3 s, about 5 s left
    """

    current: ClassVar["Heartbeat | None"] = None

    def __init__(
        self,
        show: Callable[[str, bool], None] = _print,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._clock = show, clock
        self._line = ""
        self._left: float | None = None
        self._began = self._spoke = clock()
        self._done = threading.Event()
        self._lock = threading.RLock()

    def say(self, line: str, left: float | None = None) -> None:
        """Show a line, and keep it."""
        with self._lock:
            self.note(line, left)
            self._show(line + _about(left), False)

    def note(self, line: str, left: float | None = None) -> None:
        """Keep a line that somebody else has shown."""
        with self._lock:
            self._line, self._left = line, left
            self._began = self._spoke = self._clock()

    def beat(self) -> None:
        """Show the last line again, if that was long ago."""
        with self._lock:
            now = self._clock()
            if not self._line or now - self._spoke < SILENCE:
                return
            since, self._spoke = now - self._began, now
            left = None if self._left is None else max(self._left - since, 1.0)
            self._show(f"{self._line}: {since:.0f} s{_about(left)}", True)

    def __enter__(self) -> "Heartbeat":
        if Heartbeat.current is None:
            Heartbeat.current = self
            threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        if Heartbeat.current is self:
            Heartbeat.current = None

    def _run(self) -> None:
        try:
            while not self._done.wait(SILENCE / 4):
                self.beat()
        except KeyboardInterrupt:  # what runs in the main thread hears of it by itself
            return


class Pace:
    """Seconds per step so far, to tell how many are left.

    Examples
    --------
    >>> seconds = iter([0.0, 4.0, 5.0])
    >>> pace = Pace(lambda: next(seconds))
    >>> pace.left(n_steps=3) is None  # nothing is known at the beginning
    True
    >>> pace.step()  # after four seconds
    >>> pace.left(n_steps=2)  # a second later
    7.0
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._start = clock, clock()
        self._steps, self._seconds = 0, 0.0

    def step(self) -> None:
        """Count a step that is done."""
        self._steps += 1
        self._seconds = self._clock() - self._start

    def left(self, n_steps: int) -> float | None:
        """Seconds until so many steps are done; None where nothing tells."""
        if not (self._steps and n_steps):
            return None
        since = self._clock() - self._start - self._seconds
        return max(n_steps * self._seconds / self._steps - since, 1.0)


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
