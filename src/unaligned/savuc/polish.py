"""Self-learning on rows: from anchors that match to rows that match.

The state is one small matrix, the cross-correlation of two whitened views under the
current matching. Its singular vectors are canonical directions; along them rows find
their partners by Sinkhorn's plan, and the plan gives the next matrix. More and more
directions at lower and lower temperature ("zooming out") turn matches of one class into
matches of one object.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.kernels.neighbors import likely_top_products, top_products
from unaligned.kernels.scaling import unit_rows

__all__ = [
    "Rows",
    "climb",
    "join_rows",
    "lift",
    "rows_along",
    "score",
    "soft_cycle",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Step = tuple[int, float, int]  # directions, temperature, rounds

COARSE_STEPS: tuple[Step, ...] = ((10, 0.05, 8),)
SOFT_STEPS: tuple[Step, ...] = (
    (10, 0.05, 4),
    (20, 0.03, 4),
    (30, 0.03, 4),
    (40, 0.02, 4),
)
LAST_STEPS: tuple[Step, ...] = ((40, 0.02, 3),)
HARD_DIRECTIONS = range(10, 41, 5)
HARD_SHARE = 0.7  # of the mutual pairs, those of largest cosine
N_SCORED = 40  # correlations that count
ENOUGH_GAIN = 1.003  # of the score per cycle, or the climb ends
MOST_CYCLES = 24
MOST_DENSE = 4500  # rows of a plan that is kept as a dense matrix
N_NEAR = 32  # pairs of every row, from either side, that a sparse plan keeps
MOST_COMPARED = 30_000  # rows of a view that are compared with all of the other one


class Rows(NamedTuple):
    """Whitened rows of two views that are free, and what is known of the rest."""

    one: Array
    other: Array
    fixed: Array
    """Cross-correlation that the known pairs contribute."""
    share: float
    """Share of the rows that are still free to be matched."""


class Plan(NamedTuple):
    """A soft matching of rows, ``diag(u) kernel diag(v)``; the kernel may be sparse."""

    kernel: Any
    u: Array
    v: Array


def join_rows(
    one: Array, other: Array, known: tuple[Indices, Indices] | None = None
) -> Rows:
    """Whitened rows of two views, with their known pairs taken out of the free ones."""
    if known is None or known[0].size == 0:
        return Rows(one, other, np.zeros((one.shape[1], other.shape[1])), 1.0)
    rows, partners = known
    all_known = rows.size == min(len(one), len(other))  # nobody is free on one side
    share = 0.0 if all_known else 1 - 2 * rows.size / (len(one) + len(other))
    fixed = (1 - share) * (one[rows].T @ other[partners]) / rows.size
    free_one = np.delete(one, rows, axis=0)
    free_other = np.delete(other, partners, axis=0)
    return Rows(free_one, free_other, fixed, share)


def score(cross: Array) -> float:
    """Sum of the leading canonical correlations: large where a matching is right."""
    return float(np.linalg.svd(cross, compute_uv=False)[:N_SCORED].sum())


def rows_along(
    cross: Array,
    rows: Rows,
    n_directions: int,
    weigh: Callable[[Array], Array] = lambda correlations: correlations,
) -> tuple[Array, Array]:
    """Free rows of both views along their canonical directions, at unit length."""
    left, correlations, right = np.linalg.svd(cross)
    r = min(n_directions, len(correlations))
    weights = weigh(correlations[:r])
    to_one = (left[:, :r] * weights).astype(np.float32)
    to_other = (right[:r].T * weights).astype(np.float32)
    return unit_rows(rows.one @ to_one), unit_rows(rows.other @ to_other)


def plan_rows(
    A: Array, B: Array, temperature: float, n_iter: int, v: Array | None = None
) -> Plan:
    """Find Sinkhorn's plan between rows of unit length, warm-started by ``v``."""
    many = max(len(A), len(B)) > MOST_DENSE
    kernel = (sparse_kernel if many else dense_kernel)(A, B, temperature)
    a, b = np.float32(1 / len(A)), np.float32(1 / len(B))
    tiny = np.float32(1e-30)
    v = np.full(len(B), b, dtype=np.float32) if v is None else v
    for _ in range(n_iter):
        u = a / (kernel @ v + tiny)
        v = b / (u @ kernel + tiny)
    return Plan(kernel, u, v)


def dense_kernel(A: Array, B: Array, temperature: float) -> Array:
    """exp((cosine − 1) / temperature) of all pairs of rows."""
    kernel = A @ B.T
    kernel -= 1
    kernel *= np.float32(1 / temperature)
    return np.exp(kernel, out=kernel)


