"""How typical a vector is: the rank of a figure of it among those of known vectors.

Of known vectors, the share is counted whose figure is as extreme or more, the new
vector itself included. For a vector that is drawn like the known ones every share is
equally likely (a conformal p-value); one more extreme than all n has 1 / (n + 1).

The figure here is the distance to the nearest row of a space. The translator ranks the
score of the nearest row in the other space in the same way.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.neighbors import top_products

__all__ = ["UNTYPICAL", "Surroundings", "share_as_large", "surroundings_of"]

Array = NDArray[Any]

UNTYPICAL = 0.05  # share of known vectors that may be called unlike the rest. Custom


def share_as_large(values: Array, known: Array) -> Array:
    """Give the share of known values that are as large as each value, or larger.

    Parameters
    ----------
    values : ndarray of shape (m,)
    known : ndarray of shape (n,)
        Sorted. Each value is counted as one of them, too.

    Examples
    --------
    >>> share_as_large(np.array([0.0, 2.5, 9.0]), np.array([1.0, 2.0, 3.0]))
    array([1.  , 0.5 , 0.25])
    """
    n_smaller = np.searchsorted(known, values, side="left")
    return np.asarray((len(known) - n_smaller + 1) / (len(known) + 1))


class Surroundings(NamedTuple):
    """Rows of a space, and how far each is from the nearest other one."""

    rows: Array
    """Around the center, in float32: (n, d)."""
    center: Array
    distances: Array
    """Sorted: (n,)."""

    def typical(self, X: Array) -> Array:
        """Give the share of rows that are as far from the others as each vector.

        Parameters
        ----------
        X : ndarray of shape (m, d)

        Returns
        -------
        ndarray of shape (m,)
        """
        vectors = (X - self.center).astype(np.float32)
        _, distances = _nearest(vectors, self.rows, 1)
        return share_as_large(distances[:, 0], self.distances)


def surroundings_of(X: Array, center: Array) -> Surroundings:
    """Measure how far each row of a space is from the nearest other one.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of a space, or some of them. Equal rows count once.
    center : ndarray of shape (d,)

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> surroundings_of(X, np.zeros(1)).distances
    array([1., 1., 2.], dtype=float32)
    """
    rows = np.unique((X - center).astype(np.float32), axis=0)
    if len(rows) == 1:
        return Surroundings(rows, center, np.zeros(1, dtype=np.float32))
    nearest, distances = _nearest(rows, rows, 2)
    # By rounding, a row that is nearly the same may come before the row itself.
    other = np.where(nearest[:, 0] == np.arange(len(rows)), 1, 0)
    own = np.take_along_axis(distances, other[:, None], axis=1)[:, 0]
    return Surroundings(rows, center, np.sort(own))


def _nearest(vectors: Array, rows: Array, k: int) -> tuple[Array, Array]:
    """Find the k rows nearest to vectors, and their distances."""
    # |x − y|² = |x|² − 2 (x·y − |y|² / 2): one column more makes it an inner product.
    asked = np.column_stack([vectors, np.ones(len(vectors), dtype=np.float32)])
    squares = np.sum(rows**2, axis=1)
    found, _ = top_products(asked, np.column_stack([rows, -squares / 2]), k)
    apart = [np.linalg.norm(vectors - rows[found[:, i]], axis=1) for i in range(k)]
    return found, np.column_stack(apart)
