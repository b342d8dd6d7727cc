"""Starts for few factors: the longest rows find their partners one after the other.

Where a few directions hold the variance and rows fill space evenly, centres of k-means
lie anywhere, and many couplings of them look alike. Rows far from the mean are few.
Whitened rows keep their lengths and inner products under rotation, so the longest rows
of both views are mostly the same objects, and partners can be told by these numbers. A
beam search assigns them: row by row, it keeps the assignments under which lengths and
inner products agree best.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry, spread_of
from unaligned.savuc.refine import cycle, join_rows, score
from unaligned.savuc.trust import FEWEST_DIRECTIONS

__all__ = ["MOST_FACTORS", "assign_extremes", "couple_extremes"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

MOST_FACTORS = 12  # leading directions that are tried, at most
N_ASSIGNED = 16  # rows that are assigned: more than there are factors
N_AMONG = 100  # rows of the other view that they are assigned to
N_SETTLED = 800  # longest rows on which assignments are compared
N_CYCLES = 3  # before they are
TOLERANCE = 0.3  # of inner products, over their standard deviation
MOST_COST = 3.0  # of one number that does not agree: a row may lack its partner


def couple_extremes(
    geometries: tuple[Geometry, Geometry],
    whitened: tuple[Array, Array],
    settings: Settings,
) -> list[Array]:
    """Cross-correlations under the best assignments of the longest rows.

    The number of common factors is not known. So each number of leading directions is
    tried, from either view; a few cycles on the longest rows tell which of
    the assignments are best.
    """
    full = [whitened_rows(geometry.at_full_length()) for geometry in geometries]
    shape = whitened[0].shape[1], whitened[1].shape[1]
    fits = []
    most = min(MOST_FACTORS, *shape)
    for n_factors in range(FEWEST_DIRECTIONS, most + 1):  # fewer cannot be tested
        F, G = (rows[:, :n_factors] for rows in full)
        f, g = longest_first(F), longest_first(G)
        settling = join_rows(whitened[0][f[:N_SETTLED]], whitened[1][g[:N_SETTLED]])
        F, G = F[f[:N_AMONG]], G[g[:N_AMONG]]
        forward = assign_extremes(F[:N_ASSIGNED], G, settings.beam_width)
        backward = assign_extremes(G[:N_ASSIGNED], F, settings.beam_width)
        for pairs in (
            (F[: len(forward)], G[forward]),
            (F[backward], G[: len(backward)]),
        ):
            settled = rotation(*pairs, shape)
            for _ in range(N_CYCLES):
                settled = cycle(settled, settling, settings)
            fits.append((score(settled, settings), settled))
    fits.sort(key=lambda fit: -fit[0])
    return [cross for _, cross in fits[: settings.n_candidates]]


def rotation(one: Array, other: Array, shape: tuple[int, int]) -> Array:
    """Rotation of leading directions that takes rows nearest to their partners.

    It is a cross-correlation of ``shape``, zero beyond the leading directions. A few
    pairs determine a rotation; the mean of their products would be mostly noise.
    """
    left, _, right = np.linalg.svd(one.T @ other)
    cross = np.zeros(shape)
    cross[: len(left), : len(right)] = left @ right
    return cross


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
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.beam import extend_assignments

    m = len(other)
    products = other @ other.T
    lengths = np.sqrt(products.diagonal())
    apart = products[np.triu_indices(m, 1)]
    spread = TOLERANCE * float(apart.std() if m > 1 else 0) or 1.0
    scale = np.sqrt(2) * spread
    # A length is as uncertain as a product with a row of unit length.
    length_scale = scale / (np.median(lengths) or 1.0)
    differences = (np.linalg.norm(one, axis=1)[:, None] - lengths) / length_scale
    length_costs = np.minimum(differences**2, MOST_COST)
    wanted, products = one @ one.T / scale, products / scale
    wanted, products, length_costs = (
        table.astype(np.float32) for table in (wanted, products, length_costs)
    )
    assigned, costs = np.empty((1, 0), dtype=np.intp), np.zeros(1, dtype=np.float32)
    for i in range(min(len(one), m)):
        assigned, costs = extend_assignments(
            assigned,
            costs,
            length_costs[i],
            wanted[i, :i],
            products,
            np.float32(MOST_COST),
            beam_width,
        )
    return np.asarray(assigned[0], dtype=np.intp)
