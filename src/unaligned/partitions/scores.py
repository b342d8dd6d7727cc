"""Scores of a partition of rows, from the features of a view and without labels.

A partition that follows the structure of a view can be predicted from it: from the
labels of a row's nearest neighbours, and by a linear discriminant that is fitted on
other rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax

from unaligned.partitions.features import ViewFeatures

__all__ = [
    "Discriminant",
    "draw_halves",
    "fit_discriminant",
    "information",
    "joint_predictability",
    "modularity",
    "neighbor_shares",
    "predictability",
    "predictions",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

# Half for the discriminant, half for neighbours: both kinds of evidence weigh the same.
WEIGHTS = 0.5, 0.25, 0.25  # of the discriminant, and of neighbours on both scales
RIDGE = 0.05  # added to variances within classes, as a share of their mean
LOWEST, HIGHEST = 0.01, 0.99  # of predictability, so that its logarithms are finite


def neighbor_shares(neighbors: Labels, labels: Labels, n_clusters: int) -> Array:
    """Share of a row's neighbours in every cluster: (rows, n_clusters)."""
    m, n_near = neighbors.shape
    cells = np.arange(m)[:, None] * n_clusters + labels[neighbors]
    counts = np.bincount(cells.ravel(), minlength=m * n_clusters)
    return counts.reshape(m, n_clusters) / n_near


def information(one: Labels, other: Labels, n_clusters: int) -> float:
    """Mutual information of two partitions, over the log of the number of clusters.

    Not over their entropies: a partition of one big cluster and outliers has little
    entropy, and would seem well predicted.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([0, 0, 1, 1])
    >>> information(one, 1 - one, 2), information(one, np.array([0, 1, 0, 1]), 2)
    (1.0, 0.0)
    """
    cells = np.bincount(one * n_clusters + other, minlength=n_clusters**2)
    joint = cells.reshape(n_clusters, n_clusters) / len(one)
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = joint > 0
    shared = np.sum(joint[there] * np.log(joint[there] / apart[there]))
    return float(max(shared, 0.0) / np.log(n_clusters))


def modularity(neighbors: Labels, labels: Labels, n_clusters: int) -> float:
    """Share of neighbours in one cluster, less what cluster sizes let expect.

    Newman's modularity of the undirected graph of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> neighbors = np.array([[1], [0], [3], [2]])
    >>> together, apart = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> modularity(neighbors, together, 2), modularity(neighbors, apart, 2)
    (0.5, -0.5)
    """
    n, n_near = neighbors.shape
    degrees = (n_near + np.bincount(neighbors.ravel(), minlength=n)) / 2
    shares = np.bincount(labels, degrees, minlength=n_clusters) / degrees.sum()
    return float(np.mean(labels[neighbors] == labels[:, None]) - shares @ shares)


class Discriminant(NamedTuple):
    """Linear discriminant: one Gaussian per class, all with one covariance."""

    slopes: Array
    intercepts: Array

    def log_probabilities(self, points: Array) -> Array:
        """Log probability of every class, for every row."""
        scores = points @ self.slopes + self.intercepts
        return np.asarray(log_softmax(scores, axis=1))


def fit_discriminant(points: Array, labels: Labels, n_clusters: int) -> Discriminant:
    """Fit means, shares and one covariance; an empty class is never predicted."""
    n, d = points.shape
    members = sparse.csr_array(
        (np.ones(n), (labels, np.arange(n))), shape=(n_clusters, n)
    )
    points = points.astype(np.float64)
    sizes = np.bincount(labels, minlength=n_clusters)
    means = (members @ points) / np.maximum(sizes, 1)[:, None]
    within = points.T @ points / n - (means * (sizes / n)[:, None]).T @ means
    # Where classes have no extent, a trace of the whole keeps the matrix regular.
    floor = 1e-6 * points.var(axis=0).sum() or 1.0
    within[np.diag_indices(d)] += max(RIDGE * np.trace(within), floor) / d
    slopes = cho_solve(cho_factor(within), means.T)
    log_shares = np.full(n_clusters, -np.inf)
    log_shares[sizes > 0] = np.log(sizes[sizes > 0] / n)
    return Discriminant(slopes, log_shares - 0.5 * np.sum(means.T * slopes, axis=0))


def draw_halves(n: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Split rows in two halves at random, as a mask."""
    half = np.zeros(n, dtype=bool)
    half[rng.permutation(n)[: n // 2]] = True
    return half


def predictions(
    views: list[ViewFeatures],
    labels: Labels,
    n_clusters: int,
    half: NDArray[np.bool_],
) -> list[Labels]:
    """Predict the label of every row from other rows, in three ways.

    By a discriminant that is fitted on the other half of the rows, and by the majority
    of the neighbours on both scales. Points and neighbours of several views stand side
    by side.
    """
    points = np.hstack([features.standard.points for features in views])
    linear = np.empty_like(labels)
    for learn in (half, ~half):
        fitted = fit_discriminant(points[learn], labels[learn], n_clusters)
        linear[~learn] = fitted.log_probabilities(points[~learn]).argmax(axis=1)
    majorities = []
    for scales in zip(*views, strict=True):
        neighbors = np.hstack([scale.neighbors for scale in scales])
        shares = neighbor_shares(neighbors, labels, n_clusters)
        majorities.append(shares.argmax(axis=1))
    return [linear, *majorities]


def predictability(
    features: ViewFeatures, labels: Labels, n_clusters: int, half: NDArray[np.bool_]
) -> float:
    """How well a partition of the rows is predicted from a view, from 0.01 to 0.99.

    The weighted mean of the information between the labels and their `predictions`.

    Parameters
    ----------
    features : ViewFeatures
    labels : ndarray of int of shape (n,)
        From 0 to ``n_clusters`` − 1.
    n_clusters : int
        At least 2.
    half : boolean mask of shape (n,)
        The rows that the discriminant is fitted on to predict the others, and back.
    """
    return joint_predictability([features], labels, n_clusters, half)


def joint_predictability(
    views: list[ViewFeatures],
    labels: Labels,
    n_clusters: int,
    half: NDArray[np.bool_],
) -> float:
    """How well a partition is predicted from aligned views together.

    As `predictability`, which it is for one view.
    """
    predicted = predictions(views, labels, n_clusters, half)
    values = [information(labels, found, n_clusters) for found in predicted]
    return float(np.clip(np.dot(WEIGHTS, values), LOWEST, HIGHEST))
