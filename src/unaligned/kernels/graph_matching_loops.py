"""The compiled loops behind the matching of graphs.

One iteration makes 30 rounds over an N × N array and only two products of such arrays,
so each round is a single pass that also gathers the sums which the next one needs.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.compiling import compiling

__all__ = ["blend", "make_doubly_stochastic", "take_largest"]

Floats: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]

# Sums in any order, so that they are taken in vector registers; no entry is NaN.
_compiled = compiling(fastmath={"reassoc", "nsz", "nnan"})


@_compiled
def make_doubly_stochastic(Y: Floats, n_rounds: int) -> None:
    """Move Y, in place, towards the matrices ≥ 0 whose rows and columns sum to one.

    A round projects onto the matrices with such sums, which adds a number to every row
    and to every column, and then clips at zero.
    """
    size = Y.shape[0]
    zero = Y.dtype.type(0)
    rows, columns = np.zeros(size, Y.dtype), np.zeros(size, Y.dtype)  # their means
    for i in range(size):
        total = zero
        for j in range(size):
            total += Y[i, j]
            columns[j] += Y[i, j]
        rows[i] = total / size
    for j in range(size):
        columns[j] /= size
    sums = np.empty(size, Y.dtype)
    for _ in range(n_rounds):
        mean = 0.0
        for i in range(size):
            mean += rows[i] / size
        sums[:] = zero
        for i in range(size):
            lift = Y.dtype.type(1.0 / size + mean - rows[i])
            row = Y[i]
            total = zero
            for j in range(size):
                entry = max(row[j] + (lift - columns[j]), zero)
                row[j] = entry
                total += entry
                sums[j] += entry
            rows[i] = total / size
        for j in range(size):
            columns[j] = sums[j] / size


@_compiled
def blend(X: Floats, Y: Floats) -> float:
    """Replace X by X + Y over its largest entry; return by how much X changed at most.

    No entry may be negative. Largest entries are found column by column, which goes
    sixteen at a time where one running maximum goes one by one.
    """
    largest = np.zeros(X.shape[1], X.dtype)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            largest[j] = max(largest[j], X[i, j] + Y[i, j])
    top = largest.max()
    scale = X.dtype.type(1.0 / top if top > 0 else 1.0)
    change = np.zeros(X.shape[1], X.dtype)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            entry = scale * (X[i, j] + Y[i, j])
            change[j] = max(change[j], abs(entry - X[i, j]))
            X[i, j] = entry
    return float(change.max())


@_compiled
def take_largest(order: Indices, n_rows: int, row_of_column: Indices) -> None:
    """Walk through the entries and match each whose row and column are both free.

    ``order`` numbers the entries column by column, the largest first.
    """
    taken = np.zeros(n_rows, np.bool_)
    n_free = min(n_rows, row_of_column.size)
    for entry in order:
        if n_free == 0:
            return
        column, row = entry // n_rows, entry % n_rows
        if not taken[row] and row_of_column[column] < 0:
            taken[row] = True
            row_of_column[column] = row
            n_free -= 1
