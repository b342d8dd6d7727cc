"""Compiled loops over pairs of rows of two tables.

Array operations would copy both rows of every pair, or pass over all pairs a dozen
times where these loops do it twice.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.compiling import compiling

__all__ = ["pair_products", "pass_messages"]

Floats: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]

TINY = 1e-9  # share of a sum that is left where one term has taken all of it

# Sums in any order, so that they are taken in vector registers; no entry is NaN.
_compiled = compiling(fastmath={"reassoc", "nsz", "nnan"})


@_compiled
def pair_products(A: Floats, B: Floats, rows: Indices, columns: Indices) -> Floats:
    """Inner products of rows of A with rows of B, pair by pair."""
    products = np.empty(len(rows))
    for p in range(len(rows)):
        a, b = A[rows[p]], B[columns[p]]
        total = 0.0
        for d in range(len(a)):
            total += a[d] * b[d]
        products[p] = total
    return products


@_compiled
def pass_messages(
    weights: Floats,
    alone: Floats,
    starts: Indices,
    columns: Indices,
    n_columns: int,
    from_columns: Floats,
) -> tuple[Floats, float]:
    """One round of belief propagation among the one-to-one matchings of two sides.

    Parameters
    ----------
    weights : ndarray of shape (n_pairs,)
        Of pairs in the order of their rows.
    alone : ndarray of shape (n,)
        Weight of every row without a partner.
    starts : ndarray of shape (n + 1,)
        Where the pairs of every row begin, and where the last ones end.
    columns : ndarray of shape (n_pairs,)
    n_columns : int
    from_columns : ndarray of shape (n_pairs,)
        Messages of the last round, one over the claims of other rows on the column.

    Returns
    -------
    from_columns : ndarray of shape (n_pairs,)
    n_matched : float
        Number of rows with a partner, as is expected by these messages.
    """
    from_rows, claims = np.empty(len(weights)), np.ones(n_columns)
    for i in range(len(alone)):
        total = alone[i]
        for p in range(starts[i], starts[i + 1]):
            total += weights[p] * from_columns[p]
        for p in range(starts[i], starts[i + 1]):
            rest = total - weights[p] * from_columns[p]
            from_rows[p] = weights[p] / max(rest, TINY * total)
            claims[columns[p]] += from_rows[p]
    found, n_matched = np.empty(len(weights)), 0.0
    for i in range(len(alone)):
        total = 0.0
        for p in range(starts[i], starts[i + 1]):
            claimed = claims[columns[p]]
            found[p] = 1 / max(claimed - from_rows[p], TINY * claimed)
            total += weights[p] * found[p]
        n_matched += total / (total + alone[i])
    return found, n_matched
