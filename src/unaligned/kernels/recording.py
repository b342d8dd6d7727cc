"""Work for a GPU that is recorded once, and then launched as a whole.

To launch a kernel takes Python some microseconds, and a GPU is done with a small one
sooner. torch records what a function launches as a CUDA graph, which one call replays,
however many kernels there are.

What is recorded cannot depend on what it computes. Where a function looks at a result
to see whether its short way is the right one, it asks `holds`: while it is recorded,
the answer is yes, and all answers are looked at together after every replay.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Recording", "Recordings", "holds", "is_recording"]

_assumed: ContextVar[list[Any] | None] = ContextVar("assumed", default=None)


def is_recording() -> bool:
    """Whether what is launched now is recorded, and not done.

    Examples
    --------
    >>> is_recording()
    False
    """
    return _assumed.get() is not None


def holds(condition: Any) -> bool:
    """Whether a condition holds: a waited-for answer, or an assumption to be checked.

    Parameters
    ----------
    condition : array of one truth value

    Examples
    --------
    >>> import numpy as np
    >>> holds(np.array(1) < 2)
    True
    """
    assumed = _assumed.get()
    if assumed is None:
        return bool(condition)
    assumed.append(condition)
    return True


@contextmanager
def _assuming() -> Iterator[list[Any]]:
    """Collect the conditions that `holds` is asked about, and take them as met."""
    assumed: list[Any] = []
    before = _assumed.set(assumed)
    try:
        yield assumed
    finally:
        _assumed.reset(before)


class Recording:
    """What a function launches for arguments of certain shapes.

    Parameters
    ----------
    function : callable
        Must neither wait for the GPU nor copy from the host. Its kernels are compiled.
    arguments : tuple
        Tensors, and lists and tuples of them. All else in them is taken as it is.
    cuda : module
        ``torch.cuda``, or a stand-in for tests.
    pool : object
        Memory that recordings share which are replayed one after the other.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        cuda: Any,
        pool: Any,
    ) -> None:
        import torch

        self._arguments = _on_tensors(torch.clone, arguments)
        self._graph = cuda.CUDAGraph()
        # Other threads may use the GPU for what they like.
        options = {"pool": pool, "capture_error_mode": "thread_local"}
        with _assuming() as assumed, cuda.graph(self._graph, **options):
            self._result = function(*self._arguments)
            self._valid = torch.stack(assumed).all() if assumed else None

    def replay(self, arguments: tuple[Any, ...]) -> Any:
        """Return the function's result, or None where it assumed what does not hold."""
        import torch

        for mine, given in zip(
            _tensors(self._arguments), _tensors(arguments), strict=True
        ):
            mine.copy_(given)
        self._graph.replay()
        # The next replay writes to the same memory. Copies are launched while it runs.
        result = _on_tensors(torch.clone, self._result)
        return None if self._valid is not None and not bool(self._valid) else result


class Recordings:
    """Recordings by name.

    The first call of all is made as it is: it compiles kernels, and they are the same
    under every name. From then on a name is recorded when it is first called, and
    replayed.

    Parameters
    ----------
    cuda : module
        ``torch.cuda``, or a stand-in for tests.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._pool: Any = None
        self._by_name: dict[Hashable, Recording] = {}
        self._compiled = False

    def call(
        self, name: Hashable, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Return ``function(*arguments)``; arguments of a name keep their shapes."""
        if not self._compiled:
            self._compiled = True
            return function(*arguments)
        if name not in self._by_name:
            self._pool = self._pool or self._cuda.graph_pool_handle()
            recording = Recording(function, arguments, self._cuda, self._pool)
            self._by_name[name] = recording
        result = self._by_name[name].replay(arguments)
        return function(*arguments) if result is None else result


def _on_tensors(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to all tensors in lists and (named) tuples."""
    if isinstance(value, list):
        return [_on_tensors(function, item) for item in value]
    if isinstance(value, tuple):
        items = (_on_tensors(function, item) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return function(value) if hasattr(value, "data_ptr") else value


def _tensors(value: Any) -> list[Any]:
    """List all tensors in lists and tuples."""
    found: list[Any] = []
    _on_tensors(found.append, value)
    return found
