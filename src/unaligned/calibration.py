"""The probability that the best of several candidates is right.

It is learned from cases whose answer is known: a logistic regression tells right from
wrong by how good the best candidate is, and by how much better than the second.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

__all__ = ["Calibration", "calibrate"]

Array = NDArray[Any]


class Calibration(NamedTuple):
    """Probability of a hit, from the score of the best candidate and its margin."""

    slopes: Array
    intercept: float

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
        return np.asarray(1 / (1 + np.exp(-np.clip(logit, -30, 30))))


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
    return Calibration(slopes, float(model.intercept_[0] - center @ slopes))


def _evidence(scores: Array) -> Array:
    """How good the best candidate is, and by how much better than the second."""
    best = scores[:, 0]
    second = scores[:, 1] if scores.shape[1] > 1 else np.zeros(len(best))
    return np.column_stack([best, best - second])
