"""Rows of one view in the own columns of another, estimated from known pairs."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_regression import Ridge, fit_ridge

__all__ = ["Translation", "fit_translation"]

Array = NDArray[Any]

N_COLUMNS = 1000  # target columns estimated at a time


class Translation(NamedTuple):
    """A way from the features of one view to the columns of another."""

    steps: list[Ridge]
    """From view to view, in features; the last one leads to columns."""

    def estimate(self, features: Array) -> tuple[Array, Array]:
        """Estimate rows in the columns of the other view, with standard errors.

        Parameters
        ----------
        features : ndarray of shape (m, d)
            Of rows of the first view: `Bridge.features`, or `Bridge.read` of new rows.

        Returns
        -------
        estimate : ndarray of shape (m, n_columns)
        error : ndarray of shape (m, n_columns)
            Root of the expected squared error of each entry.
        """
        carried = np.zeros((len(features), 1))
        for step in self.steps:
            # The error so far, as if even over features, is carried on by the slopes.
            carried = carried.mean(axis=1)[:, None] * (step.slopes**2).sum(axis=0)
            carried = carried + np.outer(step.inflation(features), step.variance)
            features = step.predict(features)
        return features.astype(np.float32), np.sqrt(carried).astype(np.float32)


def fit_translation(bridge: Bridge, X: Any, i: int, j: int) -> Translation:
    """Learn to estimate the columns of view j from view i.

    Parameters
    ----------
    bridge : Bridge
    X : ndarray or CSR array of shape (n_j, n_columns)
        View j, as the bridge was fitted on it.
    i, j : int
        Two views of a group.
    """
    *steps, last = pairwise(bridge.way(i, j))
    rows_at, rows_to, weights = bridge.known(*last)
    # Features stand for the columns in the choice of a penalty.
    penalty = bridge.regression(*last).penalty
    to_columns = _to_columns(
        bridge.features[last[0]][rows_at], X, rows_to, weights, penalty
    )
    return Translation([*(bridge.regression(*step) for step in steps), to_columns])


def _to_columns(
    known: Array, X: Any, rows: Array, weights: Array, penalty: float
) -> Ridge:
    """Fit all columns with one penalty, some at a time."""
    parts = []
    for start in range(0, X.shape[1], N_COLUMNS):
        block = X[rows][:, start : start + N_COLUMNS]
        block = block.toarray() if sparse.issparse(block) else np.asarray(block)
        part = fit_ridge(known, block, weights, (penalty,))
        parts.append(part._replace(left_out=np.empty((0, 0))))
    return max(parts, key=lambda part: part.typical)._replace(
        slopes=np.hstack([part.slopes for part in parts]),
        intercept=np.hstack([part.intercept for part in parts]),
        variance=np.hstack([part.variance for part in parts]),
        total=np.hstack([part.total for part in parts]),
    )
