"""Nearest rows of translated vectors."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows

__all__ = ["Neighbors", "nearest_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class Neighbors(NamedTuple):
    """Rows of the other space that are nearest to translated vectors."""

    rows: Indices
    """Numbers of the nearest rows, nearest first: (m, k)."""
    similarity: Array
    """Cosines of the centred vectors: (m, k)."""
    confidence: Array
    """Probability that the nearest row is the counterpart, if there is one: (m,)."""


def nearest_rows(moved: Array, rows: Array, center: Array, k: int) -> tuple[Any, Any]:
    """Find the rows of largest cosine with translated vectors, around a centre.

    Parameters
    ----------
    moved : ndarray of shape (m, e)
    rows : ndarray of shape (n, e)
        At unit length, around the same centre.
    center : ndarray of shape (e,)
    k : int

    Returns
    -------
    rows : ndarray of shape (m, k)
    similarity : ndarray of shape (m, k)
    """
    asked = unit_rows((moved - center).astype(np.float32))
    return top_products(asked, rows, k)
