"""Nearest rows of translated vectors, with a correction for hubs.

In many dimensions some rows are among the nearest of very many vectors (hubs). So the
mean similarity of a row to vectors is subtracted from its similarity to one vector:
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

N_CROWD = 10  # vectors near a row whose mean similarity is subtracted. Custom
N_SAMPLED = 5000  # vectors that these are looked for among. Cost


class Neighbors(NamedTuple):
    """Rows of the second space that are nearest to translated vectors."""

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
    """Rows of a space, prepared for lookup."""

    rows: Array
    """Centred rows at unit length, in float32: (n, e)."""
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
        # With one more column the score is an inner product.
        asked = np.column_stack([asked, np.ones(len(asked), dtype=np.float32)])
        return top_products(asked, np.column_stack([self.rows, -self.crowding / 2]), k)

    def similarity(self, rows: Indices, scores: Array) -> Array:
        """Compute the cosines from the scores."""
        cosines: Array = scores + self.crowding[rows] / 2
        return cosines


def index_rows(Y: Array, center: Array, moved: Array) -> RowIndex:
    """Prepare the rows of a space for lookup.

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
