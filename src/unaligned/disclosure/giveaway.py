"""Which columns identify rows.

Suppose that an attacker knows from other rows how the columns of both tables relate.
Ridge regression predicts each released row from the original one, with its own pair
left out. The released row nearest to the prediction is taken, with every column divided
by its error. How many rows are found in this way, and how many without a column?

If the right rows are not known, matches are used instead, weighted by confidence.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import standardize
from unaligned.savuc.bridge_regression import fit_ridge

__all__ = ["Giveaway", "find_giveaway"]

Array = NDArray[Any]

N_ROWS = 2000  # that are compared with each other. Cost
N_BLOCK = 500  # of them at a time
TINY = 1e-9


class Giveaway(NamedTuple):
    """How far each released column identifies rows."""

    linked: float
    """Share of rows that are found with all columns."""
    explained: Array
    """Share of variance of every released column that the original explains."""
    without: Array
    """Share of rows found without the column."""
    n_rows: int
    """Number of rows that were compared."""


def find_giveaway(
    original: Array, released: Array, weights: Array, rng: np.random.RandomState
) -> Giveaway:
    """Find rows by a regression, with all columns and without each of them.

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
        # Squared distances, up to a constant for each row of the table.
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
