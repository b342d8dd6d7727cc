"""Criteria for the number of clusters, to be compared in `number_of_clusters`.

Each scores every number of clusters in one view, larger being better.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, silhouette_score

from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.scores import WEIGHTS, draw_halves, predictions
from unaligned.savuc.recipes import view_spaces

N_FEW = 500  # rows for scores that compare all rows
N_SAMPLES, SHARE = 6, 0.7  # samples of rows for stability
N_REFERENCES = 5  # draws without clusters for the gap


class Partitions(NamedTuple):
    """Partitions of a view by number of clusters."""

    classes: np.ndarray
    features: object
    by_number: dict
    chosen: dict
    """The one that agrees most with the others, which SAVuC takes."""


def predict(view, ks):
    """Compare the chosen partition with its predictions."""
    half = draw_halves(len(view.classes), np.random.RandomState(0))
    found = []
    for k in ks:
        labels = view.chosen[k]
        predicted = predictions([view.features], labels, k, half)
        scores = [adjusted_rand_score(labels, other) for other in predicted]
        found.append(np.dot(WEIGHTS, scores))
    return found


def silhouette(view, ks):
    """Silhouette of the chosen partition."""
    few = np.random.RandomState(0).permutation(len(view.classes))[:N_FEW]
    found = []
    for k in ks:
        labels = view.chosen[k][few]
        several = 1 < len(np.unique(labels)) < len(few)
        scores = [
            silhouette_score(s.points[few], labels) if several else -1.0
            for s in view.features
        ]
        found.append(np.mean(scores))
    return found


def ward_tree(points):
    """Ward's tree."""
    return linkage(points.astype(np.float64), "ward")


def stable(view, ks):
    """Compare Ward's clusters of two samples of the rows."""
    n, rng = len(view.classes), np.random.RandomState(0)
    samples = [np.sort(rng.permutation(n)[: int(SHARE * n)]) for _ in range(N_SAMPLES)]
    scores = np.zeros(len(ks))
    for scale in view.features:
        trees = [ward_tree(scale.points[rows]) for rows in samples]
        for at, k in enumerate(ks):
            cut = np.full((N_SAMPLES, n), -1)
            for labels, rows, tree in zip(cut, samples, trees, strict=True):
                labels[rows] = fcluster(tree, k, "maxclust")
            pairs = []
            for one, other in combinations(cut, 2):
                both = (one >= 0) & (other >= 0)
                pairs.append(adjusted_rand_score(one[both], other[both]))
            scores[at] += np.mean(pairs) / 2
    return scores


def eigengap(view, ks):
    """Gap after the k-th eigenvalue of the normalised graph."""
    found = []
    for space in view_spaces(view.features):
        values, _ = space.leading(max(ks) + 1, np.random.RandomState(0))
        found.append(values[np.array(ks) - 1] - values[ks])
    return np.mean(found, axis=0)


def gap(view, ks):
    """Log of the spread within Ward's clusters, against one Gaussian (Tibshirani)."""
    rng, found = np.random.RandomState(0), []
    for scale in view.features:
        points = scale.points.astype(np.float64)
        mean, covariance = points.mean(axis=0), np.cov(points.T)
        references = [
            unit_rows(rng.multivariate_normal(mean, covariance, len(points)))
            for _ in range(N_REFERENCES)
        ]
        spreads = [log_spread(reference, ks) for reference in references]
        found.append(np.mean(spreads, axis=0) - log_spread(points, ks))
    return np.mean(found, axis=0)


def log_spread(points, ks):
    """Log of the sum of squares within Ward's clusters, for every number of them."""
    joined = np.append(0, np.cumsum(ward_tree(points)[:, 2] ** 2 / 2))
    return np.log(np.maximum(joined[len(points) - np.array(ks)], 1e-12))


# Beside those of the library.
CRITERIA = {
    "predictability": predict,
    "silhouette": silhouette,
    "stability of samples": stable,
    "eigengap": eigengap,
    "gap": gap,
}
