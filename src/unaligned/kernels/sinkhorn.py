"""Compiled loops of Sinkhorn's algorithm and of what is read off its plans.

A plan is a positive matrix scaled to given margins, ``diag(u) K diag(v)``. Array
operations would read it several times where these loops read it once.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.compiling import compiling

__all__ = ["best_partners", "scale_in_place", "scaling_factors"]

Floats: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]

TINY = np.float32(1e-30)  # keeps quotients finite; smaller entries are zero

# Sums in any order, so that they are taken in vector registers; no entry is NaN.
_compiled = compiling(fastmath={"reassoc", "nsz", "nnan"})


@_compiled
def scale_in_place(plans: Floats, a: Floats, b: Floats, n_iter: int) -> None:
    """Scale every matrix of a (B, K, L) stack towards row sums a and column sums b.

    Entries below 1e-30 become zero: numbers that are smaller still are not normalised,
    and take a processor many times as long.
    """
    size, n_rows, n_columns = plans.shape
    sums = np.empty(n_columns, plans.dtype)
    factors = np.empty(n_columns, plans.dtype)
    for p in range(size):
        plan = plans[p]
        factors[:] = 1
        for _ in range(n_iter):
            sums[:] = 0
            for i in range(n_rows):
                total = plan.dtype.type(0)
                for j in range(n_columns):
                    plan[i, j] *= factors[j]
                    total += plan[i, j]
                factor = a[i] / (total + TINY)
                for j in range(n_columns):
                    entry = plan[i, j] * factor
                    plan[i, j] = entry if entry > TINY else 0
                    sums[j] += plan[i, j]
            for j in range(n_columns):
                factors[j] = b[j] / (sums[j] + TINY)
        for i in range(n_rows):
            for j in range(n_columns):
                plan[i, j] *= factors[j]


@_compiled
def scaling_factors(kernel: Floats, v: Floats, n_iter: int) -> tuple[Floats, Floats]:
    """Factors u and v under which every row has one partner, one pass a round.

    Row sums of ``diag(u) kernel diag(v)`` come near 1 / rows. So do column sums where
    there are as many columns; where there are more, that is the most they may be, since
    some have no partner. ``v`` is where to start.
    """
    n_rows, n_columns = kernel.shape
    a = kernel.dtype.type(1 / n_rows)
    most = kernel.dtype.type(np.inf if n_rows == n_columns else 1)
    u, v = np.empty(n_rows, kernel.dtype), v.copy()
    sums = np.empty(n_columns, kernel.dtype)
    for _ in range(n_iter):
        sums[:] = 0
        for i in range(n_rows):
            row = kernel[i]
            total = kernel.dtype.type(0)
            for j in range(n_columns):
                total += row[j] * v[j]
            u[i] = a / (total + TINY)
            for j in range(n_columns):
                sums[j] += u[i] * row[j]
        for j in range(n_columns):
            v[j] = min(a / (sums[j] + TINY), most)
    return u, v


@_compiled
def best_partners(kernel: Floats, u: Floats, v: Floats) -> tuple[Indices, Indices]:
    """Find the column of largest weight for every row of a plan, and the reverse.

    Ties go to the smaller index.
    """
    n_rows, n_columns = kernel.shape
    of_rows = np.zeros(n_rows, np.intp)
    of_columns = np.zeros(n_columns, np.intp)
    largest = np.full(n_columns, -1, kernel.dtype)
    for i in range(n_rows):
        row = kernel[i]
        most = kernel.dtype.type(-1)
        for j in range(n_columns):
            most = max(most, row[j] * v[j])
        for j in range(n_columns):
            if row[j] * v[j] == most:
                of_rows[i] = j
                break
        for j in range(n_columns):
            weight = u[i] * row[j]
            if weight > largest[j]:
                largest[j] = weight
                of_columns[j] = i
    return of_rows, of_columns
