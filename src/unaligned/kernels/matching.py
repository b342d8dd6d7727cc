"""One-to-one matchings of rows to columns by their inner products.

Both sides are points with the same coordinates (in practice: samples and their weights
on m anchors), so the greedy matching never needs the n × n table of scores.
"""

import os
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

__all__ = ["available_bytes", "invert", "match_greedy", "match_optimal"]

# Below so many rows the scan is as fast, and numba compiles it in a fifth of the time.
FEWEST_ROWS_FOR_TREE = 4096
# Rows that look at this share of the tree's leaves are better off without the tree.
PATIENCE = 0.5


def match_greedy(
    rows: NDArray[Any], columns: NDArray[Any], order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Give each row, in turn, the free column with the largest inner product.

    The answer is that of the literal loop in float64, where the smallest column wins a
    tie. Non-negative sparse points are searched by branch and bound, in about
    ``n**1.35`` steps instead of ``n**2``. Memory is linear in the input.

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
    everyone = np.arange(len(rows))
    order = everyone if order is None else np.ascontiguousarray(order, dtype=np.intp)
    if not np.array_equal(np.sort(order), everyone):
        raise ValueError(f"order must be a permutation of the {len(rows)} rows.")
    # Here and not above: numba takes a second to import, and most never match.
    from unaligned.kernels import matching_tree

    taken = np.zeros(len(columns), dtype=np.bool_)
    column_of_row = np.full(len(rows), -1, dtype=np.intp)
    n_matched = 0
    # The tree's bounds hold for non-negative points only.
    bounded = rows.min(initial=0.0) >= 0.0 and columns.min(initial=0.0) >= 0.0
    if bounded and len(rows) >= FEWEST_ROWS_FOR_TREE and rows.shape[1] > 0:
        near = matching_tree.arrange(columns)
        n_matched = matching_tree.match_by_tree(
            rows, columns, order, near, PATIENCE, taken, column_of_row
        )
    if n_matched < len(rows):
        rest = order[n_matched:]
        matching_tree.match_by_scan(rows, columns, rest, taken, column_of_row)
    return column_of_row


def match_optimal(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.intp]:
    """Match one to one with the largest total inner product.

    Parameters
    ----------
    rows, columns : ndarray of shape (n, m) and (n_columns, m), n_columns ≥ n

    Returns
    -------
    ndarray of shape (n,)
        The column of each row.

    Raises
    ------
    MemoryError
        If the n × n_columns table of scores does not fit into the free memory.

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
        raise MemoryError(
            f"The optimal matching of {len(rows):,} rows to {len(columns):,} columns "
            f"needs {needed / 1e9:,.1f} GB for its table of scores, and "
            f'{free / 1e9:,.1f} GB are available. Use matching="greedy", which needs '
            "no such table."
        )
    chosen: NDArray[np.intp] = linear_sum_assignment(rows @ columns.T, maximize=True)[1]
    return chosen


def invert(column_of_row: NDArray[np.intp], n_columns: int) -> NDArray[np.intp]:
    """Row of each column in a one-to-one matching, -1 where a column has none.

    Examples
    --------
    >>> import numpy as np
    >>> invert(np.array([2, 0]), n_columns=3)
    array([ 1, -1,  0])
    """
    row_of_column = np.full(n_columns, -1, dtype=np.intp)
    row_of_column[column_of_row] = np.arange(len(column_of_row))
    return row_of_column


def available_bytes() -> float:
    """Memory this process can still take, or infinity where nothing tells.

    That is the least of what the machine has free and of what each Linux control group
    around the process (a container, a batch job) still allows.
    """
    free = [_machine_bytes()]
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):  # version 2, version 1
            root = Path("/sys/fs/cgroup", controllers)
            group = root / path.lstrip("/")
            # Up to the root, which is where a container finds its own group.
            free += map(_group_bytes, [group, *group.parents][: -len(root.parents)])
    return min(free)


def _machine_bytes() -> float:
    """Free memory of the machine."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows and macOS do not tell
        return inf


def _group_bytes(folder: Path) -> float:
    """Memory that a control group still allows, infinity where it sets no limit."""
    limit = _lines(folder / "memory.max") + _lines(folder / "memory.limit_in_bytes")
    used = _lines(folder / "memory.current") + _lines(folder / "memory.usage_in_bytes")
    if not limit or not used or limit[0] == "max":
        return inf
    # The cache of files counts as used, but is given up when memory is short.
    caches = dict(line.split() for line in _lines(folder / "memory.stat"))
    return float(limit[0]) - float(used[0]) + float(caches.get("inactive_file", 0))


def _lines(path: str | Path) -> list[str]:
    """Lines of a file, none where there is no such file."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


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
        largest = np.abs(rows).max(initial=0.0) * np.abs(columns).max(initial=0.0)
        finite = np.isfinite(largest * rows.shape[1])
    if not finite:  # NaN, an infinity, or scores that would overflow
        raise ValueError("rows and columns and their products must be finite.")
    return rows, columns
