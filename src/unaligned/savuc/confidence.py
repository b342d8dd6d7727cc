"""Confidence: the probability that a match is right, if its views belong together.

The `likelihood` of pairs tells how well two rows fit, and a row has at most one
partner. What follows for a match from all one-to-one matchings is found by belief
propagation; how many rows have no partner, and which, by comparison with a null
(`absence`). Nothing here is set by labels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.savuc.absence import BELOW_ONE, NOTHING, Partnered, partnered
from unaligned.savuc.likelihood import (
    ROWS_PER_DIRECTION,
    Canonical,
    canonical_directions,
    log_ratios,
)

__all__ = [
    "N_CANDIDATES",
    "Messages",
    "candidate_probabilities",
    "match_confidence",
    "match_probabilities",
    "propagate",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_ROUNDS = 30  # of messages; after ten, probabilities are the same to a hundredth
TINY = 1e-9  # matches, where none is expected: keeps their logarithm finite
N_CANDIDATES = 16  # of every row. Cost: memory is in proportion to it
N_RELEARNED = 3  # times that directions are learned; after two they hardly change. Cost


def match_confidence(
    one: Array, other: Array, partner: Indices, candidates: Any
) -> NDArray[np.float64]:
    """Probability that the partner of every row of the first view is the right one.

    Parameters
    ----------
    one, other : ndarray of shape (n, d) and (m, e)
        Rows of two views.
    partner : ndarray of shape (n,)
        Row of ``other`` that every row of ``one`` is matched to; -1: none.
    candidates : sparse matrix of shape (n, m)
        Pairs of rows that are near; the others are left out of account.

    Returns
    -------
    ndarray of shape (n,)
        Zero where there is no partner, and where it is not among the candidates.
    """
    matched = np.flatnonzero(partner >= 0)
    chosen = partner[matched]
    pairs, present = (one[matched], other[chosen]), np.ones(len(matched))
    canonical = canonical_directions(*pairs, present)
    columns = likeliest(canonical, one, other, sparse.csr_array(candidates))
    for _ in range(N_RELEARNED):
        ratios = ratios_of(canonical, one, other, columns)
        found = candidate_probabilities(columns, ratios, len(other), matched)
        if found.present.sum() < ROWS_PER_DIRECTION:
            break  # nothing is left to learn from
        canonical = canonical_directions(*pairs, found.present)
    confidence = np.zeros(len(one))
    is_chosen = columns[matched] == chosen[:, None]
    confidence[matched] = np.where(is_chosen, found.probability, 0.0).max(axis=1)
    return np.minimum(confidence, BELOW_ONE)


def likeliest(canonical: Canonical, one: Array, other: Array, near: Any) -> Indices:
    """Of the pairs of a sparse matrix, the likeliest of every row: (n, k), or -1."""
    rows = np.repeat(np.arange(len(one)), np.diff(near.indptr))
    columns = np.asarray(near.indices, dtype=np.intp)
    along = canonical.read(one, 0), canonical.read(other, 1)
    ratios = log_ratios(*along, canonical.correlations, rows, columns)
    order = np.lexsort((-ratios, rows))
    rank = np.arange(len(rows)) - near.indptr[rows]
    best = rank < N_CANDIDATES
    k = min(N_CANDIDATES, int(rank.max()) + 1)
    found = np.full((len(one), k), -1, dtype=np.intp)
    found[rows[best], rank[best]] = columns[order[best]]
    return found


def ratios_of(
    canonical: Canonical, one: Array, other: Array, columns: Indices
) -> Array:
    """Log-likelihood ratios of candidates of every row, `NOTHING` for none: (n, k)."""
    ratios = np.full(columns.shape, NOTHING)
    rows, places = np.nonzero(columns >= 0)
    along = canonical.read(one, 0), canonical.read(other, 1)
    ratios[rows, places] = log_ratios(
        *along, canonical.correlations, rows, columns[rows, places]
    )
    return ratios


def candidate_probabilities(
    columns: Array, ratios: Array, m: int, asked: Indices | None = None
) -> Partnered:
    """Probability that candidates of rows are their partners, of which some have none.

    Parameters
    ----------
    columns, ratios : ndarray of shape (n, k)
        Candidates of every row among m columns, and their log-likelihood ratios,
        `NOTHING` where there is none.
    m : int
    asked : ndarray of int, optional
        Rows that are asked about; the others compete for columns, but are not counted
        among those that may lack a partner. Default: all.
    """
    n, k = columns.shape
    rows = np.repeat(np.arange(n), k)
    taken = np.maximum(columns, 0).ravel()  # what is none claims nothing of the first
    found = propagate(ratios.ravel().astype(np.float64), rows, taken, (n, m))
    asked = np.arange(n) if asked is None else asked
    probability = found.probability.reshape(n, k)[asked]
    best = probability.max(axis=1)
    if k == 1:  # nothing is left to compare with where a partner is taken away
        return Partnered(probability, best, float(1 - best.mean()))
    return partnered(found.support.reshape(n, k)[asked], best)


def match_probabilities(
    ratios: Array,
    rows: Indices,
    columns: Indices,
    shape: tuple[int, int],
    log_odds: float | None = None,
) -> NDArray[np.float64]:
    """Probability of every pair under all one-to-one matchings of rows and columns.

    The weight of a matching is the product over its pairs of ratio times prior odds.
    Sums over matchings are taken by belief propagation, which is exact where pairs
    close no loop.

    Parameters
    ----------
    ratios : ndarray of shape (n_pairs,)
        Log-likelihood ratios.
    rows, columns : ndarrays of shape (n_pairs,)
        The pairs, sorted by rows; every row has one.
    shape : tuple of int
        Number of rows and of columns.
    log_odds : float, optional
        Logarithm of the prior odds of a pair. Default: by expectation maximisation,
        from nine matches in ten rows.

    Returns
    -------
    ndarray of shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> match_probabilities(np.log([8.0, 1.0, 1.0]), *pairs, (2, 2), 0.0).round(2)
    array([0.84, 0.05, 0.47])
    """
    return propagate(ratios, rows, columns, shape, log_odds).probability


class Messages(NamedTuple):
    """What belief propagation finds of every pair."""

    probability: Array
    support: Array
    """Log-likelihood ratio, less what other rows claim of the column."""


def propagate(
    ratios: Array,
    rows: Indices,
    columns: Indices,
    shape: tuple[int, int],
    log_odds: float | None = None,
) -> Messages:
    """Probabilities as in `match_probabilities`, and the support that leads to them."""
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.pairs import pass_messages

    n, m = shape
    odds = _log_odds(0.9 * min(n, m), n, m) if log_odds is None else log_odds
    starts = np.searchsorted(rows, np.arange(n + 1))
    largest = np.maximum.reduceat(ratios, starts[:-1])
    weights = np.exp(ratios - largest[rows])
    without = np.exp(-np.maximum(largest, -500))
    from_columns = np.ones(len(rows))
    for _ in range(N_ROUNDS):
        alone = without * np.exp(-odds)
        pairs = weights, alone, starts, columns, m
        from_columns, n_matched = pass_messages(*pairs, from_columns)
        if log_odds is None:
            odds = _log_odds(n_matched, n, m)
    to_rows = weights * from_columns
    probability = to_rows / (np.add.reduceat(to_rows, starts[:-1]) + alone)[rows]
    return Messages(probability, ratios + np.log(from_columns))


def _log_odds(n_matches: float, n: int, m: int) -> float:
    """Log odds of a pair where so many are expected, half a row on each side spare."""
    spare = np.log(max(n - n_matches, 0) + 0.5) + np.log(max(m - n_matches, 0) + 0.5)
    return float(np.log(max(n_matches, TINY)) - spare)
