"""Partners for all rows of two views, some of which have none.

From few pairs to all: canonical directions of the pairs that are known or were found on
a sample, candidates along them in shared cells, probabilities by belief propagation,
and better directions from what is probable, on more rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.distributed.cells import find_candidates
from unaligned.savuc.assign import N_LEARNED, Matching, with_known
from unaligned.savuc.confidence import N_CANDIDATES, candidate_probabilities
from unaligned.savuc.likelihood import Canonical, learn_directions
from unaligned.savuc.refine import Known

__all__ = ["match_all_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_ROUNDS = 3  # of learning directions; after two they hardly change. Cost
LEAST = 0.1  # confidence below which a row is said to have no partner, as in `labels`


def match_all_rows(
    one: Array,
    other: Array,
    pairs: tuple[Indices, Indices],
    rng: np.random.RandomState,
    known: Known = None,
) -> Matching:
    """Match rows of two views one to one, and leave out those without a partner.

    Parameters
    ----------
    one, other : ndarray of shape (n, d) and (m, e)
        Coordinates of all rows.
    pairs : tuple of ndarray
        Rows of both that were matched by a search, most of them right.
    rng : RandomState
    known : tuple of ndarray, optional
        Rows of both that are known to be pairs, and stay so.

    Returns
    -------
    Matching
        Confidence is the probability that a match is right, if the views belong
        together.
    """
    free_one, free_other = one, other
    if known is not None and known[0].size:
        free_one = np.delete(one, known[0], axis=0)
        free_other = np.delete(other, known[1], axis=0)
    canonical = learn_directions(one, other, *pairs, np.ones(len(pairs[0])))
    seed = int(rng.randint(np.iinfo(np.int32).max))
    for _ in range(N_ROUNDS):
        drawn = np.sort(rng.permutation(len(one))[:N_LEARNED])
        columns, probability = probable(canonical, one[drawn], other, seed)
        rows = np.repeat(drawn, columns.shape[1])
        weights = probability.ravel()
        canonical = learn_directions(one, other, rows, columns.ravel(), weights)
    if not (len(free_one) and len(free_other)):
        unmatched = np.full(len(free_one), -1, dtype=np.intp)
        return with_known(unmatched, np.zeros(len(unmatched)), one, other, known)
    columns, probability = probable(canonical, free_one, free_other, seed)
    partner, confidence = one_to_one(columns, probability, len(free_other))
    return with_known(partner, confidence, one, other, known)


def probable(
    canonical: Canonical, one: Array, other: Array, seed: int
) -> tuple[Array, Array]:
    """Candidates of every row, and the probability of each."""
    k = min(N_CANDIDATES, len(other))
    columns, ratios = find_candidates(canonical, one, other, k, seed)
    found = candidate_probabilities(columns, ratios, len(other))
    return columns, found.probability


def one_to_one(columns: Array, probability: Array, m: int) -> tuple[Indices, Array]:
    """Give every row its best candidate, and every candidate to one row."""
    rows = np.arange(len(columns))
    best = probability.argmax(axis=1)
    confidence = probability[rows, best].astype(np.float64)
    partner = columns[rows, best].astype(np.intp)
    # The surest row of a column comes last, and stays.
    order = np.argsort(confidence, kind="stable")
    owner = np.full(m, -1, dtype=np.intp)
    owner[partner[order]] = order
    keeps = (owner[partner] == rows) & (confidence >= LEAST)
    return np.where(keeps, partner, -1), np.where(keeps, confidence, 0.0)
