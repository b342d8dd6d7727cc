"""Starts for few factors: rows far out that agree in lengths and inner products.

Where a few directions hold the variance and rows fill space evenly, centres of k-means
lie anywhere, and many couplings of them look alike. Rows far from the mean are few.
Whitened rows keep their lengths and inner products under rotation, so two pairs of rows
that are right agree in these numbers. A large set of pairs of which every two agree is
hardly found by chance. Rows without a partner are in none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry, spread_of
from unaligned.savuc.trust import FEWEST_DIRECTIONS

__all__ = ["MOST_FACTORS", "agreeing_sets", "couple_extremes"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

MOST_FACTORS = 12  # leading directions that are tried, at most
N_GROWN = 2000  # sets that are grown, from the pairs of most alike lengths
MOST_WORDS = 500_000_000  # looked at while sets are grown. Cost
TOLERANCE = 0.3  # of inner products that agree, over their standard deviation


def couple_extremes(
    geometries: tuple[Geometry, Geometry],
    shape: tuple[int, int],
    settings: Settings,
) -> list[Array]:
    """Cross-correlations of ``shape`` under sets of pairs that agree; largest first.

    The number of common factors is not known, so each number of leading directions is
    tried. The more there are, the larger are sets that agree by chance; what counts is
    how far a set exceeds the median of those that were grown.
    """
    full = [whitened_rows(geometry.at_full_length()) for geometry in geometries]
    found = []
    most = min(MOST_FACTORS, *shape)
    for n_factors in range(FEWEST_DIRECTIONS, most + 1):  # fewer cannot be tested
        F, G = (longest(rows[:, :n_factors], settings.n_longest) for rows in full)
        sets, usual = agreeing_sets(F, G, settings.n_candidates)
        for rows, partners in sets:
            cross = rotation(F[rows], G[partners], shape)
            found.append((len(rows) / usual, cross))
    found.sort(key=lambda each: -each[0])
    return [cross for _, cross in found[: settings.n_candidates]]


def rotation(one: Array, other: Array, shape: tuple[int, int]) -> Array:
    """Rotation of leading directions that takes rows nearest to their partners.

    It is a cross-correlation of ``shape``, zero beyond the leading directions. A few
    pairs determine a rotation; the mean of their products would be mostly noise.
    """
    left, _, right = np.linalg.svd(one.T @ other)
    cross = np.zeros(shape)
    cross[: len(left), : len(right)] = left @ right
    return cross


def longest(rows: Array, n: int) -> Array:
    """Give the longest rows, longest first."""
    order = np.argsort(-np.linalg.norm(rows, axis=1), kind="stable")
    chosen: Array = rows[order[:n]]
    return chosen


def whitened_rows(rows: Array) -> Array:
    """Rows with every direction centred and at unit variance."""
    whitened: Array = (rows - rows.mean(axis=0)) / spread_of(rows, 0.0)
    return whitened


def agreeing_sets(
    one: Array, other: Array, n_sets: int
) -> tuple[list[tuple[Indices, Indices]], float]:
    """Large sets of pairs of rows (i, j), of which every two agree.

    Pairs (i, j) and (k, l) agree if ⟨xᵢ, xₖ⟩ and ⟨yⱼ, yₗ⟩ differ by less than 0.3
    standard deviations of inner products. A pair is a candidate if its lengths agree,
    which are as uncertain as a product with a row of unit length.

    Returns
    -------
    sets : list of tuples
        Rows and their partners, largest set first, without those that have more than
        half of their pairs in common with a larger one.
    usual : float
        Median size of the sets that were grown.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.RandomState(0).normal(size=(30, 5))
    >>> turn = np.linalg.qr(np.random.RandomState(1).normal(size=(5, 5)))[0]
    >>> [(found, partners)], _ = agreeing_sets(rows, rows[::-1] @ turn, 1)
    >>> bool(np.all(found + partners == 29)), len(found)
    (True, 30)
    """
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.cliques import agreement_graph, greedy_cliques

    products = [np.asarray(rows @ rows.T, np.float32) for rows in (one, other)]
    lengths = [np.sqrt(table.diagonal()) for table in products]
    apart = [table[np.triu_indices(len(table), 1)] for table in products]
    tolerance = TOLERANCE * np.sqrt(np.mean([values.var() for values in apart]))
    differences = np.abs(lengths[0][:, None] - lengths[1])
    usual_length = np.median(np.concatenate(lengths)) or 1.0
    rows, partners = np.nonzero(differences < tolerance / usual_length)
    order = np.argsort(differences[rows, partners], kind="stable")
    rows, partners = rows[order], partners[order]
    graph = agreement_graph(*products, rows, partners, np.float32(tolerance))
    most = min(len(one), len(other))
    members, sizes = greedy_cliques(graph, N_GROWN, most, MOST_WORDS)
    chosen: list[set[int]] = []
    for at in np.argsort(-sizes, kind="stable"):
        found = set(members[at, : sizes[at]].tolist())
        if all(2 * len(found & larger) <= len(found) for larger in chosen):
            chosen.append(found)
        if len(chosen) == n_sets:
            break
    nodes = [np.sort(np.array([*found])) for found in chosen]
    sets = [(rows[at], partners[at]) for at in nodes]
    return sets, float(np.median(sizes)) if len(sizes) else 1.0
