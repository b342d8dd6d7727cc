"""The probability that the best of several candidates is right.

It is learned from cases whose answer is known: a logistic regression tells right from
wrong by how good the best candidate is, and by how much better than the second.

That holds for new cases that are like the known ones. How typical a case is, is the
rank of a figure of it among those of known cases: the share of them whose figure is as
extreme or more, the new case itself included. For a case that is drawn like the known
ones every share is equally likely (a conformal p-value); one more extreme than all n
has 1 / (n + 1).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

__all__ = [
    "UNTYPICAL",
    "Calibration",
    "calibrate",
    "less_where_untypical",
    "share_as_large",
]

Array = NDArray[Any]

UNTYPICAL = 0.05  # share of known cases that may be called unlike the rest. Custom


class Calibration(NamedTuple):
    """Probability of a hit, from the score of the best candidate and its margin."""

    slopes: Array
    intercept: float
    known: Array
    """Scores of the best candidate of each known case, times −1 and sorted."""

    def probability(self, scores: Array) -> Array:
        """Give the probability that the best is right, from the scores of the best two.

        Parameters
        ----------
        scores : ndarray of shape (m, k)
            Of the candidates of each row, best first.

        Returns
        -------
        ndarray of shape (m,)
        """
        logit = _evidence(scores) @ self.slopes + self.intercept
        return np.asarray(expit(np.clip(logit, -30, 30)))

    def typical(self, scores: Array) -> Array:
        """Give the share of known cases whose best candidate has as low a score.

        Parameters
        ----------
        scores : ndarray of shape (m, k)

        Returns
        -------
        ndarray of shape (m,)
        """
        return share_as_large(-scores[:, 0], self.known)


def share_as_large(values: Array, known: Array) -> Array:
    """Give the share of known values that are as large as each value, or larger.

    Parameters
    ----------
    values : ndarray of shape (m,)
    known : ndarray of shape (n,)
        Sorted. Each value is counted as one of them, too.

    Examples
    --------
    >>> share_as_large(np.array([0.0, 2.5, 9.0]), np.array([1.0, 2.0, 3.0]))
    array([1.  , 0.5 , 0.25])
    """
    n_smaller = np.searchsorted(known, values, side="left")
    return np.asarray((len(known) - n_smaller + 1) / (len(known) + 1))


def less_where_untypical(probability: Array, typical: Array) -> Array:
    """Reduce the probability of cases that are unlike the known ones, in proportion."""
    return np.asarray(probability * np.minimum(typical / UNTYPICAL, 1))


def calibrate(scores: Array, hit: Array, weights: Array) -> Calibration:
    """Learn the probability of a hit from cases whose answer is known.

    Parameters
    ----------
    scores : ndarray of shape (m, k)
        Of the candidates of each case, best first.
    hit : ndarray of bool of shape (m,)
        Whether the best one was the right one.
    weights : ndarray of shape (m,)
        How much each case counts.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> near = np.array([[0.9, 0.2]] * 50 + [[0.5, 0.4]] * 50)
    >>> learned = calibrate(near, np.arange(100) < 50, np.ones(100))
    >>> learned.probability(near[[0, -1]]).round(1)
    array([1., 0.])
    """
    evidence = _evidence(scores)
    center, spread = evidence.mean(axis=0), evidence.std(axis=0)
    spread[spread < 1e-12] = 1  # rounding of equal numbers
    # One hit and one miss more than were seen: nothing is certain.
    standardised = np.vstack([(evidence - center) / spread, np.zeros((2, 2))])
    model = LogisticRegression(max_iter=1000)  # few cases: slopes are shrunk
    model.fit(
        standardised,
        np.append(hit, [True, False]),
        sample_weight=np.append(weights, [1.0, 1.0]),
    )
    slopes = model.coef_[0] / spread
    intercept = float(model.intercept_[0] - center @ slopes)
    return Calibration(slopes, intercept, np.sort(-scores[:, 0]))


def _evidence(scores: Array) -> Array:
    """How good the best candidate is, and by how much better than the second."""
    best = scores[:, 0]
    second = scores[:, 1] if scores.shape[1] > 1 else np.zeros(len(best))
    return np.column_stack([best, best - second])
