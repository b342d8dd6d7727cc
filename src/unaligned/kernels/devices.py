"""Where to compute: on the cores of this machine, or on a GPU.

`Cores` do independent pieces of work side by side in threads with one BLAS thread each.
Results do not depend on how many cores there are. `unaligned.kernels.gpu` has the same
methods for a GPU.
"""

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from array_api_compat import device as device_of
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

__all__ = [
    "Cores",
    "Steps",
    "is_on_gpu",
    "on_host",
    "result_of",
    "spawn",
]

Result = TypeVar("Result")
Steps = Generator[None, None, Result]
"""A piece of work that yields where it would wait for a GPU."""


def on_host(array: Any) -> NDArray[Any]:
    """Return an array of any device as a NumPy array.

    Examples
    --------
    >>> import numpy as np
    >>> on_host(np.arange(3))
    array([0, 1, 2])
    """
    host: NDArray[Any] = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return host


def is_on_gpu(array: Any) -> bool:
    """Whether kernels in CUDA can read an array.

    Examples
    --------
    >>> import numpy as np
    >>> is_on_gpu(np.ones(3))
    False
    """
    return str(device_of(array)).startswith("cuda")


def result_of(steps: Generator[Any, None, Result]) -> Result:
    """Take all steps of a piece of work, and return what it returns.

    Examples
    --------
    >>> def two_steps():
    ...     yield
    ...     return "done"
    >>> result_of(two_steps())
    'done'
    """
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def spawn(rng: np.random.RandomState, n: int) -> list[np.random.RandomState]:
    """Random states for pieces of work that are done side by side.

    Examples
    --------
    >>> import numpy as np
    >>> [state.randint(100) for state in spawn(np.random.RandomState(0), 2)]
    [99, 29]
    """
    return [np.random.RandomState(seed) for seed in rng.randint(2**31 - 1, size=n)]


class Cores:
    """The cores of this machine, with NumPy.

    Parameters
    ----------
    n_threads : int, optional
        Default: as many as BLAS would take. So those who hold BLAS to fewer threads,
        by environment variables or threadpoolctl, hold this, too.
    check : callable, optional
        Called before every piece of work; it may raise to end them all.

    Examples
    --------
    >>> Cores().map(pow, [2, 3], [5, 2])
    [32, 9]
    """

    def __init__(
        self,
        n_threads: int | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.check = check
        self._libraries = ThreadpoolController()
        of_blas = self._libraries.select(user_api="blas").info()
        taken = [library["num_threads"] for library in of_blas]
        self.n_threads = n_threads or max(taken, default=1)
        # Each of the threads holds OpenMP, which counts for every thread by itself.
        # They end when nobody holds the pool any more.
        hold = partial(self._libraries.select(user_api="openmp").limit, limits=1)
        self._pool = ThreadPoolExecutor(self.n_threads, initializer=hold)

    def put(self, array: Any) -> Any:
        """Move an array to where it is needed: it is there."""
        return array

    def put_view(self, X: Any) -> Any:
        """Move a matrix to where its rows are needed, block after block."""
        return X

    def map(
        self, function: Callable[..., Result], *arguments: Sequence[Any]
    ) -> list[Result]:
        """Do what the built-in ``map`` does, piece beside piece."""

        def checked(*piece: Any) -> Result:
            self.check()
            return function(*piece)

        if self.n_threads == 1 or len(arguments[0]) == 1:
            return list(map(checked, *arguments))
        return list(self._pool.map(checked, *arguments))

    def each(
        self, function: Callable[..., Result], *arguments: Sequence[Any]
    ) -> list[Result]:
        """Do what `map` does, for pieces that keep the device busy, not the cores."""
        return self.map(function, *arguments)

    def interleave(
        self, function: Callable[..., Steps[Result]], *arguments: Sequence[Any]
    ) -> list[Result]:
        """Do what `each` does, for pieces that say where they wait for the device."""
        return self.map(lambda *piece: result_of(function(*piece)), *arguments)

    def repeat(
        self, name: Hashable, function: Callable[..., Result], *arguments: Any
    ) -> Result:
        """Call a function that is called under this name again and again.

        A GPU may record it (`unaligned.kernels.recording`, which says what it must not
        do then).
        """
        return function(*arguments)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hold BLAS and OpenMP to one thread while this computes.

        Threads that have to share a core wait for each other for longer than they
        compute. And with one each, sums are the same for any number of cores.
        """
        with self._libraries.limit(limits=1):
            yield
