"""How long a piece of work may still take."""

import time
from collections.abc import Callable

__all__ = ["NEVER", "Deadline", "TimeIsUp"]


class TimeIsUp(Exception):
    """What was begun cannot be finished in time."""


class Deadline:
    """The end of a span of time, which may be shared out.

    Parameters
    ----------
    seconds : float or None
        From now on; None: without end.
    clock : callable, optional
        Gives the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> whole = Deadline(8.0, lambda: now[0])
    >>> now[0] = 3.0
    >>> whole.at(0.5).over(), whole.at(0.25).over()
    (False, True)
    >>> whole.part(2, of=10).seconds  # for 2 of 10 pieces, in the 5 seconds left
    1.0
    """

    def __init__(
        self, seconds: float | None, clock: Callable[[], float] | None = None
    ) -> None:
        self.clock = clock or time.monotonic
        self.start = self.clock()
        self.seconds = float("inf") if seconds is None else seconds

    def at(self, share: float) -> "Deadline":
        """Give an earlier one, after a share of the time."""
        earlier = Deadline(share * self.seconds, self.clock)
        earlier.start = self.start
        return earlier

    def part(self, pieces: int, of: int) -> "Deadline":
        """Give the end for some of the pieces that are left to do."""
        left = self.start + self.seconds - self.clock()
        return Deadline(max(left, 0.0) * pieces / of, self.clock)

    def over(self) -> bool:
        """Whether the time is up."""
        return self.clock() - self.start >= self.seconds

    def check(self) -> None:
        """End what is being done if the time is up."""
        if self.over():
            raise TimeIsUp


NEVER = Deadline(None)
