"""Clusters of all rows of linked views, with one naming.

Rows are clustered in a joint space, in diffusion and in principal coordinates. In each
case discriminants of the views then label the rows again: known partners together, by
the sum of their log probabilities. The partition that is predicted better from the
views is taken.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.savuc.bridge import Bridge, joint_coordinates
from unaligned.savuc.predictability import draw_halves, fit_discriminant, information

__all__ = ["cluster_linked"]

Array = NDArray[Any]
Labels = NDArray[np.intp]
Clusterer = Callable[[Array, int, np.random.RandomState], Labels]

N_ROUNDS = 3  # of labelling again; most rows change in the first
LEAST = -20.0  # log probability of a class, at least: one view must not decide alone


def cluster_linked(
    bridge: Bridge, n_clusters: int, cluster: Clusterer, rng: np.random.RandomState
) -> list[Labels]:
    """Label all rows of all views.

    Parameters
    ----------
    bridge : Bridge
    n_clusters : int
        At least 2.
    cluster : callable
        ``cluster(points, n_clusters, rng)`` gives labels from 0 to n_clusters − 1.
    rng : RandomState

    Returns
    -------
    list of ndarray of shape (n_i,)
        One naming for the views of a group; views of different groups have nothing in
        common but the numbers.
    """
    spaces = [joint_coordinates(bridge, "diffusion")]
    spaces.append(joint_coordinates(bridge, "principal"))
    halves = [draw_halves(len(features), rng) for features in bridge.features]
    labels: list[Labels] = [np.empty(0, dtype=np.intp)] * len(bridge.features)
    for group in bridge.groups:
        ends = np.cumsum([len(bridge.features[i]) for i in group])[:-1]
        best = -np.inf
        for placed in spaces:
            rows = np.vstack([placed[i] for i in group])
            found = np.split(cluster(rows, n_clusters, rng), ends)
            tried = dict(zip(group, found, strict=True))
            for _ in range(N_ROUNDS):
                tried = _label_again(bridge, tried, n_clusters)
            score = np.mean(
                [
                    _predicted(bridge.features[i], tried[i], n_clusters, halves[i])
                    for i in group
                ]
            )
            if score > best:
                best = float(score)
                for i in group:
                    labels[i] = tried[i]
    return labels


def _label_again(
    bridge: Bridge, labels: dict[int, Labels], n_clusters: int
) -> dict[int, Labels]:
    """Label rows by the discriminants of the views that they are known in."""
    own = {}
    for i, of_view in labels.items():
        centred = bridge.features[i] - bridge.features[i].mean(axis=0)
        fitted = fit_discriminant(centred, of_view, n_clusters)
        own[i] = np.maximum(fitted.log_probabilities(centred), LEAST)
    summed = {i: scores.copy() for i, scores in own.items()}
    for (i, j), link in bridge.links.items():
        if i in labels:
            rows_i, rows_j = link.rows
            sure = link.weights[:, None]
            summed[i][rows_i] += sure * own[j][rows_j]
            summed[j][rows_j] += sure * own[i][rows_i]
    return {i: scores.argmax(axis=1) for i, scores in summed.items()}


def _predicted(
    features: Array, labels: Labels, n_clusters: int, half: NDArray[np.bool_]
) -> float:
    """Information on labels in what a discriminant of the other half of rows says."""
    told = np.empty_like(labels)
    for learn in (half, ~half):
        if not learn.any():
            return 0.0
        center = features[learn].mean(axis=0)
        fitted = fit_discriminant(features[learn] - center, labels[learn], n_clusters)
        told[~learn] = fitted.log_probabilities(features[~learn] - center).argmax(
            axis=1
        )
    return information(labels, told, n_clusters)
