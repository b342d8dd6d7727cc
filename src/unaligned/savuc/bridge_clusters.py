"""Clusters of all rows of linked views, with one naming.

All rows of all views are clustered several times in each joint space, into as many
clusters as are wanted up to twice as many. The partitions are reconciled: rows are
embedded by who shares clusters with whom, and clustered once more. A partition counts
as much as the coordinates of its space are predicted from view to view.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.base import cluster_rows
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.bridge import Bridge, Space
from unaligned.savuc.geometry import N_DIRECTIONS, leading_vectors
from unaligned.savuc.joint_space import joint_coordinates

__all__ = ["cluster_linked", "consensus_rows", "space_quality"]

Array = NDArray[Any]
Labels = NDArray[np.intp]
Clusterer = Callable[[Array, int, np.random.RandomState], Labels]

SPACES: tuple[Space, ...] = ("diffusion", "principal")
N_PARTITIONS = 10  # of each space


def cluster_linked(
    bridge: Bridge, n_clusters: int, cluster: Clusterer, rng: np.random.RandomState
) -> list[Labels]:
    """Label all rows of all views.

    Parameters
    ----------
    bridge : Bridge
    n_clusters : int
    cluster : callable
        ``cluster(points, n_clusters, rng)`` gives the labels of the reconciled rows.
    rng : RandomState

    Returns
    -------
    list of ndarray of shape (n_i,)
        One naming for the views of a group; views of different groups have nothing in
        common but the numbers.
    """
    labels: list[Labels] = [np.empty(0, dtype=np.intp)] * len(bridge.features)
    placed = {space: joint_coordinates(bridge, space) for space in SPACES}
    for group in bridge.groups:
        partitions, weights = [], []
        for space in SPACES:
            rows = _cut(np.vstack([placed[space][i] for i in group]))
            for at in range(N_PARTITIONS):
                many = round(n_clusters * (1 + at / (N_PARTITIONS - 1)))
                wanted, seed = min(many, len(rows)), rng.randint(2**31 - 1)
                partitions.append(cluster_rows(rows, wanted, n_init=1, seed=seed)[0])
                weights.append(space_quality(bridge, group, space))
        embedded = consensus_rows(partitions, np.array(weights), n_clusters)
        ends = np.cumsum([len(bridge.features[i]) for i in group])[:-1]
        found = np.split(cluster(embedded, n_clusters, rng), ends)
        for i, of_view in zip(group, found, strict=True):
            labels[i] = of_view.astype(np.intp)
    return labels


def _cut(rows: Array) -> Array:
    """Keep the principal directions of rows, for speed."""
    centred = rows - rows.mean(axis=0)
    kept = leading_vectors(centred.T @ centred, min(N_DIRECTIONS, rows.shape[1]))
    cut: Array = centred @ kept
    return cut


def space_quality(bridge: Bridge, group: tuple[int, ...], space: Space) -> float:
    """Mean share of variance of a space that is explained from view to view.

    Of rows left out, over the links of a group; 1 without any link.
    """
    found = [
        fit.explained_of(bridge.columns(to, space))
        for (i, j), link in bridge.links.items()
        for fit, to in ((link.there, j), (link.back, i))
        if i in group
    ]
    return float(np.mean(found)) if found else 1.0


def consensus_rows(partitions: list[Labels], weights: Array, n_clusters: int) -> Array:
    """Embed rows by the clusters they are in.

    Rows and clusters are the two sides of a graph; with H the memberships, each
    cluster's column over the root of its size and times the root of its partition's
    weight, the embedding is H's leading left singular vectors, rows at unit length.

    Examples
    --------
    >>> import numpy as np
    >>> agreed, odd = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> rows = consensus_rows([agreed, 1 - agreed, odd], np.ones(3), 2)
    >>> (rows @ rows.T).round(1)[0]
    array([1. , 1. , 0.2, 0.2])
    """
    n = len(partitions[0])
    # Where nothing is explained at all, all partitions count alike.
    weights = weights if weights.any() else np.ones(len(partitions))
    blocks = []
    for labels, weight in zip(partitions, weights, strict=True):
        sizes = np.maximum(np.bincount(labels), 1)
        entries = np.sqrt(weight / sizes[labels])
        blocks.append(sparse.csr_array((entries, (np.arange(n), labels))))
    H = sparse.hstack(blocks, format="csr")
    vectors = leading_vectors((H.T @ H).toarray(), min(n_clusters, H.shape[1]))
    return unit_rows(H @ vectors)
