"""Partners for all rows of two views, from their canonical directions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from unaligned.kernels.matching import match_greedy
from unaligned.savuc.confidence import match_confidence, match_probabilities
from unaligned.savuc.config import Settings
from unaligned.savuc.likelihood import (
    LEAST_BELIEVED,
    ROWS_PER_DIRECTION,
    learn_directions,
    log_ratios,
    ratio_factors,
)
from unaligned.savuc.refine import (
    Known,
    Plan,
    RowPair,
    along_directions,
    cycle,
    join_rows,
    mutual_best,
    plan_rows,
    sparse_kernel,
)
from unaligned.savuc.starts import SearchView

__all__ = [
    "FEWEST_PAIRS",
    "N_LEARNED",
    "FreeMatching",
    "Matching",
    "assign_rest",
    "match_free",
    "match_likely",
    "match_rows",
    "match_views",
    "mutual_pairs",
    "mutual_partners",
    "with_known",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_PLANNED = 50  # rounds of Sinkhorn of the last plan
N_LIKELY = 3  # rounds of matching by likelihood; directions hardly change after two
N_LEARNED = 20_000  # rows that directions are learned from. Cost
FEWEST_PAIRS = 8  # expected ones that directions are learned from
LEAST_CONFIDENCE = 1e-9  # of a match that is none of the near pairs: not quite zero
MOST_CORRELATED = 0.98  # keeps c / (1 − c²) finite
MOST_ASSIGNED = 1000  # rows left over that one dense assignment takes


class Matching(NamedTuple):
    """Partner of every row of the first view (-1: none) and its confidence."""

    partner: Indices
    confidence: Array


class FreeMatching(NamedTuple):
    """Mutual best partners of rows, and what the rest is matched by."""

    partner: Indices
    """-1 where a row has none."""
    probable: Any
    """Near pairs with their probabilities among all one-to-one matchings."""
    factors: tuple[Array, Array]
    """Vectors of rows whose products say how well pairs fit."""


def match_views(
    cross: Array,
    one: SearchView,
    other: SearchView,
    settings: Settings,
    known: Known = None,
) -> Matching:
    """Match all rows of two views, or of groups of them."""
    full = one.full_rows(), other.full_rows()
    return match_rows(cross, one.whitened, other.whitened, settings, known, full)


def match_rows(
    cross: Array,
    one: Array,
    other: Array,
    settings: Settings,
    known: Known = None,
    full: tuple[Array, Array] | None = None,
) -> Matching:
    """Match all rows of two whitened views one to one, as far as both have rows.

    Sinkhorn's plan finds near pairs and a first matching; the likelihood of pairs then
    decides between them, where there are enough to learn it from. Confidence is the
    probability that a match is right, if the views belong together.

    Parameters
    ----------
    cross : ndarray of shape (d, e)
        Cross-correlation of the views.
    one, other : ndarray of shape (n, d) and (m, e)
    settings : Settings
    known : tuple of ndarray, optional
        Rows of both that are known to be pairs.
    full : tuple of ndarray, optional
        The rows before they were scaled to unit length, whose likelihood is taken: in
        narrow tables lengths tell rows apart. Default: the whitened rows.
    """
    rows = join_rows(one, other, known)
    if not (len(rows.one) and len(rows.other)):
        unmatched = np.full(len(rows.one), -1, dtype=np.intp)
        return with_known(unmatched, np.zeros(len(unmatched)), one, other, known)
    given = join_rows(*full, known) if full is not None else rows
    found = match_free(cross, rows, given, settings)
    partner = assign_rest(found.partner, *found.factors)
    # A partner must be probable among all matchings, and there must be one at all.
    probable = entries_of(found.probable, partner)
    present = match_confidence(given.one, given.other, partner, found.probable)
    confidence = np.maximum(np.minimum(probable, present), LEAST_CONFIDENCE)
    confidence[partner < 0] = 0
    return with_known(partner, confidence, one, other, known)


def match_free(
    cross: Array, rows: RowPair, full: RowPair, settings: Settings
) -> FreeMatching:
    """Find mutual best partners of free rows.

    ``full`` has the same rows before they were scaled to unit length.
    """
    if max(len(rows.one), len(rows.other)) > settings.n_dense:
        # The directions come from a sample; all rows give better ones.
        cross = cycle(cross, rows, settings, 2 * settings.schedule[-1:])
    for _ in range(2):  # the first matching gives better correlations
        plan, A, B = planned(cross, rows, settings)
        partner = mutual_pairs(plan)
        matched = np.flatnonzero(partner >= 0)
        pairs = rows.one[matched].T @ rows.other[partner[matched]] / len(matched)
        cross = rows.fixed + rows.share * pairs
    near = plan.kernel
    if not sparse.issparse(near):
        near = sparse_kernel(A, B, settings.schedule[-1][1], settings)
    near = sparse.csr_array(near)
    n_directions = max(full.one.shape[1], full.other.shape[1])
    if len(matched) < ROWS_PER_DIRECTION * n_directions:
        near.data = np.ones_like(near.data)
        return FreeMatching(partner, near, (A, B))
    return match_likely(full.one, full.other, partner, near)


def match_likely(one: Array, other: Array, partner: Indices, near: Any) -> FreeMatching:
    """Match rows by likelihood, starting from a matching.

    Canonical directions of pairs, each as far as it is believed, give probabilities of
    near pairs, and these give better directions: expectation and maximisation.

    Parameters
    ----------
    one, other : ndarray of shape (n, d) and (m, e)
        Rows of two views.
    partner : ndarray of shape (n,)
        Row of ``other`` that every row of ``one`` is matched to so far; -1: none.
    near : sparse array of shape (n, m), by rows
        Pairs of rows that are near; every row has one.
    """
    rows = np.repeat(np.arange(len(one)), np.diff(near.indptr))
    columns = np.asarray(near.indices, dtype=np.intp)
    learned = rows % (1 + len(one) // N_LEARNED) == 0
    matched = np.flatnonzero(partner >= 0)
    pairs = matched, partner[matched], np.ones(len(matched))
    for _ in range(N_LIKELY):
        canonical = learn_directions(one, other, *pairs)
        A, B = canonical.read(one, 0), canonical.read(other, 1)
        ratios = log_ratios(A, B, canonical.correlations, rows, columns)
        probability = match_probabilities(ratios, rows, columns, near.shape)
        believed = learned & (probability >= LEAST_BELIEVED)
        if probability[believed].sum() < FEWEST_PAIRS:
            break
        pairs = rows[believed], columns[believed], probability[believed]
    probable = sparse.csr_array((probability, near.indices, near.indptr), near.shape)
    best = mutual_pairs(Plan(probable, np.ones(len(one)), np.ones(len(other))))
    return FreeMatching(best, probable, ratio_factors(A, B, canonical.correlations))


def entries_of(table: Any, partner: Indices) -> Array:
    """Entry of every row at its partner; zero where a sparse table has none."""
    rows = np.repeat(np.arange(len(partner)), np.diff(table.indptr))
    chosen = partner[rows] == table.indices
    entries = np.zeros(len(partner))
    entries[rows[chosen]] = table.data[chosen]
    return entries


def mutual_partners(cross: Array, rows: RowPair, settings: Settings) -> Indices:
    """Partner of every free row that has a mutual best one, -1 elsewhere."""
    return mutual_pairs(planned(cross, rows, settings)[0])


def mutual_pairs(plan: Plan) -> Indices:
    """Mutual best partner of every row of a plan, -1 where there is none."""
    partner = np.full(len(plan.u), -1, dtype=np.intp)
    picked, partners = mutual_best(plan)
    partner[picked] = partners
    return partner


def planned(
    cross: Array, rows: RowPair, settings: Settings
) -> tuple[Plan, Array, Array]:
    """Sinkhorn's plan of free rows, and the rows along their canonical directions."""
    n_directions, temperature = settings.schedule[-1]
    A, B = along_directions(cross, rows, n_directions, likelihood_weights)
    return plan_rows(A, B, temperature, N_PLANNED, settings), A, B


