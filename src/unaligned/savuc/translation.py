"""Rows of one view in the own columns of another, estimated from known pairs."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_regression import Ridge, fit_ridge
from unaligned.savuc.geometry import Geometry

__all__ = ["Translation", "fit_translation", "translation_features"]

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
            `translation_features` of rows of the first view.

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


def translation_features(bridge: Bridge, points: Array, view: int) -> Array:
    """Principal and diffusion coordinates of rows, side by side.

    Parameters
    ----------
    bridge : Bridge
    points : ndarray of shape (m, d)
        Principal coordinates of rows of the view, `Geometry.points` or `.read`.
    view : int
    """
    return np.hstack([points, bridge.graphs[view].read(points)])


def fit_translation(
    bridge: Bridge, geometries: list[Geometry], X: Any, i: int, j: int
) -> Translation:
    """Learn to estimate the columns of view j from view i.

    Parameters
    ----------
    bridge : Bridge
    geometries : list of Geometry
        Those the bridge was fitted on.
    X : ndarray or CSR array of shape (n_j, n_columns)
        View j.
    i, j : int
        Two views of a group.
    """
    features = [
        np.hstack([geometry.points, graph.points])
        for geometry, graph in zip(geometries, bridge.graphs, strict=True)
    ]
    steps = []
    for at, to in pairwise(bridge.way(i, j)):
        rows_at, rows_to, weights = bridge.known(at, to)
        known, target = features[at][rows_at], features[to][rows_to]
        if to != j:
            steps.append(fit_ridge(known, target, weights))
        else:
            # Principal coordinates stand for all columns in the choice of a penalty.
            fit = fit_ridge(known, geometries[j].points[rows_to], weights)
            steps.append(_to_columns(known, X, rows_to, weights, fit.penalty))
    return Translation(steps)


def _to_columns(
    known: Array, X: Any, rows: Array, weights: Array, penalty: float
) -> Ridge:
    """Fit all columns with one penalty, some at a time."""
    tried = (penalty,) if penalty < np.inf else ()
    parts = []
    for start in range(0, X.shape[1], N_COLUMNS):
        block = X[rows][:, start : start + N_COLUMNS]
        block = block.toarray() if sparse.issparse(block) else np.asarray(block)
        part = fit_ridge(known, block, weights, tried)
        parts.append(part._replace(left_out=np.empty((0, 0))))
    return max(parts, key=lambda part: part.typical)._replace(
        slopes=np.hstack([part.slopes for part in parts]),
        intercept=np.hstack([part.intercept for part in parts]),
        variance=np.hstack([part.variance for part in parts]),
        total=np.hstack([part.total for part in parts]),
    )