def sparse_kernel(A: Array, B: Array, temperature: float) -> Any:
    """Keep near pairs of rows only; the others have no weight to speak of."""
    forward = near_pairs(A, B, temperature)
    backward = near_pairs(B, A, temperature).T.tocsr()
    return forward.maximum(backward)  # the same where both have a pair


def near_pairs(A: Array, B: Array, temperature: float) -> Any:
    """Pairs of every row of the first view with those that are nearest to it."""
    shape = len(A), len(B)
    k = min(N_NEAR, *shape)
    nearest = top_products if max(shape) <= MOST_COMPARED else likely_top_products
    columns, cosine = nearest(A, B, k)
    weights = np.exp((cosine - 1) / np.float32(temperature)).ravel()
    starts = np.arange(0, shape[0] * k + 1, k, dtype=np.int32)
    pairs = (weights, columns.ravel().astype(np.int32), starts)
    kernel = sparse.csr_array(pairs, shape)
    kernel.sort_indices()
    return kernel


def correlate(plan: Plan, rows: Rows) -> Array:
    """Cross-correlation of two whitened views under a plan, known pairs included."""
    moved = plan.kernel @ (rows.other * plan.v[:, None])
    cross: Array = rows.fixed + rows.share * ((rows.one * plan.u[:, None]).T @ moved)
    return cross


def soft_cycle(cross: Array, rows: Rows, steps: Iterable[Step] = SOFT_STEPS) -> Array:
    """Zoom out: more directions at lower temperature, plan after plan."""
    for n_directions, temperature, n_rounds in steps:
        v = None
        for _ in range(n_rounds):
            A, B = rows_along(cross, rows, n_directions)
            plan = plan_rows(A, B, temperature, 20 if v is None else 5, v)
            v = plan.v
            cross = correlate(plan, rows)
    return cross


def hard_cycle(cross: Array, rows: Rows) -> Array:
    """Zoom out on mutual best pairs only: jumps out of partial optima."""
    for n_directions in HARD_DIRECTIONS:
        for _ in range(2):
            A, B = rows_along(cross, rows, n_directions)
            plan = plan_rows(A, B, 0.02, 20)
            picked, partners = mutual_best(plan)
            cosine = np.einsum("jr,jr->j", A[picked], B[partners])
            kept = np.argsort(-cosine)[: max(60, int(HARD_SHARE * len(cosine)))]
            pairs = rows.one[picked[kept]].T @ rows.other[partners[kept]]
            cross = rows.fixed + rows.share * pairs / len(kept)
    return soft_cycle(cross, rows, LAST_STEPS)


def mutual_best(plan: Plan) -> tuple[Indices, Indices]:
    """Rows that are each other's best in a plan."""
    if sparse.issparse(plan.kernel):
        forward = row_maxima(plan.kernel * plan.v)
        backward = row_maxima(plan.kernel.T * plan.u)
    else:
        # Imported here: compiled code is not needed to import the library.
        from unaligned.kernels.sinkhorn import best_partners

        forward, backward = best_partners(*plan)
    rows = np.flatnonzero(backward[forward] == np.arange(len(forward)))
    return rows, forward[rows]


def row_maxima(table: Any) -> Indices:
    """Column of the largest entry of every row of a sparse table."""
    return np.asarray(table.argmax(axis=1), dtype=np.intp).ravel()


def lift(coupled: Array, coarse: Rows, fine: Rows) -> Array:
    """From the cross-correlation of anchors to that of rows in all directions."""
    cross = soft_cycle(coupled, coarse, COARSE_STEPS)
    n_directions, temperature, _ = COARSE_STEPS[-1]
    A, B = rows_along(cross, coarse, n_directions)
    return correlate(plan_rows(A, B, temperature, 20), fine)


def climb(cross: Array, beside: Callable[[Array], Rows]) -> tuple[Array, float]:
    """Alternate hard and soft cycles for as long as the score rises.

    ``beside`` gives the rows to climb on, which may depend on how far we have come.
    """
    best, value = cross, score(cross)
    for cycle in range(MOST_CYCLES):
        rows = beside(best)
        cross = hard_cycle(best, rows) if cycle % 2 == 0 else soft_cycle(best, rows)
        reached = score(cross)
        stalls = reached < ENOUGH_GAIN * value
        if reached > value:
            best, value = cross, reached
        if stalls and cycle > 0:
            break
    return best, value
