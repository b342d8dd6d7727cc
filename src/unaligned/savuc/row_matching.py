"""From canonical directions to partners: every row of both views."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from unaligned.kernels.matching import match_greedy
from unaligned.savuc.pairs_of_views import Known
from unaligned.savuc.polish import (
    LAST_STEPS,
    MOST_DENSE,
    Plan,
    join_rows,
    mutual_best,
    plan_rows,
    rows_along,
    soft_cycle,
)

__all__ = ["Matching", "match_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_DIRECTIONS, TEMPERATURE = LAST_STEPS[-1][:2]
MOST_CORRELATED = 0.98  # of two coordinates; more is luck
MOST_ASSIGNED = 3000  # rows left over that are assigned at once


class Matching(NamedTuple):
    """Partner of every row of the first view (-1: none) and how sure it is."""

    partner: Indices
    confidence: Array


def match_rows(cross: Array, one: Array, other: Array, known: Known = None) -> Matching:
    """Match all rows of two whitened views one to one, as far as both have rows.

    Mutual best pairs of Sinkhorn's plan first, then the rest by assignment. A match is
    as sure as the plan leads from either row to the other and nowhere else.
    """
    rows = join_rows(one, other, known)
    if not (len(rows.one) and len(rows.other)):
        nobody = np.full(len(rows.one), -1, dtype=np.intp)
        return _with_known(nobody, np.zeros(len(nobody)), one, other, known)
    if max(len(rows.one), len(rows.other)) > MOST_DENSE:
        # The directions come from a sample. All rows know better.
        cross = soft_cycle(cross, rows, ((N_DIRECTIONS, TEMPERATURE, 2),))
    for _ in range(2):  # the first matching tells the correlations better
        A, B = rows_along(cross, rows, N_DIRECTIONS, likelihood_weights)
        plan = plan_rows(A, B, TEMPERATURE, 50)
        partner = np.full(len(A), -1, dtype=np.intp)
        picked, partners = mutual_best(plan)
        partner[picked] = partners
        partner = assign_rest(partner, A, B)
        matched = np.flatnonzero(partner >= 0)
        pairs = rows.one[matched].T @ rows.other[partner[matched]] / len(matched)
        cross = rows.fixed + rows.share * pairs
    return _with_known(partner, _sureness(plan, partner), one, other, known)


def likelihood_weights(correlations: Array) -> Array:
    """Weights of canonical directions by what they say about a match.

    Of Gaussian rows with correlation c, the product of two coordinates counts
    c / (1 − c²) in the likelihood ratio of a match to none; half of it on either side.
    """
    c = np.minimum(correlations, MOST_CORRELATED)
    weights: Array = np.sqrt(c / (1 - c**2))
    return weights


def _sureness(plan: Plan, partner: Indices) -> Array:
    """Geometric mean of the two conditional probabilities of a match under a plan."""
    weights = plan.kernel * plan.v
    to_other = weights.sum(axis=1)
    to_one = plan.u @ plan.kernel
    matched = np.flatnonzero(partner >= 0)
    at = partner[matched]
    weight = np.asarray(plan.kernel[matched, at]).ravel()
    forward = weight * plan.v[at] / np.maximum(to_other[matched], 1e-30)
    backward = weight * plan.u[matched] / np.maximum(to_one[at], 1e-30)
    sureness = np.zeros(len(partner))
    sureness[matched] = np.sqrt(np.clip(forward * backward, 0, 1))
    return sureness


def assign_rest(partner: Indices, A: Array, B: Array) -> Indices:
    """Match what is left over one to one; the shorter side leaves nobody out."""
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


def _with_known(
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
