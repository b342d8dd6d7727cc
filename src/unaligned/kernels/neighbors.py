"""Nearest neighbours by inner product, without the table of all products.

`top_products` is exact, and looks at all products. `likely_top_products` looks at few.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from unaligned.kernels.scaling import unit_rows

__all__ = ["likely_top_products", "top_products"]

BLOCK_ENTRIES = 2**22  # of the table of products at a time
MOST_COLUMNS = 2**16  # of it: with more, few rows at a time read all columns again
N_SEEN = 32  # cells whose columns a row is compared with
N_LLOYD = 3  # steps that move the centres of cells among their columns


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
    indices = xp.zeros((len(rows), k), dtype=xp.int64, device=where)
    products = xp.full((len(rows), k), -xp.inf, dtype=dtype, device=where)
    on_host = is_numpy_array(rows)
    select = _select_compiled if on_host else _select_by_sorting
    width = min(len(columns), MOST_COLUMNS) if on_host else len(columns)
    step = max(1, BLOCK_ENTRIES // width)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        for first in range(0, len(columns), width):
            table = rows[block] @ columns[first : first + width].T
            select(table, indices[block], products[block], first)
    return indices, products


def _select_compiled(table: Any, indices: Any, products: Any, first: int) -> None:
    """Enter the largest entries of each row, looking at each entry once.

    The columns of the table are those from ``first`` on.
    """
    if indices.shape[1] == 1:
        found = table.argmax(axis=1)[:, None]
        values = np.take_along_axis(table, found, axis=1)
        better = values > products
        indices[better], products[better] = first + found[better], values[better]
        return
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.neighbors_select import keep_largest

    n, n_columns = table.shape
    numbers = np.arange(first, first + n_columns)
    keep_largest(table, np.arange(n), numbers, indices, products)


def _select_by_sorting(table: Any, indices: Any, products: Any, _: int) -> None:
    """Do the same where a stable sort is all there is to say who wins a tie."""
    xp, k = array_namespace(table), indices.shape[1]
    largest = xp.argsort(table, axis=1, descending=True, stable=True)[:, :k]
    indices[:] = largest
    products[:] = xp.take_along_axis(table, largest, axis=1)


def likely_top_products(
    rows: NDArray[Any], columns: NDArray[Any], k: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """`top_products` of rows of unit length in time n^1.5, nearly all of them right.

    Columns are dealt out to the nearest of √n centres, and a row is compared with those
    of the few cells whose centres are nearest to it.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
    columns : ndarray of shape (n_columns, m)
    k : int
        At most ``n_columns``.

    Returns
    -------
    indices, products : ndarray of shape (n, k)
    """
    from unaligned.kernels.neighbors_select import keep_largest

    centers = _draw_centers(columns)
    cells = _Cells(top_products(columns, centers, 1)[0][:, 0], len(centers))
    columns_by_cell = columns[cells.members]
    indices = np.zeros((len(rows), k), dtype=np.int64)
    products = np.full((len(rows), k), -np.inf, np.result_type(rows, columns))
    seen = top_products(rows, centers, min(N_SEEN, len(centers)))[0]
    for nearest in seen.T:
        asking = _Cells(nearest, len(centers))
        for cell in range(len(centers)):
            there, members = cells[cell], cells.members[cells[cell]]
            step = max(1, BLOCK_ENTRIES // max(1, len(members)))
            for start in range(asking[cell].start, asking[cell].stop, step):
                some = asking.members[start : min(start + step, asking[cell].stop)]
                table = rows[some] @ columns_by_cell[there].T
                keep_largest(table, some, members, indices, products)
    # Where cells are of very different size, some rows have seen too few columns.
    short = np.flatnonzero(products[:, -1] == -np.inf)
    if short.size:
        indices[short], products[short] = top_products(rows[short], columns, k)
    return indices, products


class _Cells:
    """Who is in which cell: ``members[cells[c]]`` are those of cell c."""

    def __init__(self, cell_of: NDArray[np.intp], n_cells: int) -> None:
        self.members = np.argsort(cell_of, kind="stable")
        self._ends = np.cumsum(np.bincount(cell_of, minlength=n_cells)).tolist()

    def __getitem__(self, cell: int) -> slice:
        return slice(self._ends[cell - 1] if cell else 0, self._ends[cell])


def _draw_centers(columns: NDArray[Any]) -> NDArray[Any]:
    """√n centres of unit length, found among some of the columns."""
    n_cells = int(np.sqrt(len(columns)))
    drawn = np.random.RandomState(0).permutation(len(columns))[: 30 * n_cells]
    sample = columns[drawn]
    centers = sample[:n_cells]
    for _ in range(N_LLOYD):
        cells = _Cells(top_products(sample, centers, 1)[0][:, 0], n_cells)
        sums = [sample[cells.members[cells[c]]].sum(axis=0) for c in range(n_cells)]
        moved = unit_rows(np.array(sums))
        centers = np.where(np.linalg.norm(moved, axis=1)[:, None] > 0, moved, centers)
    return centers
