"""Nearest neighbours by inner product, without the table of all products."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["top_products"]

BLOCK_ENTRIES = 2**22  # of the table of products at a time


def top_products(
    rows: NDArray[Any], columns: NDArray[Any], k: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """For every row, the k columns of largest inner product, largest first.

    Ties go to the smaller column. Memory is linear in the input.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
    columns : ndarray of shape (n_columns, m)
    k : int
        At most ``n_columns``.

    Returns
    -------
    indices : ndarray of shape (n, k)
    products : ndarray of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> indices, products = top_products(np.eye(2), np.array([[1.0, 3], [2, 1]]), 1)
    >>> indices.ravel(), products.ravel()
    (array([1, 0]), array([2., 3.]))
    """
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.neighbors_select import keep_largest

    if not 1 <= k <= len(columns):
        raise ValueError(f"k={k} must be between 1 and the {len(columns)} columns.")
    indices = np.empty((len(rows), k), dtype=np.intp)
    products = np.empty((len(rows), k), dtype=np.result_type(rows, columns))
    step = max(1, BLOCK_ENTRIES // len(columns))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        table = rows[block] @ columns.T
        keep_largest(table, indices[block], products[block])
    return indices, products
