"""Walking through a large matrix a few rows at a time."""

from collections.abc import Iterator
from typing import Any

from scipy import sparse

__all__ = ["row_blocks"]

BLOCK_BYTES = 2**20  # within the second-level cache of a core


def row_blocks(X: Any) -> Iterator[slice]:
    """Row slices of a dense or CSR matrix, about `BLOCK_BYTES` each.

    Examples
    --------
    >>> import numpy as np
    >>> list(row_blocks(np.zeros((100, 2**11))))
    [slice(0, 64, None), slice(64, 100, None)]
    """
    n, d = X.shape
    # A stored entry of a sparse matrix carries its column index along.
    per_row = 1.5 * X.nnz / n if sparse.issparse(X) else d
    step = max(64, int(BLOCK_BYTES / (X.dtype.itemsize * max(per_row, 1))))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
