"""The optimal matching where its table of scores does not fit: nearly, and sparse.

Each row may be matched to a few candidates only. The columns of its largest scores
would be bad ones, since many rows have those in common. In an optimal matching a column
has a price, and each row gets a column of largest score less price. Prices are
therefore learned first, on a sample that is small enough to be matched exactly.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

__all__ = ["match_among_candidates"]

SAMPLE = 4000  # rows that prices are learned from
CANDIDATES = 24  # columns that a row may be matched to
BLOCK_SCORES = 2**22
NOISE = 1e-6  # as a share of the largest score: tells equal columns apart


def match_among_candidates(
    rows: NDArray[Any], columns: NDArray[Any], fallback: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Match one to one with nearly the largest total inner product.

    Parameters
    ----------
    rows, columns : ndarray of shape (n, m) and (n_columns, m), n_columns ≥ n
    fallback : ndarray of shape (n,)
        A matching whose pairs are candidates, too: so there is one at all, and the
        answer is no worse than it.

    Returns
    -------
    ndarray of shape (n,)
        The column of each row.
    """
    n, n_columns = len(rows), len(columns)
    rng = np.random.default_rng(0)
    wanted = np.column_stack([_candidates(rows, columns, rng), fallback])
    wanted.sort(axis=1)
    new = np.diff(wanted, axis=1, prepend=-1) > 0  # the fallback may be among the rest
    row, column = np.nonzero(new)[0], wanted[new]
    scores = np.einsum("eh,eh->e", rows[row], columns[column])
    # A missing entry is no candidate, so costs have to be above zero.
    costs = csr_array((scores.max() - scores + 1, (row, column)), shape=(n, n_columns))
    matched: NDArray[np.intp] = min_weight_full_bipartite_matching(costs)[1]
    return matched.astype(np.intp)


def _candidates(
    rows: NDArray[Any], columns: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Columns of largest score less price, as many for every row."""
    n_columns = len(columns)
    n_candidates = min(CANDIDATES, n_columns)
    prices = _prices(rows, columns, rng)
    step = max(1, BLOCK_SCORES // n_columns)
    # Rows that are equal must not all want the same of many equal columns.
    noise = rng.random(n_columns + step)
    chosen = []
    for first in range(0, len(rows), step):
        gains = rows[first : first + step] @ columns.T - prices
        shifted = np.lib.stride_tricks.sliding_window_view(noise, n_columns)
        gains += NOISE * np.abs(gains).max() * shifted[: len(gains)]
        best = np.argpartition(gains, n_columns - n_candidates, axis=1)
        chosen.append(best[:, n_columns - n_candidates :])
        rng.shuffle(noise)
    return np.concatenate(chosen)


def _prices(
    rows: NDArray[Any], columns: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Prices of the columns, from the optimal matching of a sample.

    It has a surplus u for each of its rows with ``score ≤ u + price``. The lowest price
    that keeps to this is ``max(score - u)`` over the rows of the sample, and that is
    defined for columns outside the sample, too.
    """
    import ot  # type: ignore[import-untyped]

    share = min(1.0, SAMPLE / len(columns))
    some = rows[rng.random(len(rows)) < share] if share < 1 else rows
    shelf = columns[rng.random(len(columns)) < share] if share < 1 else columns
    # Columns that nobody gets go to one more row, which likes all of them the same.
    some = np.vstack([some, np.zeros(rows.shape[1])])
    mass = np.ones(len(some))
    mass[-1] = len(columns) / len(rows) * (len(some) - 1) - (len(some) - 1)
    demand = np.full(len(shelf), mass.sum() / len(shelf))
    _, log = ot.emd(mass, demand, -(some @ shelf.T), numItermax=10**7, log=True)
    surplus = -log["u"]
    step = max(1, BLOCK_SCORES // len(some))
    return np.concatenate(
        [
            (columns[first : first + step] @ some.T - surplus).max(axis=1)
            for first in range(0, len(columns), step)
        ]
    )
