"""Nearest rows of translated vectors, and the probability that they are the right ones.

The probability is learned from pairs that had no part in learning the map: each is
looked up among all rows, and a logistic regression tells hits from misses by how near
the nearest row is, and by how much nearer than the second.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows

__all__ = ["Calibration", "Neighbors", "calibrate", "nearest_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class Neighbors(NamedTuple):
    """Rows of the other space that are nearest to translated vectors."""

    rows: Indices
    """Numbers of the nearest rows, nearest first: (m, k)."""
    similarity: Array
    """Cosines of the centred vectors: (m, k)."""
    confidence: Array
    """Probability that the nearest row is the counterpart, if there is one: (m,)."""


class Calibration(NamedTuple):
    """Probability of a hit, from the similarity of the nearest row and its margin."""

    slopes: Array
    intercept: float

    def probability(self, similarity: Array) -> Array:
        """Give the probability that nearest rows are right, from the two nearest."""
        logit = _evidence(similarity) @ self.slopes + self.intercept
        return np.asarray(1 / (1 + np.exp(-np.clip(logit, -30, 30))))


def nearest_rows(moved: Array, rows: Array, center: Array, k: int) -> tuple[Any, Any]:
    """Find the rows of largest cosine with translated vectors, around a centre.

    Parameters
    ----------
    moved : ndarray of shape (m, e)
    rows : ndarray of shape (n, e)
        At unit length, around the same centre.
    center : ndarray of shape (e,)
    k : int

    Returns
    -------
    rows : ndarray of shape (m, k)
    similarity : ndarray of shape (m, k)
    """
    asked = unit_rows((moved - center).astype(np.float32))
    return top_products(asked, rows, k)


def calibrate(similarity: Array, hit: Array, weights: Array) -> Calibration:
    """Learn the probability of a hit from lookups whose answer is known.

    Parameters
    ----------
    similarity : ndarray of shape (m, k)
        Of the nearest rows.
    hit : ndarray of bool of shape (m,)
        Whether the nearest one was the right one.
    weights : ndarray of shape (m,)
        How much each lookup counts.

    Examples
    --------
    >>> near = np.array([[0.9, 0.2]] * 50 + [[0.5, 0.4]] * 50)
    >>> learned = calibrate(near, np.arange(100) < 50, np.ones(100))
    >>> learned.probability(near[[0, -1]]).round(1)
    array([1., 0.])
    """
    # One hit and one miss more than were seen: nothing is certain.
    evidence = _evidence(similarity)
    middle = np.average(evidence, axis=0, weights=np.maximum(weights, 1e-12))
    evidence = np.vstack([evidence, middle, middle])
    hit = np.append(hit, [True, False])
    weights = np.append(weights, [1.0, 1.0])
    model = LogisticRegression(C=np.inf, max_iter=1000)
    model.fit(evidence, hit, sample_weight=weights)
    return Calibration(model.coef_[0], float(model.intercept_[0]))


def _evidence(similarity: Array) -> Array:
    """How near the nearest row is, and by how much nearer than the second."""
    nearest = similarity[:, 0]
    second = similarity[:, 1] if similarity.shape[1] > 1 else np.full(len(nearest), -1)
    return np.column_stack([nearest, nearest - second])
