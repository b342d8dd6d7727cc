"""One-to-one matchings of rows to columns by their inner products.

Both sides are points with the same coordinates (in practice: samples and their weights
on m anchors), so the greedy matching never needs the n × n table of scores.
"""

import warnings
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from unaligned.kernels import matching_candidates
from unaligned.kernels.blocks import row_blocks
from unaligned.kernels.devices import Steps, is_on_gpu, on_host, result_of
from unaligned.kernels.memory import available_bytes

__all__ = [
    "extend_in_steps",
    "extend_matching",
    "honour",
    "invert",
    "match_greedy",
    "match_optimal",
    "matching_confidence",
]

# Below so many rows the scan is as fast, and numba compiles it in a fifth of the time.
FEWEST_ROWS_FOR_TREE = 4096
# Rows that look at this share of the tree's leaves are better off with a scan, or with
# blocks where these are better than a scan.
PATIENCE, PATIENCE_BEFORE_BLOCKS = 0.5, 0.15


def match_greedy(
    rows: NDArray[Any], columns: NDArray[Any], order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Give each row, in turn, the free column with the largest inner product.

    The answer is that of the literal loop in float64, where the smallest column wins a
    tie. Non-negative sparse points are searched by branch and bound, in about
    ``n**1.35`` steps instead of ``n**2``; dense ones are scored a block of rows at a
    time. Memory is linear in the input.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        Any finite values; fast where they are non-negative and mostly zero.
    columns : ndarray of shape (n_columns, m)
        Likewise, with at least as many columns as rows.
    order : ndarray of shape (n,), optional
        A permutation of the rows: who chooses first. As they come, if not given.

    Returns
    -------
    ndarray of shape (n,)
        The column of each row; no two rows share one.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.6, 0.4], [1.0, 0.0]])
    >>> columns = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> match_greedy(rows, columns)
    array([1, 0])
    >>> match_greedy(rows, columns, order=np.array([1, 0]))
    array([0, 1])
    """
    rows, columns = _check(rows, columns)
    all_rows = np.arange(len(rows))
    order = all_rows if order is None else np.ascontiguousarray(order, dtype=np.intp)
    if not np.array_equal(np.sort(order), all_rows):
        raise ValueError(f"order must be a permutation of the {len(rows)} rows.")
    # Here and not above: numba takes a second to import, and most never match.
    from unaligned.kernels import matching_blocks, matching_tree

    taken = np.zeros(len(columns), dtype=np.bool_)
    column_of_row = np.full(len(rows), -1, dtype=np.intp)
    answer = taken, column_of_row
    if len(rows) >= FEWEST_ROWS_FOR_TREE and rows.shape[1] > 0:
        dense = _is_dense(rows)
        # The tree's bounds hold for non-negative points only.
        if rows.min() >= 0.0 and columns.min() >= 0.0:
            near = matching_tree.arrange(columns)
            patience = PATIENCE_BEFORE_BLOCKS if dense else PATIENCE
            n_matched = matching_tree.match_by_tree(
                rows, columns, order, near, patience, *answer
            )
            order = order[n_matched:]
        if dense:
            n_matched = matching_blocks.match_by_blocks(rows, columns, order, *answer)
            order = order[n_matched:]
    matching_tree.match_by_scan(rows, columns, order, *answer)
    return column_of_row


def _is_dense(rows: NDArray[Any]) -> bool:
    """Whether it is cheaper to multiply by the zeros of the rows than to skip them.

    BLAS takes a sixth of the time of the scan for a coordinate, but writes all scores
    to memory, which is worth eight coordinates.
    """
    n, m = rows.shape
    return bool(np.count_nonzero(rows) > n * (8 + m / 6))


def match_optimal(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.intp]:
    """Match one to one with the largest total inner product.

    The answer is exact while the n × n_columns table of scores fits into the free
    memory. Beyond that there is a warning, and every row is matched to one of a few
    candidates: better than `match_greedy`, and nearly optimal.

    Parameters
    ----------
    rows, columns : ndarray of shape (n, m) and (n_columns, m), n_columns ≥ n

    Returns
    -------
    ndarray of shape (n,)
        The column of each row.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.6, 0.4], [1.0, 0.0]])
    >>> match_optimal(rows, columns=np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([0, 1])
    """
    rows, columns = _check(rows, columns)
    # Twice, for SciPy minimises and so works on a copy with the signs changed.
    needed, free = 2 * len(rows) * len(columns) * rows.itemsize, available_bytes()
    if needed > free:
        warnings.warn(
            f"The optimal matching of {len(rows):,} rows to {len(columns):,} columns "
            f"needs {needed / 1e9:,.1f} GB for its table of scores, and "
            f"{free / 1e9:,.1f} GB are available. Each row is matched to one of "
            f"{matching_candidates.CANDIDATES} candidates instead, which is nearly "
            'optimal. matching="greedy" is faster and needs no table, either.',
            stacklevel=2,
        )
        greedy = match_greedy(rows, columns)
        return matching_candidates.match_among_candidates(rows, columns, greedy)
    chosen: NDArray[np.intp] = linear_sum_assignment(rows @ columns.T, maximize=True)[1]
    return chosen


def extend_matching(
    rows: NDArray[Any],
    columns: NDArray[Any],
    known: tuple[NDArray[np.intp], NDArray[np.intp]],
    *,
    method: str,
    order: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Match the rows that have no known column; return the row of every column.

    Parameters
    ----------
    rows, columns : array of shape (n, m)
        Of NumPy or, like all that follows, tensors of torch on one device.
    known : tuple of array of int
        Rows and the columns they are known to belong to. They stay together.
    method : {"greedy", "optimal"}
        How the others are matched: `match_greedy`, on a GPU by kernels of its own with
        the same answer; or `match_optimal`, on the CPU in any case.
    order : array of shape (n,), optional
        A permutation of the rows: who chooses first. As they come, if not given.

    Returns
    -------
    array of shape (n,)
        A permutation of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.eye(3)
    >>> known = np.array([0]), np.array([2])  # row 0 belongs to column 2
    >>> extend_matching(points, points, known, method="optimal")
    array([2, 1, 0])
    """
    return result_of(extend_in_steps(rows, columns, known, method=method, order=order))


def extend_in_steps(
    rows: NDArray[Any],
    columns: NDArray[Any],
    known: tuple[NDArray[np.intp], NDArray[np.intp]],
    *,
    method: str,
    order: NDArray[np.intp] | None = None,
) -> Steps[NDArray[np.intp]]:
    """`extend_matching` in steps, for several of them side by side on a GPU."""
    xp, where = array_namespace(rows), device(rows)
    known_rows, known_columns = known
    if order is None:
        order = xp.arange(len(rows), device=where)
    row_of_column: NDArray[np.intp] = xp.zeros_like(order)
    if len(known_rows) == 0:
        partner = yield from _match_in_turn(rows[order], columns, method)
        row_of_column[partner] = order
        return row_of_column
    free = _less(order, known_rows)
    free_columns = _less(xp.arange(len(columns), device=where), known_columns)
    partner = yield from _match_in_turn(rows[free], columns[free_columns], method)
    row_of_column[known_columns] = known_rows
    row_of_column[free_columns[partner]] = free
    return row_of_column


def honour(
    row_of_column: NDArray[np.intp],
    known: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> NDArray[np.intp]:
    """Bring known partners together in a permutation.

    Entry s is the row beside column s. Rows that are no known partners keep their
    sequence.

    Parameters
    ----------
    row_of_column : array of shape (n,)
        Of NumPy or, like ``known``, a tensor of torch on any device.
    known : tuple of array of int
        Rows and the columns they belong to.

    Examples
    --------
    >>> import numpy as np
    >>> honour(np.array([3, 2, 0, 1]), (np.array([1]), np.array([0])))
    array([1, 3, 2, 0])
    """
    rows, columns = known
    if len(rows) == 0:
        return row_of_column
    xp, where = array_namespace(row_of_column), device(row_of_column)
    honoured: NDArray[np.intp] = xp.empty_like(row_of_column)
    honoured[columns] = rows
    free = _less(xp.arange(len(row_of_column), device=where), columns)
    honoured[free] = _less(row_of_column, rows)
    return honoured


def _less(numbers: NDArray[np.intp], known: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of a permutation's numbers that are not known, in their sequence."""
    xp = array_namespace(numbers)
    is_known = xp.zeros_like(numbers, dtype=xp.bool)
    is_known[known] = xp.ones_like(known, dtype=xp.bool)
    # Sorted, not picked by a mask: so a GPU need not be asked how many they are.
    unknown_first = xp.argsort(is_known[numbers], stable=True)
    rest: NDArray[np.intp] = numbers[unknown_first[: len(numbers) - len(known)]]
    return rest


def _match_in_turn(
    rows: NDArray[Any], columns: NDArray[Any], method: str
) -> Steps[NDArray[np.intp]]:
    """Column of each row, on the device where the rows are."""
    if method == "greedy" and is_on_gpu(rows):
        from unaligned.kernels import matching_cuda

        found: NDArray[np.intp] = yield from matching_cuda.match_in_turn(rows, columns)
        return found
    match = {"greedy": match_greedy, "optimal": match_optimal}[method]
    matched: NDArray[np.intp] = array_namespace(rows).asarray(
        match(on_host(rows), on_host(columns)), device=device(rows)
    )
    return matched


def matching_confidence(
    rows: NDArray[Any],
    columns: NDArray[Any],
    row_of_column: NDArray[np.intp],
    known_columns: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Score of every match over the sum of its row's scores, in [0, 1].

    The sum is over all columns that were free to be chosen. One means that no other
    column had a score; 1/c that c columns are as good. Columns whose row was known
    beforehand have one.

    Parameters
    ----------
    rows, columns : ndarray of shape (n, m)
        Non-negative points.
    row_of_column : ndarray of shape (n,)
    known_columns : ndarray of int

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> matching_confidence(points, points, np.arange(3), np.array([], dtype=int))
    array([1. , 0.5, 0.5])
    """
    free = np.ones(len(columns), dtype=np.bool_)
    free[known_columns] = False
    rivals = np.zeros(columns.shape[1])
    for block in row_blocks(columns):
        rivals += columns[block][free[block]].sum(axis=0, dtype=np.float64)
    confidence = np.ones(len(columns))
    for block in row_blocks(columns):
        matched = rows[row_of_column[block]]
        hit = np.einsum("sh,sh->s", matched, columns[block], dtype=np.float64)
        total = matched @ rivals
        share = np.divide(hit, total, out=np.zeros(len(hit)), where=total > 0)
        confidence[block] = np.where(free[block], np.minimum(share, 1.0), 1.0)
    return confidence


def invert(column_of_row: NDArray[np.intp], n_columns: int) -> NDArray[np.intp]:
    """Row of each column in a one-to-one matching, -1 where a column has none.

    Rows without a column (-1) may be among them.

    Examples
    --------
    >>> import numpy as np
    >>> invert(np.array([2, 0]), n_columns=3)
    array([ 1, -1,  0])
    """
    row_of_column = np.full(n_columns, -1, dtype=np.intp)
    matched = np.flatnonzero(column_of_row >= 0)
    row_of_column[column_of_row[matched]] = matched
    return row_of_column


def _check(
    rows: NDArray[Any], columns: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both sides as contiguous float64, or say what is wrong with them."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    if rows.ndim != 2 or columns.ndim != 2 or rows.shape[1] != columns.shape[1]:
        shapes = f"{rows.shape} and {columns.shape}"
        raise ValueError(
            f"rows and columns must share their coordinates, not {shapes}."
        )
    if len(rows) > len(columns):
        raise ValueError(f"{len(rows)} rows cannot share {len(columns)} columns.")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(_largest(rows) * _largest(columns) * rows.shape[1])
    if not finite:  # NaN, an infinity, or scores that would overflow
        raise ValueError("rows and columns and their products must be finite.")
    return rows, columns


def _largest(points: NDArray[np.float64]) -> Any:
    """Largest size of an entry, without a copy of them all; NaN if one of them is."""
    return np.maximum(points.max(initial=0.0), -points.min(initial=0.0))
