"""Refinement on rows: from couplings of anchors to matches of rows.

The state is one small matrix, the cross-correlation C of two whitened views under the
current matching. Its singular vectors are canonical directions; along them rows find
their partners by Sinkhorn's plan, and the plan gives the next C. More directions at
lower temperature, step by step, turn matches of one class into matches of one object.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.kernels.neighbors import likely_top_products, top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.config import Settings, Step

__all__ = [
    "N_ROUNDS",
    "N_TIMES_SAMPLED",
    "Fit",
    "Known",
    "Plan",
    "RowPair",
    "along_directions",
    "best_first",
    "correlate",
    "cycle",
    "dense_kernel",
    "directions_of",
    "join_rows",
    "mutual_best",
    "near_pairs",
    "plan_rows",
    "refine",
    "sample",
    "sample_rows",
    "score",
    "sparse_kernel",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Known = tuple[Indices, Indices] | None
"""Rows of the first view and of the second that are known to be pairs."""
Fit = tuple[Array, float]
"""A cross-correlation and its score."""

N_ROUNDS = 5  # of Sinkhorn, of a plan that gives the next C
N_STALLED = 3  # cycles without a gain after which refinement ends
N_COMPARED = 30_000  # rows beyond which nearest pairs are looked for in cells
N_TIMES_SAMPLED = 1.5  # as many rows as a sample has are all taken
TINY = np.float32(1e-30)  # keeps quotients finite


class RowPair(NamedTuple):
    """Whitened rows of two views that are free, and what is known of the rest."""

    one: Array
    other: Array
    fixed: Array
    """Cross-correlation that the known pairs contribute."""
    share: float
    """Share of the rows that are free to be matched."""


class Plan(NamedTuple):
    """A soft matching of rows, ``diag(u) kernel diag(v)``; the kernel may be sparse."""

    kernel: Any
    u: Array
    v: Array


def join_rows(one: Array, other: Array, known: Known = None) -> RowPair:
    """Pair two whitened views, with their known pairs taken out of the free rows."""
    if known is None or known[0].size == 0:
        return RowPair(one, other, np.zeros((one.shape[1], other.shape[1])), 1.0)
    rows, partners = known
    none_free = rows.size == min(len(one), len(other))
    share = 0.0 if none_free else 1 - 2 * rows.size / (len(one) + len(other))
    fixed = (1 - share) * (one[rows].T @ other[partners]) / rows.size
    free_one = np.delete(one, rows, axis=0)
    free_other = np.delete(other, partners, axis=0)
    return RowPair(free_one, free_other, fixed, share)


def score(cross: Array, settings: Settings) -> float:
    """Sum of the leading canonical correlations: large where a matching is right."""
    n_scored = settings.schedule[-1][0]
    return float(np.linalg.svd(cross, compute_uv=False)[:n_scored].sum())


def best_first(fits: list[Fit]) -> list[Fit]:
    """Sort fits by their scores."""
    return sorted(fits, key=lambda fit: -fit[1])


def directions_of(cross: Array, n_directions: int) -> tuple[Array, Array, Array]:
    """Canonical directions of either view, and their correlations, C = U S Vᵀ.

    By the eigenvectors of C Cᵀ, which cost half of a decomposition of C. Where a
    correlation is next to zero, its direction V is arbitrary, and may be zero.
    """
    if len(cross) > cross.shape[1]:
        other, one, correlations = directions_of(cross.T, n_directions)
        return one, other, correlations
    squares, left = np.linalg.eigh(cross @ cross.T)
    largest = slice(None, -min(n_directions, len(squares)) - 1, -1)
    correlations, left = np.sqrt(np.maximum(squares[largest], 0)), left[:, largest]
    right = cross.T @ (left / np.where(correlations > 0, correlations, 1))
    single = np.float32
    return left.astype(single), right.astype(single), correlations.astype(single)


def along_directions(
    cross: Array,
    rows: RowPair,
    n_directions: int,
    weigh: Callable[[Array], Array] = lambda correlations: correlations,
) -> tuple[Array, Array]:
    """Free rows of both views along their canonical directions, at unit length."""
    to_one, to_other, correlations = directions_of(cross, n_directions)
    weights = weigh(correlations)
    return unit_rows(rows.one @ (to_one * weights)), unit_rows(
        rows.other @ (to_other * weights)
    )


def plan_rows(
    A: Array, B: Array, temperature: float, n_iter: int, settings: Settings
) -> Plan:
    """Find Sinkhorn's plan between rows of unit length."""
    if len(A) > len(B):
        turned = plan_rows(B, A, temperature, n_iter, settings)
        return Plan(turned.kernel.T, turned.v, turned.u)
    v = np.ones(len(B), dtype=np.float32)
    if max(len(A), len(B)) <= settings.n_dense:
        # Imported here: compiled code is not needed to import the library.
        from unaligned.kernels.sinkhorn import scaling_factors

        kernel = dense_kernel(A, B, temperature)
        return Plan(kernel, *scaling_factors(kernel, v, n_iter))
    kernel = sparse_kernel(A, B, temperature, settings)
    a = np.float32(1 / len(A))
    most = np.float32(np.inf if len(A) == len(B) else 1)
    for _ in range(n_iter):
        u = a / (kernel @ v + TINY)
        v = np.minimum(a / (u @ kernel + TINY), most)
    return Plan(kernel, u, v)


