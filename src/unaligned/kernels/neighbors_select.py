"""Compiled selection of the largest entries of every row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.lanes import compiled

__all__ = ["keep_largest"]


@compiled
def keep_largest(
    table: NDArray[Any],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    indices: NDArray[np.intp],
    values: NDArray[Any],
) -> None:
    """Enter a table of some rows and columns into lists of the largest entries.

    ``values`` of a row are in falling order, -inf where nothing was entered yet, and
    ``indices`` the columns that they belong to. Who came first wins a tie.
    """
    k = indices.shape[1]
    for i in range(table.shape[0]):
        row = rows[i]
        for j in range(table.shape[1]):
            value = table[i, j]
            # Almost every entry fails this one comparison.
            if value <= values[row, k - 1]:
                continue
            place = k - 1
            while place > 0 and values[row, place - 1] < value:
                values[row, place] = values[row, place - 1]
                indices[row, place] = indices[row, place - 1]
                place -= 1
            values[row, place] = value
            indices[row, place] = columns[j]
