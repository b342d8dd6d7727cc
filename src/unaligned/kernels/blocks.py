"""Walking through a large matrix a few rows at a time."""

from collections.abc import Iterator
from typing import Any

from scipy import sparse

__all__ = ["row_blocks", "row_parts"]

BLOCK_BYTES = 2**20  # within the second-level cache of a core
DEVICE_BLOCK_BYTES = 2**28  # few launches of kernels, and little beside the views
PART_BYTES = 2**24  # worth a thread's while
TIMES_ITS_SUMS = 4  # a part is at least so many times as large as what is kept of it


def row_blocks(X: Any) -> Iterator[slice]:
    """Row slices of a matrix, dense or CSR, of about `BLOCK_BYTES` each.

    On a GPU, where there is no such cache, they have `DEVICE_BLOCK_BYTES`.

    Examples
    --------
    >>> import numpy as np
    >>> list(row_blocks(np.zeros((100, 2**11))))
    [slice(0, 64, None), slice(64, 100, None)]
    """
    return iter(_slices(X.shape[0], _rows_per_block(X)))


def row_parts(X: Any, n_sums: int) -> list[slice]:
    """Row slices to share out among threads: the same for any number of threads.

    A part ends where a block ends. ``n_sums`` numbers in float64 are what is kept of a
    part, and parts are long enough for that to be little beside the matrix. On a GPU,
    which shares out the work itself, the whole matrix is one part.

    Examples
    --------
    >>> import numpy as np
    >>> row_parts(np.zeros((2000, 2**11)), n_sums=1)
    [slice(0, 1024, None), slice(1024, 2000, None)]
    """
    if _is_on_device(X):
        return [slice(0, X.shape[0])]
    block = _rows_per_block(X)
    wanted = max(PART_BYTES, TIMES_ITS_SUMS * 8 * n_sums)
    blocks_per_part = max(1, round(wanted / (_bytes_per_row(X) * block)))
    return _slices(X.shape[0], block * blocks_per_part)


def _slices(n: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _rows_per_block(X: Any) -> int:
    size = DEVICE_BLOCK_BYTES if _is_on_device(X) else BLOCK_BYTES
    return max(64, int(size / _bytes_per_row(X)))


def _bytes_per_row(X: Any) -> float:
    n, d = X.shape
    # A stored entry of a sparse matrix carries its column index along.
    per_row = 1.5 * X.nnz / n if sparse.issparse(X) else d
    return float(X.dtype.itemsize * max(per_row, 1))


def _is_on_device(X: Any) -> bool:
    return str(getattr(X, "device", "cpu")) != "cpu"
