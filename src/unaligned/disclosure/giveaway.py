"""The columns that give rows away.

Suppose that an attacker knows how the columns of both tables relate, from other rows:
ridge regression says what each released row should hold, with its own pair left out,
and the row whose numbers are nearest, each column over its error, is taken for it. How
many rows are found so, and how many without a column?

Where the right rows are not known, matches stand for them, each by its confidence.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import standardize
from unaligned.savuc.bridge_regression import fit_ridge

__all__ = ["Giveaway", "find_giveaway"]

Array = NDArray[Any]

N_ROWS = 2000  # that are looked up among each other. Cost
N_BLOCK = 500  # of them at a time
TINY = 1e-9


class Giveaway(NamedTuple):
    """What each released column tells of rows."""

    linked: float
    """Share of rows that are found, each by itself."""
    explained: Array
    """Share of variance of every released column that the original explains."""
    without: Array
    """Share of rows found without the column."""
    n_rows: int
    """Rows that were looked up among each other."""


def find_giveaway(
    original: Array, released: Array, weights: Array, rng: np.random.RandomState
) -> Giveaway:
    """Look rows up by what a regression says of them, with each column and without.

    Parameters
    ----------
    original, released : ndarray of shape (p, d) and (p, e)
        Pairs of rows.
    weights : ndarray of shape (p,)
        How much each pair counts.
    rng : RandomState

    Returns
    -------
    Giveaway
    """
    chosen = rng.permutation(len(original))[:N_ROWS]
    X, Y = (
        standardize(np.asarray(rows[chosen], dtype=np.float64))
        for rows in (original, released)
    )
    fitted = fit_ridge(X, Y, np.maximum(weights[chosen], TINY))
    scale = np.sqrt(np.maximum(fitted.variance, TINY))
    expected, there = fitted.left_out / scale, Y / scale
    hits, without = 0, np.zeros(Y.shape[1])
    for start in range(0, len(Y), N_BLOCK):
        own = np.arange(start, min(start + N_BLOCK, len(Y)))
        # Squared distances, up to what is the same for all rows of a line.
        far = np.sum(there**2, axis=1) - 2 * expected[own] @ there.T
        hits += np.sum(far.argmin(axis=1) == own)
        for column in range(Y.shape[1]):
            part = there[:, column] - 2 * expected[own, column, None]
            rest = far - there[:, column] * part
            without[column] += np.sum(rest.argmin(axis=1) == own)
    explained = 1 - fitted.variance / np.maximum(fitted.total, TINY)
    return Giveaway(
        float(hits / len(Y)), np.maximum(explained, 0), without / len(Y), len(Y)
    )
