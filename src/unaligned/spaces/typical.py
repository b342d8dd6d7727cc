"""How typical a vector is of a space, by its distance to the nearest row."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.calibration import share_as_large
from unaligned.kernels.neighbors import top_products

__all__ = ["Surroundings", "surroundings_of"]

Array = NDArray[Any]


class Surroundings(NamedTuple):
    """Rows of a space, and the distance of each to the nearest other one."""

    rows: Array
    """Around the center, in float32: (n, d)."""
    center: Array
    distances: Array
    """Sorted: (n,)."""

    def typical(self, X: Array) -> Array:
        """Share of rows that are as far from the others as each vector is.

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
    """Measure the distance of each row of a space to the nearest other one.

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
