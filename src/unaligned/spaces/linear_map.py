"""A linear map between two spaces, learned from pairs of rows by ridge regression.

Only sums over rows are kept, so spaces may be far larger than memory. With rows
weighted by w and centred, the slopes are (XᵀWX + λI)⁻¹ XᵀWY. One eigendecomposition of
XᵀWX serves all λ, and the one of least error on pairs that were held out is taken.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import row_blocks
from unaligned.savuc.bridge_regression import PENALTIES

__all__ = ["LinearMap", "Moments", "choose_penalty", "moments_of", "solve"]

Array = NDArray[Any]

TINY = 1e-12


class Moments(NamedTuple):
    """Weighted sums over pairs of rows, relative to an origin."""

    origin: tuple[Array, Array]
    """Origin of each space: near its mean, for precision."""
    weight: float
    x: Array
    y: Array
    xx: Array
    xy: Array

    def __add__(self, other: Any) -> "Moments":
        """Add the sums of two sets of pairs."""
        parts = zip(self[1:], other[1:], strict=True)
        return Moments(self.origin, *(one + two for one, two in parts))


class LinearMap(NamedTuple):
    """Linear map from rows of one space to rows of another."""

    slopes: Array
    mean: Array
    """Mean of the rows of the first space."""
    target_mean: Array

    def apply(self, X: Array) -> Array:
        """Translate rows."""
        moved = (X - self.mean).astype(np.float32) @ self.slopes + self.target_mean
        return np.asarray(moved, dtype=np.float32)


def moments_of(
    X: Array, Y: Array, pairs: Array, weights: Array, origin: tuple[Array, Array]
) -> Moments:
    """Add up pairs of rows, block after block.

    Parameters
    ----------
    X, Y : ndarray of shape (n, d) and (m, e)
        They may be mapped from files.
    pairs : ndarray of shape (p, 2)
        Rows of X and rows of Y.
    weights : ndarray of shape (p,)
    origin : tuple of two ndarray
        Taken from the rows of X and of Y.

    Examples
    --------
    >>> X, pairs = np.array([[1.0], [2.0]]), np.array([[0, 0], [1, 1]])
    >>> moments_of(X, 3 * X, pairs, np.ones(2), (np.zeros(1), np.zeros(1))).xy
    array([[15.]])
    """
    d, e = X.shape[1], Y.shape[1]
    sums = np.zeros(d), np.zeros(e), np.zeros((d, d)), np.zeros((d, e))
    total = Moments(origin, 0.0, *sums)
    # In the order of X, so that files are read page by page.
    order = np.argsort(pairs[:, 0], kind="stable")
    for block in row_blocks(X):
        at = order[block]
        if not len(at):
            break
        w = weights[at][:, None].astype(np.float32)
        x, y = (
            (rows[pairs[at, side]] - origin[side]).astype(np.float32)
            for side, rows in enumerate((X, Y))
        )
        total += Moments(
            origin,
            float(w.sum()),
            (w * x).sum(axis=0, dtype=np.float64),
            (w * y).sum(axis=0, dtype=np.float64),
            (x.T @ (w * x)).astype(np.float64),
            (x.T @ (w * y)).astype(np.float64),
        )
    return total


def solve(moments: Moments, penalties: tuple[float, ...]) -> list[LinearMap]:
    """Fit a map for each penalty, relative to the mean sum of squares of a column.

    Infinity gives the mean of Y for all rows.
    """
    origin, weight, x, y, xx, xy = moments
    mean, target_mean = x / weight, y / weight
    values, vectors = np.linalg.eigh(xx - weight * np.outer(mean, mean))
    values = np.maximum(values, 0)
    onto = vectors.T @ (xy - weight * np.outer(mean, target_mean))
    unit = max(float(values.mean()), TINY)
    means = origin[0] + mean, origin[1] + target_mean
    return [
        LinearMap((vectors @ shrunk).astype(np.float32), *means)
        for shrunk in (onto / (values + p * unit + TINY)[:, None] for p in penalties)
    ]


def choose_penalty(
    moments: Moments, X: Array, Y: Array, weights: Array
) -> tuple[float, LinearMap, float]:
    """Take the penalty of least squared error on rows that were held out.

    Parameters
    ----------
    moments : Moments
        Of the training pairs.
    X, Y : ndarray of shape (p, d) and (p, e)
        Held-out pairs: row r of X belongs to row r of Y.
    weights : ndarray of shape (p,)

    Returns
    -------
    penalty : float
        Infinity if none is better than the mean.
    fitted : LinearMap
    quality : float
        Share of the variance of Y explained: R², at least 0.
    """
    tried = (*PENALTIES, np.inf)
    maps = solve(moments, tried)
    errors = [
        float(weights @ ((fitted.apply(X) - Y) ** 2).sum(axis=1)) for fitted in maps
    ]
    best = int(np.argmin(errors))
    quality = 1 - errors[best] / max(errors[-1], TINY)
    return tried[best], maps[best], max(quality, 0.0)
