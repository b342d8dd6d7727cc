"""Compiled selection of the largest entries of every row."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["keep_largest"]


@njit(cache=True, nogil=True)
def keep_largest(
    table: NDArray[Any], indices: NDArray[np.intp], values: NDArray[Any]
) -> None:
    """Write the largest entries of each row of a table, largest first."""
    k = indices.shape[1]
    for row in range(table.shape[0]):
        kept = 0
        for column in range(table.shape[1]):
            value = table[row, column]
            # Almost every entry fails this one comparison.
            if kept == k and value <= values[row, k - 1]:
                continue
            place = kept if kept < k else k - 1
            while place > 0 and values[row, place - 1] < value:
                values[row, place] = values[row, place - 1]
                indices[row, place] = indices[row, place - 1]
                place -= 1
            values[row, place] = value
            indices[row, place] = column
            kept = min(kept + 1, k)
