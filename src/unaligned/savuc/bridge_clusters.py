"""Clusters of all rows of linked views, with one naming.

All rows of all views are partitioned several times, into as many clusters as are
wanted up to twice as many: by their diffusion and by their principal coordinates, in
all views side by side and in each view alone. A partition counts as much as the
coordinates it was made from are predicted from other views. The partitions are
reconciled: rows are embedded by who shares clusters with whom, and clustered once more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.base import cluster_rows
from unaligned.deadline import NEVER, Deadline
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.bridge import Bridge, Space
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import leading_vectors
from unaligned.savuc.joint_space import joint_blocks

__all__ = ["cluster_linked", "consensus_rows", "cut_rows", "space_quality"]

Array = NDArray[Any]
Labels = NDArray[np.intp]
Clusterer = Callable[[Array, int, np.random.RandomState], Labels]

SPACES: tuple[Space, ...] = ("diffusion", "principal")
N_TOGETHER, N_ALONE = 10, 5  # partitions of a space: of all views, of each view


def cluster_linked(
    bridge: Bridge,
    n_clusters: int,
    cluster: Clusterer,
    rng: np.random.RandomState,
    groups: list[tuple[int, ...]] | None = None,
    deadline: Deadline = NEVER,
) -> list[Labels]:
    """Label all rows of all views.

    Parameters
    ----------
    bridge : Bridge
    n_clusters : int
    cluster : callable
        ``cluster(points, n_clusters, rng)`` gives the labels of the reconciled rows.
    rng : RandomState
    groups : list of tuple of int, default=None
        Only these groups of linked views; the rows of others have no labels.
    deadline : Deadline
        `TimeIsUp` is raised where it cannot be met.

    Returns
    -------
    list of ndarray of shape (n_i,)
        One naming for the views of a group; views of different groups have nothing in
        common but the numbers.
    """
    labels: list[Labels] = [np.empty(0, dtype=np.intp)] * len(bridge.features)
    blocks = joint_blocks(bridge, deadline)
    for group in bridge.groups if groups is None else groups:
        partitions: list[Labels] = []
        weights: list[float] = []
        for space in SPACES:
            # All rows of the group in view j, for every j.
            rows = {
                j: np.vstack([blocks[i][j][:, bridge.columns(j, space)] for i in group])
                for j in group
            }
            quality = {j: space_quality(bridge, group, j, space) for j in group}
            together = np.hstack([*rows.values()])
            partitions += _partition(together, n_clusters, N_TOGETHER, rng, deadline)
            weights += [float(np.mean([*quality.values()]))] * N_TOGETHER
            for j in group:
                partitions += _partition(rows[j], n_clusters, N_ALONE, rng, deadline)
                # The views alone count as much as all together.
                share = N_TOGETHER / (N_ALONE * len(group))
                weights += [quality[j] * share] * N_ALONE
        embedded = consensus_rows(partitions, np.array(weights), n_clusters)
        ends = np.cumsum([len(bridge.features[i]) for i in group])[:-1]
        found = np.split(cluster(embedded, n_clusters, rng), ends)
        for i, of_view in zip(group, found, strict=True):
            labels[i] = of_view.astype(np.intp)
    return labels


def _partition(
    rows: Array,
    n_clusters: int,
    times: int,
    rng: np.random.RandomState,
    deadline: Deadline,
) -> list[Labels]:
    """Partition rows by k-means from one start, into k to 2k clusters."""
    deadline.check()
    rows = cut_rows(unit_rows(rows))
    numbers = np.linspace(n_clusters, 2 * n_clusters, times).round().astype(int)
    found = []
    for k in numbers:
        deadline.check()
        seed = rng.randint(2**31 - 1)
        found.append(cluster_rows(rows, min(k, len(rows)), n_init=1, seed=seed)[0])
    return found


def cut_rows(rows: Array) -> Array:
    """Keep fifty principal directions of rows, for speed."""
    centred = rows - rows.mean(axis=0)
    kept = leading_vectors(
        centred.T @ centred, min(Settings().n_directions, rows.shape[1])
    )
    cut: Array = centred @ kept
    return cut


def space_quality(
    bridge: Bridge, group: tuple[int, ...], j: int, space: Space
) -> float:
    """Share of variance of a view's coordinates that is explained from other views.

    Of rows left out, mean over its links; 1 without any link.
    """
    found = [
        bridge.regression(i, j).explained_of(bridge.columns(j, space))
        for i in group
        if (min(i, j), max(i, j)) in bridge.links
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
