"""Nearest rows of translated vectors, less those that are near to everything.

In many dimensions some rows are among the nearest of a great many vectors (hubs). So a
row's closeness to a vector counts less, the closer the row is to vectors in general:
cross-domain similarity local scaling (CSLS; Conneau and others, 2018), by which the
score of row y for vector x is cos(x, y) − r(y) / 2, with r(y) the mean cosine of y and
the ten translated vectors nearest to it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import row_blocks, unit_rows

__all__ = ["Neighbors", "RowIndex", "index_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_CROWD = 10  # vectors near to a row that say how crowded it is there. Custom
N_SAMPLED = 5000  # vectors that are looked at for that. Cost


class Neighbors(NamedTuple):
    """Rows of the other space that are nearest to translated vectors."""

    rows: Indices
    """Numbers of the nearest rows, best score first: (m, k)."""
    similarity: Array
    """Cosines of the centred vectors: (m, k)."""
    confidence: Array
    """Probability that the nearest row is the counterpart: (m,)."""
    typical: Array
    """Share of the vectors that the map was learned from that are as far from their
    nearest row in the first space, or found with as low a score in the second; the
    smaller of both. Below 0.05 confidence is reduced: (m,)."""


class RowIndex(NamedTuple):
    """Rows of a space, ready to be looked up."""

    rows: Array
    """At unit length around the centre, in float32: (n, e)."""
    center: Array
    crowding: Array
    """Mean cosine of each row and the vectors nearest to it: (n,)."""

    def nearest(self, moved: Array, k: int) -> tuple[Indices, Array]:
        """Find the rows of best score, and their scores.

        Parameters
        ----------
        moved : ndarray of shape (m, e)
            Translated vectors.
        k : int

        Returns
        -------
        rows : ndarray of shape (m, k)
        scores : ndarray of shape (m, k)
        """
        asked = unit_rows((moved - self.center).astype(np.float32))
        # One column more makes the score an inner product.
        asked = np.column_stack([asked, np.ones(len(asked), dtype=np.float32)])
        return top_products(asked, np.column_stack([self.rows, -self.crowding / 2]), k)

    def similarity(self, rows: Indices, scores: Array) -> Array:
        """Give the cosines that scores were made of."""
        cosines: Array = scores + self.crowding[rows] / 2
        return cosines


def index_rows(Y: Array, center: Array, moved: Array) -> RowIndex:
    """Make the rows of a space ready.

    Parameters
    ----------
    Y : ndarray of shape (n, e)
        It may be mapped from a file.
    center : ndarray of shape (e,)
    moved : ndarray of shape (m, e)
        Translated vectors, of which at most `N_SAMPLED` are needed.
    """
    rows = np.concatenate(
        [unit_rows((Y[block] - center).astype(np.float32)) for block in row_blocks(Y)]
    )
    vectors = unit_rows((moved - center).astype(np.float32))
    _, cosines = top_products(rows, vectors, min(N_CROWD, len(vectors)))
    return RowIndex(rows, center, cosines.mean(axis=1))
