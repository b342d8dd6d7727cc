"""Families: partitions of one space into many numbers of clusters at little cost.

The recipes of `unaligned.savuc.recipes` cluster a space into one number of clusters,
from several random starts. Here trees are cut into every number, and k-means starts
from their branches: one start is enough, and it is near its end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from unaligned.partitions.kmeans import kmeans_from
from unaligned.savuc.recipes import Space, cluster_map

__all__ = ["branches", "make_families", "ward_tree"]

Array = NDArray[Any]
Labels = NDArray[np.intp]


def make_families(
    space: Space, numbers: list[int], rng: np.random.RandomState
) -> list[dict[int, Labels]]:
    """Cluster a space in two ways, each into all of the numbers of clusters.

    k-means of the points starts from the branches of their Ward tree, and k-means of a
    diffusion map from those of the map for the largest number. The branches are no
    partitions of their own: k-means would agree with them since it starts there.

    Parameters
    ----------
    space : Space
    numbers : list of int
        Numbers of clusters, none larger than the number of distinct rows.
    rng : RandomState

    Returns
    -------
    list of two dicts
        Number of clusters to labels.
    """
    # The largest number first: its eigenvectors hold those of all others.
    tree_of_map = ward_tree(cluster_map(space, max(numbers), rng))
    tree = ward_tree(space.points)
    return [
        {k: kmeans_from(space.points, branches(tree, k)) for k in numbers},
        {
            k: kmeans_from(cluster_map(space, k, rng), branches(tree_of_map, k))
            for k in numbers
        },
    ]


def ward_tree(points: Array) -> Array:
    """Ward's tree of points."""
    points = points.astype(np.float64)
    squares = np.einsum("jd,jd->j", points, points)
    table = squares + squares[:, None]
    table -= 2 * points @ points.T
    distances = squareform(table, checks=False)  # each pair once
    np.sqrt(np.maximum(distances, 0, out=distances), out=distances)
    return np.asarray(linkage(distances, "ward"))


def branches(tree: Array, n_clusters: int) -> Labels:
    """Cut a tree where it has as many branches as clusters."""
    return np.asarray(fcluster(tree, n_clusters, "maxclust") - 1, dtype=np.intp)
