"""Passes over all blocks of all views: what workers do, and what comes back from them.

A task carries along all that it needs to know of the state, and the state stays with
the process that calls ``fit``. When a worker is lost, dask has its tasks done
elsewhere; nothing else is lost with it.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from unaligned.checkpoints import digest
from unaligned.distributed.blocks import blocks_of
from unaligned.kernels.blocks import row_blocks, row_parts
from unaligned.kernels.residual import sum_of_squares
from unaligned.matrices import largest_of
from unaligned.pavuc.sweep import Sweep, parts_of, sum_moments, sweep
from unaligned.pavuc.updates import Array, row_variances

__all__ = [
    "Numbers",
    "Survey",
    "active_client",
    "digest_view",
    "look_through",
    "n_threads",
    "settle",
    "stream",
    "survey_block",
    "sweep_block",
]

TASKS_PER_THREAD = 2  # in a wave: enough to keep a thread busy when one is slow


class Numbers(NamedTuple):
    """Whether the values of a block can be computed with."""

    n_values: int
    largest: float
    """Of the magnitudes."""
    n_nan: int
    n_infinite: int
    first_bad: tuple[int, int] | None
    """Row in the block and column of the first value that is not finite."""


class Survey(NamedTuple):
    """What has to be known of a block before the first iteration."""

    n_values: int
    largest: float
    n_nan: int
    n_infinite: int
    first_bad: tuple[int, int] | None
    squares: float
    variances: Array
    """Of every row, for Eq. 22."""
    moments: tuple[Array, ...]
    """Shares of its parts in ``X_i G_iᵀ``, where the first iteration starts from."""


def survey_block(X: Any, graph: Array) -> Survey:
    """Look through a block for the first time."""
    X, graph = settle(X), settle(graph)
    numbers = look_through(X)
    if numbers.first_bad is not None:
        return Survey(*numbers, 0.0, np.empty(0), ())
    with np.errstate(over="ignore", invalid="ignore"):  # see `complain_of_numbers`
        squares = float(sum(sum_of_squares(X[rows]) for rows in row_blocks(X)))
        parts = parts_of(X, graph.shape[1])
        moments = tuple(sum_moments(X[p], graph[p]) for p in parts)
        variances = row_variances(X)
    return Survey(*numbers, squares, variances, moments)


def look_through(X: Array) -> Numbers:
    """Look for values of a block that are not finite."""
    if np.isfinite(largest := largest_of(X)):
        return Numbers(X.size, largest, 0, 0, None)
    bad = ~np.isfinite(X)
    n_nan = int(np.isnan(X).sum())
    row, column = map(int, np.argwhere(bad)[0])
    return Numbers(X.size, largest, n_nan, int(bad.sum()) - n_nan, (row, column))


def sweep_block(X: Any, *arguments: Any) -> tuple[Array, Array, tuple[Array, ...]]:
    """Graph, residuals and shares of the moments, by the functions used in memory.

    There is a share for every part of the rows that memory, too, sums up by itself.
    """
    whole = Sweep(*map(settle, (X, *arguments)))
    parts = parts_of(whole.X, len(whole.anchors))
    graphs, residuals, shares = zip(*(sweep(*whole.of(p)) for p in parts), strict=True)
    return np.concatenate(graphs), np.concatenate(residuals), shares


def digest_view(X: Any) -> str:
    """Text by which a checkpoint knows the values of a view again, however chunked."""
    import dask

    task = dask.delayed(digest_block, pure=False)
    tasks = (task(block.values) for block in blocks_of(0, X, n_anchors=1))
    return digest([part for found in stream(tasks) for part in found])


def digest_block(X: Any) -> list[str]:
    """One text for every part of the rows: blocks end where parts do."""
    X = settle(X)
    return [digest(X[rows]) for rows in row_parts(X, X.shape[1])]


def settle(value: Any) -> Any:
    """Lay an array out as it would be in memory; leave anything else.

    What has come over a network may start at an odd address. NumPy then multiplies
    matrices in another way, and rounds differently.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements=["C", "A"])
    return value


def stream(tasks: Iterable[Any]) -> Iterator[Any]:
    """Compute dask ``Delayed`` objects a wave at a time; yield results in their order.

    Tasks are drawn from the iterable when their turn comes, and so is what they carry
    with them: memory does not grow with their number. A cluster has a second wave at
    hand while the results of the first are taken in.
    """
    import dask

    tasks, client = iter(tasks), active_client()
    size = TASKS_PER_THREAD * n_threads(client)
    waves = iter(lambda: list(islice(tasks, size)), [])
    # Rows travel inside the tasks: scattered data would be lost with their worker.
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
    # One thread of BLAS per task, here as dask has it for worker processes.
    with dask.config.set(quiet), threadpool_limits(limits=1, user_api="blas"):
        if client is None:
            for wave in waves:
                yield from dask.compute(*wave)
            return
        ahead: deque[Any] = deque()
        for wave in waves:
            ahead.append(client.compute(wave))
            if len(ahead) > 1:
                yield from client.gather(ahead.popleft())
        while ahead:
            yield from client.gather(ahead.popleft())


def active_client() -> Any:
    """Find the client of the cluster that dask computes on, None without one."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    return client if hasattr(client, "gather") else None


def n_threads(client: Any) -> int:
    """Tasks that can run at the same time."""
    if client is not None:
        return max(1, sum(client.nthreads().values()))
    import dask
    from dask.system import CPU_COUNT

    return int(dask.config.get("num_workers", CPU_COUNT))
