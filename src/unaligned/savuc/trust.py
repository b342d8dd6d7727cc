"""Trust: evidence from rows and directions that were not used to find a match.

Refinement raises the score of any matching, right or wrong, so the score tells little.
The test holds out rows and directions. Canonical directions are learned again without
the held-out rows; along two thirds of them, a held-out row finds its partner among rows
of the other view that were not learned from; the last third tells whether the partner
is more alike than the runners-up, beyond what their closeness in the other two explains
(`gains`). A partner of the same object is. A row that merely lies at the same place of
a similar shape is not.

Wrong matchings with some evidence exist where views are symmetric or rows are few. So
other matchings that the search found, the rivals, are refined and tested the same way,
and only what exceeds them counts.
"""

from math import hypot
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unaligned.savuc.config import Settings, Step
from unaligned.savuc.gains import FEWEST_TESTED, gains_of_split, splits_of
from unaligned.savuc.refine import cycle, directions_of, join_rows

__all__ = [
    "FEWEST_DIRECTIONS",
    "SAME",
    "UNTESTED",
    "Evidence",
    "PairFit",
    "agreement",
    "excess_over",
    "first_of_equal",
    "held_out_evidence",
    "relearning",
    "trust_in",
    "was_tested",
    "weighted_mean",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

# Standard errors below the mean. These are errors of a mean over rows, but all rows
# share few directions: means of unrelated rows deviate up to twice as far.
N_ERRORS = 3
FEWEST_DIRECTIONS = 4  # two or three that find a partner, others that judge it
N_FORGETTING = 6  # steps at the highest temperature before directions are tested
SAME = 0.5  # cosine of cross-correlations from which two matchings are one


class Evidence(NamedTuple):
    """How much more alike partners are, in held-out directions, than runners-up."""

    mean: float
    error: float
    """Standard error of the mean over rows."""

    @property
    def lower(self) -> float:
        """What the mean exceeds, as far as its error tells."""
        return self.mean - N_ERRORS * self.error


UNTESTED = Evidence(0.0, np.inf)


class PairFit(NamedTuple):
    """The best matching of two views that a search found, and the trust in it."""

    cross: Array
    """Cross-correlation of their whitened rows under the matching."""
    score: float
    evidence: Evidence
    excess: float
    """Evidence beyond its error and beyond that of rivals."""
    trust: float
    rivals: tuple[Evidence, ...] = ()
    """Evidence for other matchings that were found, and from random starts."""


def excess_over(evidence: Evidence, rivals: list[Evidence]) -> float:
    """Evidence for a matching beyond that of its best rival, and beyond none.

    The lower bound of J, and of its difference from every rival's J. A rival that
    nothing speaks for, J ≤ 0, is none, however uncertain its J is: its test ended
    early.

    Examples
    --------
    >>> round(excess_over(Evidence(0.3, 0.03), [Evidence(0.08, 0.04)]), 2)
    0.07
    """
    differences = (
        Evidence(evidence.mean - rival.mean, hypot(evidence.error, rival.error))
        for rival in rivals
        if rival.mean > 0
    )
    return min(found.lower for found in (evidence, *differences))


def trust_in(excess: float, settings: Settings) -> float:
    """Probability that a matching with this excess is right.

    Examples
    --------
    >>> round(trust_in(0.5, Settings()), 2), round(trust_in(0.0, Settings()), 2)
    (1.0, 0.01)
    """
    return float(expit((excess - settings.turning_point) / settings.sharpness))


def held_out_evidence(
    one: Array,
    other: Array,
    partner: Indices,
    settings: Settings,
    rng: np.random.RandomState,
) -> Evidence:
    """Test a matching of two whitened views on held-out rows and directions.

    Parameters
    ----------
    one, other : ndarray of shape (n, d) and (m, e)
    partner : ndarray of shape (n,)
        Row of ``other`` beside every row of ``one``; -1: none, or not to be tested.
    settings : Settings
    rng : RandomState

    Returns
    -------
    Evidence
        After one fold where that one speaks against the matching.
    """
    if min(one.shape[1], other.shape[1]) < FEWEST_DIRECTIONS:
        return UNTESTED
    rows = rng.permutation(distinct_pairs(one, other, partner))[: settings.n_refined]
    rows, more = np.sort(rows[: settings.n_tested]), rows[settings.n_tested :]
    tested = rows, partner[rows]
    always = one[more], other[partner[more]]  # learned from in every fold
    # A partner was chosen among all rows, so it is near in any directions, right or
    # wrong. The more rows it was chosen among, the more of them it must beat.
    untested = [
        distinct_others(side, at) for side, at in zip((one, other), tested, strict=True)
    ]
    fold_of = rng.permutation(len(rows)) % settings.n_folds
    sums, counts = np.zeros(len(rows)), np.zeros(len(rows))
    for fold in range(settings.n_folds):
        test, learn = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        if min(len(test), len(learn)) <= settings.n_runners_up:
            return UNTESTED
        left, right = (
            np.concatenate([side[at[learn]], pairs])
            for side, at, pairs in zip((one, other), tested, always, strict=True)
        )
        cross = learn_again(left, right, settings)
        A, B = (
            side[np.concatenate([at[test], others])]
            for side, at, others in zip((one, other), tested, untested, strict=True)
        )
        for found, gain in tested_gains(cross, A, B, len(test), settings, rng):
            sums[test[found]] += gain
            counts[test[found]] += 1
        if fold == 0 and sums.sum() <= 0:
            break
    return weighted_mean(sums, counts)


def distinct_pairs(one: Array, other: Array, partner: Indices) -> Indices:
    """Find matched rows, one of each set of equal ones, which have no one partner."""
    rows = np.flatnonzero(partner >= 0)
    rows = rows[first_of_equal(one[rows])]
    return rows[first_of_equal(other[partner[rows]])]


def distinct_others(rows: Array, tested: Indices) -> Indices:
    """Find rows that equal none of those tested, one of each set of equal ones."""
    _, first, same = np.unique(bytes_of(rows), return_index=True, return_inverse=True)
    return np.sort(np.delete(first, same[tested]))


def first_of_equal(rows: Array) -> Indices:
    """Find rows that equal no earlier one."""
    return np.sort(np.unique(bytes_of(rows), return_index=True)[1])


def bytes_of(rows: Array) -> NDArray[np.void]:
    """Give rows as strings of bytes, which are compared at once."""
    width = rows.shape[1] * rows.itemsize
    return np.ascontiguousarray(rows).view(f"V{width}").ravel()


def learn_again(one: Array, other: Array, settings: Settings) -> Array:
    """Cross-correlation of matched rows, refined until it forgets who was left out.

    It starts from few directions at high temperature, and rows may change partners.
    """
    rows = join_rows(one, other)
    cross = one.T @ other / len(one)
    for schedule in relearning(settings):
        cross = cycle(cross, rows, settings, schedule)
    return cross


def relearning(settings: Settings) -> tuple[tuple[Step, ...], ...]:
    """Schedules of the cycles after which C has forgotten who was left out."""
    forgetting = settings.schedule[:1] * N_FORGETTING
    return forgetting, settings.schedule, settings.schedule


def tested_gains(
    cross: Array,
    one: Array,
    other: Array,
    n_tested: int,
    settings: Settings,
    rng: np.random.RandomState,
) -> list[tuple[Indices, Array]]:
    """Rows with a mutual best partner, and how much more alike it is, split by split.

    The first ``n_tested`` rows are tested; the others take part as candidates.
    """
    to_one, to_other, correlations = directions_of(cross, settings.schedule[-1][0])
    A, B = one @ (to_one * correlations), other @ (to_other * correlations)
    found = []
    for finding in splits_of(len(correlations), settings.n_splits, rng):
        sizes = n_tested, settings.n_runners_up
        found.append(gains_of_split((A, B), ~finding, *sizes))
    return found


def weighted_mean(sums: Array, counts: Array) -> Evidence:
    """Mean over rows, each with as much weight as it was tested, and its error."""
    tested = counts > 0
    if tested.sum() < FEWEST_TESTED:
        return UNTESTED
    values, weights = sums[tested] / counts[tested], counts[tested] / counts.sum()
    mean = float(weights @ values)
    error = np.sqrt(np.sum((weights * (values - mean)) ** 2))
    return Evidence(mean, float(error))


def agreement(one: Array, other: Array) -> float:
    """Cosine of two cross-correlations of the same views; 0 where one is zero."""
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(np.vdot(one, other) / (lengths or np.inf))


def was_tested(cross: Array, fits: list[PairFit]) -> bool:
    """Whether a matching is one of those that were tested."""
    return any(agreement(cross, fit.cross) > SAME for fit in fits)
