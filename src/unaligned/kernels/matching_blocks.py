"""The greedy matching of dense points: BLAS scores a block of rows at once.

It does so in float32, within a margin of error that is known beforehand. Of a row's
free columns, those within the margin of the largest score (mostly one) are scored again
as `matching_tree` does it, in float64. So the answer is the literal one here, too.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.compiling import compiling
from unaligned.kernels.lanes import compiled, fused, inlined

__all__ = ["match_by_blocks"]

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

BLOCK_SCORES = 2**20  # within the caches
FEWEST_ROWS, MOST_ROWS = 8, 256  # of a block
STRETCH = 64  # columns of which the largest score is found together
MOST_RIVALS = 64  # per row and on average, to be scored again


def match_by_blocks(
    rows: Floats, columns: Floats, order: Indices, taken: Flags, column_of_row: Indices
) -> int:
    """Match rows as `matching_tree.match_by_scan` does, while scores are far apart.

    Returns how many rows of ``order`` are matched: fewer than all when too many columns
    come within the margin of the largest score.
    """
    free = np.flatnonzero(~taken)
    packed, scale = _in_single(columns[free])
    longest = float(_lengths(packed).max(initial=0.0))
    n_done = n_gone = n_rivals = 0
    gone = np.zeros(len(free), dtype=np.bool_)
    while n_done < len(order) and n_rivals <= MOST_RIVALS * n_done:
        if 16 * n_gone > len(free):
            free, packed = free[~gone], packed[~gone]
            gone, n_gone = np.zeros(len(free), dtype=np.bool_), 0
        size = int(np.clip(BLOCK_SCORES / len(free), FEWEST_ROWS, MOST_ROWS))
        block = order[n_done : n_done + size]
        singles, scales = _in_single(rows[block], axis=1)
        scores = singles @ packed.T
        scores[:, gone] = -np.inf
        m = columns.shape[1]
        margin = _margin(_lengths(singles), longest, scales + scale, m)
        n_rivals += _resolve(
            scores, margin, block, rows, columns, free, gone, column_of_row
        )
        n_done += len(block)
        n_gone += len(block)
    taken[column_of_row[order[:n_done]]] = True
    return n_done


def _in_single(points: Floats, axis: int | None = None) -> tuple[Singles, Indices]:
    """Points in float32, scaled to be at most one; and the exponents of the scales.

    The scales are powers of two, one for every point (``axis=1``) or one for all: they
    change no score but for its exponent.
    """
    largest = np.abs(points).max(axis=axis, keepdims=axis is not None, initial=0.0)
    exponents = np.frexp(largest)[1]
    return np.ldexp(points, -exponents).astype(np.float32), exponents


def _lengths(singles: Singles) -> Singles:
    lengths: Singles = np.sqrt(np.einsum("jh,jh->j", singles, singles))
    return lengths


def _margin(lengths: Singles, longest: float, exponents: Indices, m: int) -> Singles:
    """How far below the largest score in float32 the largest in float64 may be found.

    Rounding m + 2 times errs by at most (m + 2) 2⁻²⁴ Σ|a_h b_h|, the sum is at most the
    product of the lengths, and two scores may err: half as much again is enough. Where
    numbers underflow, each rounding errs by 2⁻¹⁴⁹ in float32, by 2⁻¹⁰⁷⁴ in float64. The
    latter is large for points that are tiny before they are scaled.
    """
    relative = 3 * (m + 4) * 2.0**-24 * lengths * longest
    absolute = 3 * (m + 4) * (2.0**-120 + np.ldexp(1.0, -1074 - exponents.ravel()))
    return np.minimum(relative + absolute, 1e30).astype(np.float32)


@compiled
def _resolve(
    scores: Singles,
    margin: Singles,
    block: Indices,
    rows: Floats,
    columns: Floats,
    free: Indices,
    gone: Flags,
    column_of_row: Indices,
) -> int:
    """Let the rows of a block choose in turn, and spoil ``scores``.

    Returns the number of scores that were computed again.
    """
    n_free, n_rivals = free.size, 0
    n_stretches = (n_free + STRETCH - 1) // STRETCH
    tops = np.empty(n_stretches, np.float32)
    for turn, row in enumerate(block):
        top = np.float32(-np.inf)
        for k in range(n_stretches):
            tops[k] = _largest(scores[turn, k * STRETCH : (k + 1) * STRETCH])
            top = max(top, tops[k])
        bar = top - margin[turn]
        best, position = -np.inf, 0
        for k in range(n_stretches):
            if tops[k] >= bar:
                for p in range(k * STRETCH, min((k + 1) * STRETCH, n_free)):
                    if scores[turn, p] >= bar:
                        n_rivals += 1
                        score = _exact_score(rows[row], columns[free[p]])
                        if score > best:
                            best, position = score, p
        column_of_row[row] = free[position]
        gone[position] = True
        scores[turn:, position] = -np.inf
    return n_rivals


@compiling(fastmath={"nnan", "nsz"})
def _largest(values: Singles) -> np.float32:
    """Largest value; the flags let LLVM compare several at a time."""
    top = np.float32(-np.inf)
    for value in values:
        top = max(top, value)
    return top


@inlined
def _exact_score(row: Floats, column: Floats) -> float:
    """Inner product by fused multiply-adds over ascending coordinates."""
    total = 0.0
    for h in range(row.size):
        total = fused(row[h], column[h], total)
    return total