def likelihood_weights(correlations: Array) -> Array:
    """Weights of canonical directions in the likelihood ratio of a match to none.

    Of Gaussian rows with correlation c, the product of two coordinates counts
    c / (1 − c²); its root is given to either side.
    """
    c = np.minimum(correlations, np.float32(MOST_CORRELATED))
    weights: Array = np.sqrt(c / (1 - c**2))
    return weights


def assign_rest(partner: Indices, A: Array, B: Array) -> Indices:
    """Match what is left over one to one; the shorter side leaves no row out."""
    left = np.flatnonzero(partner < 0)
    right = np.setdiff1d(np.arange(len(B)), partner)
    if not (left.size and right.size):
        return partner
    if max(left.size, right.size) <= MOST_ASSIGNED:
        chosen, columns = linear_sum_assignment(-(A[left] @ B[right].T))
        partner[left[chosen]] = right[columns]
    elif left.size <= right.size:
        partner[left] = right[match_greedy(A[left], B[right])]
    else:
        partner[left[match_greedy(B[right], A[left])]] = right
    return partner


def with_known(
    partner: Indices, confidence: Array, one: Array, other: Array, known: Known
) -> Matching:
    """Put the free rows back among the known ones, which are certain."""
    if known is None or known[0].size == 0:
        return Matching(partner, confidence)
    rows, partners = known
    free_one = np.delete(np.arange(len(one)), rows)
    free_other = np.delete(np.arange(len(other)), partners)
    whole = np.full(len(one), -1, dtype=np.intp)
    sure = np.zeros(len(one))
    whole[rows], sure[rows] = partners, 1.0
    matched = partner >= 0
    whole[free_one[matched]] = free_other[partner[matched]]
    sure[free_one] = confidence
    return Matching(whole, sure)
