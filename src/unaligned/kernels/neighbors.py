"""Nearest neighbours by inner product, without the table of all products."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
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
    rows : array of shape (n, m)
        Of NumPy, or on any device of torch; what comes back is of the same kind.
    columns : array of shape (n_columns, m)
    k : int
        At most ``n_columns``.

    Returns
    -------
    indices : array of shape (n, k)
    products : array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> indices, products = top_products(np.eye(2), np.array([[1.0, 3], [2, 1]]), 1)
    >>> indices.ravel(), products.ravel()
    (array([1, 0]), array([2., 3.]))
    """
    if not 1 <= k <= len(columns):
        raise ValueError(f"k={k} must be between 1 and the {len(columns)} columns.")
    xp, where = array_namespace(rows, columns), device(rows)
    dtype = xp.result_type(rows, columns)
    indices = xp.empty((len(rows), k), dtype=xp.int64, device=where)
    products = xp.empty((len(rows), k), dtype=dtype, device=where)
    select = _select_compiled if is_numpy_array(rows) else _select_by_sorting
    step = max(1, BLOCK_ENTRIES // len(columns))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        select(rows[block] @ columns.T, indices[block], products[block])
    return indices, products


def _select_compiled(table: Any, indices: Any, products: Any) -> None:
    """Write the largest entries of each row, looking at each entry once."""
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.neighbors_select import keep_largest

    keep_largest(table, indices, products)


def _select_by_sorting(table: Any, indices: Any, products: Any) -> None:
    """Do the same where a stable sort is all there is to say who wins a tie."""
    xp, k = array_namespace(table), indices.shape[1]
    largest = xp.argsort(table, axis=1, descending=True, stable=True)[:, :k]
    indices[:] = largest
    products[:] = xp.take_along_axis(table, largest, axis=1)