def dense_kernel(A: Array, B: Array, temperature: float) -> Array:
    """exp((cosine − 1) / temperature) of all pairs of rows."""
    inverse = np.float32(1 / temperature)
    kernel = (A * inverse) @ B.T
    kernel -= inverse
    return np.exp(kernel, out=kernel)


def sparse_kernel(A: Array, B: Array, temperature: float, settings: Settings) -> Any:
    """Keep near pairs of rows only; the others have next to no weight."""
    forward = near_pairs(A, B, temperature, settings)
    backward = near_pairs(B, A, temperature, settings).T.tocsr()
    return forward.maximum(backward)  # the same where both have a pair


def near_pairs(A: Array, B: Array, temperature: float, settings: Settings) -> Any:
    """Pairs of every row of the first view with those that are nearest to it."""
    shape = len(A), len(B)
    k = min(settings.n_near, *shape)
    nearest = top_products if max(shape) <= N_COMPARED else likely_top_products
    columns, cosine = nearest(A, B, k)
    weights = np.exp((cosine - 1) / np.float32(temperature)).ravel()
    starts = np.arange(0, shape[0] * k + 1, k, dtype=np.int32)
    pairs = (weights, columns.ravel().astype(np.int32), starts)
    kernel = sparse.csr_array(pairs, shape)
    kernel.sort_indices()
    return kernel


def correlate(plan: Plan, rows: RowPair) -> Array:
    """Cross-correlation of two whitened views under a plan, known pairs included."""
    moved = plan.kernel @ (rows.other * plan.v[:, None])
    cross: Array = rows.fixed + rows.share * ((rows.one * plan.u[:, None]).T @ moved)
    return cross


def cycle(
    cross: Array,
    rows: RowPair,
    settings: Settings,
    schedule: tuple[Step, ...] | None = None,
) -> Array:
    """Alternate plans and correlations, with more directions at lower temperature."""
    for n_directions, temperature in schedule or settings.schedule:
        A, B = along_directions(cross, rows, n_directions)
        plan = plan_rows(A, B, temperature, N_ROUNDS, settings)
        cross = correlate(plan, rows)
    return cross


def mutual_best(plan: Plan) -> tuple[Indices, Indices]:
    """Rows that are each other's best in a plan."""
    if sparse.issparse(plan.kernel):
        forward = row_maxima(plan.kernel * plan.v)
        backward = row_maxima(plan.kernel.T * plan.u)
    else:
        # Imported here: compiled code is not needed to import the library.
        from unaligned.kernels.sinkhorn import best_partners

        if not plan.kernel.flags.c_contiguous:
            backward, forward = best_partners(plan.kernel.T, plan.v, plan.u)
        else:
            forward, backward = best_partners(*plan)
    rows = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    return rows, forward[rows]


def row_maxima(table: Any) -> Indices:
    """Column of the largest entry of every row of a sparse table; 0 where none is.

    Ties go to the smaller column.
    """
    table = table.tocsr()
    table.sort_indices()
    sizes = np.diff(table.indptr)
    filled, rows = np.flatnonzero(sizes), np.repeat(np.arange(len(sizes)), sizes)
    largest = np.zeros(len(sizes), table.dtype)
    largest[filled] = np.maximum.reduceat(table.data, table.indptr[filled])
    hits = np.flatnonzero((table.data == largest[rows]) & (table.data > 0))[::-1]
    found = np.zeros(len(sizes), dtype=np.intp)
    found[rows[hits]] = table.indices[hits]  # of several, the last one stays
    return found


def refine(
    cross: Array,
    choose_rows: Callable[[Array], RowPair],
    settings: Settings,
    arrived: Callable[[Array], bool] = lambda cross: False,
) -> tuple[Array, float]:
    """Repeat the cycle until the score has not risen for some cycles.

    It may fall before it rises: a cycle begins at a high temperature. ``choose_rows``
    gives the rows to work on, which may depend on C. ``arrived`` may end it earlier.
    """
    best, value, n_stalled = cross, score(cross, settings), 0
    while n_stalled < N_STALLED:
        cross = cycle(cross, choose_rows(cross), settings)
        reached = score(cross, settings)
        rises = reached > (1 + settings.least_gain) * value
        n_stalled = 0 if rises else n_stalled + 1
        if reached > value:
            best, value = cross, reached
        if arrived(cross):
            return cross, reached
    return best, value


def sample_rows(rows: RowPair, size: int, rng: np.random.RandomState) -> RowPair:
    """Rows that take part in plans: all, or a sample of each view."""
    one, other = (side[sample(len(side), size, rng)] for side in rows[:2])
    return rows._replace(one=one, other=other)


def sample(n: int, size: int, rng: np.random.RandomState) -> Indices:
    """Draw rows where there are many more than ``size``; else take them all."""
    if n <= N_TIMES_SAMPLED * size:
        return np.arange(n)
    return np.sort(rng.permutation(n)[:size])
