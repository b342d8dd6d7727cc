"""Starts for narrow tables: the longest rows find their partners one after the other.

Where columns are few and rows fill space evenly, centres of k-means lie anywhere, and
many couplings of them look alike. Rows far from the mean are few. Whitened rows keep
their lengths and inner products under rotation, so the longest rows of both views are
mostly the same objects, and partners can be told by these numbers. A beam search
assigns them: row by row, it keeps the assignments under which lengths and inner
products agree best.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry, spread_of
from unaligned.savuc.refine import join_rows, score, soft_cycle
from unaligned.savuc.trust import FEWEST_DIRECTIONS

__all__ = ["assign_extremes", "couple_extremes"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_ASSIGNED = 16  # rows that are assigned: more than twice the factors, mostly
N_AMONG = 100  # rows of the other view that they are assigned to
N_SETTLED = 300  # longest rows on which assignments are compared
TOLERANCE = 0.3  # of inner products, over their standard deviation
MOST_COST = 3.0  # of one number that does not agree: a row may lack its partner


def couple_extremes(
    geometries: tuple[Geometry, Geometry],
    whitened: tuple[Array, Array],
    settings: Settings,
) -> list[Array]:
    """Cross-correlations under the best assignments of the longest rows.

    The number of common factors is not known. So each number of leading directions is
    tried, from either view; a soft cycle on some of the longest rows tells which of the
    assignments are best.
    """
    full = [whitened_rows(geometry.at_full_length()) for geometry in geometries]
    fits = []
    most = min(rows.shape[1] for rows in full)
    for n_factors in range(FEWEST_DIRECTIONS, most + 1):  # fewer cannot be tested
        F, G = (rows[:, :n_factors] for rows in full)
        f, g = longest_first(F), longest_first(G)
        A, B = whitened[0][f[:N_SETTLED]], whitened[1][g[:N_SETTLED]]
        F, G = F[f[:N_AMONG]], G[g[:N_AMONG]]
        forward = assign_extremes(F[:N_ASSIGNED], G, settings.beam_width)
        backward = assign_extremes(G[:N_ASSIGNED], F, settings.beam_width)
        for cross in (
            A[: len(forward)].T @ B[forward] / len(forward),
            A[backward].T @ B[: len(backward)] / len(backward),
        ):
            settled = soft_cycle(cross, join_rows(A, B), settings)
            fits.append((score(settled, settings), settled))
    fits.sort(key=lambda fit: -fit[0])
    return [cross for _, cross in fits[: settings.n_candidates]]


def longest_first(rows: Array) -> Indices:
    """Order of rows by their length."""
    return np.argsort(-np.linalg.norm(rows, axis=1), kind="stable")


def whitened_rows(rows: Array) -> Array:
    """Rows with every direction centred and at unit variance."""
    whitened: Array = (rows - rows.mean(axis=0)) / spread_of(rows, 0.0)
    return whitened


def assign_extremes(one: Array, other: Array, beam_width: int) -> Indices:
    """Assign rows to rows of another view, so that lengths and products agree.

    The cost of an assignment π is the sum over rows i ≥ k of

        min((⟨xᵢ, xₖ⟩ − ⟨y_π(i), y_π(k)⟩)² / 2σ², 3),

    for i = k with the lengths themselves in place of their squares. Rows are assigned
    in their order, and ``beam_width`` partial assignments of least cost are kept.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.RandomState(0).normal(size=(30, 5))
    >>> turn = np.linalg.qr(np.random.RandomState(1).normal(size=(5, 5)))[0]
    >>> assign_extremes(rows[:8], rows @ turn, beam_width=100)
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    m = len(other)
    products = (other @ other.T).astype(np.float32)
    lengths = np.sqrt(products.diagonal())
    wanted = (one @ one.T).astype(np.float32)
    apart = products[np.triu_indices(m, 1)]
    spread = TOLERANCE * float(apart.std() if m > 1 else 0) or 1.0
    # A length is as uncertain as a product with a row of unit length.
    length_spread = spread / (np.median(lengths) or 1.0)
    length_costs = bounded_cost(
        np.sqrt(wanted.diagonal())[:, None] - lengths, length_spread
    )
    assigned, costs = np.arange(m)[:, None], length_costs[0]
    for i in range(1, min(len(one), m)):
        extended = costs[:, None] + length_costs[i]
        for k in range(i):
            differences = wanted[i, k] - products[assigned[:, k]]
            extended += bounded_cost(differences, spread)
        np.put_along_axis(extended, assigned, np.inf, axis=1)
        flat = extended.ravel()
        n_kept = min(beam_width, int(np.isfinite(flat).sum()))
        kept = np.argpartition(flat, n_kept - 1)[:n_kept]
        assigned = np.column_stack([assigned[kept // m], kept % m])
        costs = flat[kept]
    return np.asarray(assigned[np.argmin(costs)], dtype=np.intp)


def bounded_cost(differences: Array, spread: float) -> Array:
    """Squared differences over twice a variance, at most `MOST_COST`."""
    cost: Array = differences / np.float32(np.sqrt(2) * spread)
    np.multiply(cost, cost, out=cost)
    return np.minimum(cost, np.float32(MOST_COST), out=cost)
