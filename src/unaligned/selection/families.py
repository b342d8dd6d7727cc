"""Families: partitions of one space into many numbers of clusters at little cost.

The recipes of `unaligned.savuc.recipes` cluster a space into one number of clusters,
from random starts. Here two trees, of the points and of their diffusion map, are cut
into every number, and k-means starts from their branches: one start is enough, and it
is near its end.
"""

import numpy as np
from numpy.typing import NDArray

from unaligned.partitions.kmeans import kmeans_from
from unaligned.savuc.recipes import Space, cluster_map, ward

__all__ = ["make_families"]

Labels = NDArray[np.intp]


def make_families(
    space: Space, numbers: list[int], rng: np.random.RandomState
) -> list[dict[int, Labels]]:
    """Cluster a space in three ways, each into all of the numbers of clusters.

    Ward's tree of the points; k-means of the points; and k-means of a diffusion map.
    k-means starts from the branches of Ward's tree, of the points or of the map for the
    largest number.

    Parameters
    ----------
    space : Space
    numbers : list of int
        Numbers of clusters, none larger than the number of distinct rows.
    rng : RandomState

    Returns
    -------
    list of three dicts
        Number of clusters to labels.
    """
    # The largest number first: its eigenvectors hold those of all others.
    mapped = Space(cluster_map(space, max(numbers), rng), space.graph)
    trees = {k: ward(space, k, rng) for k in numbers}
    points = {k: kmeans_from(space.points, trees[k]) for k in numbers}
    diffusion = {
        k: kmeans_from(cluster_map(space, k, rng), ward(mapped, k, rng))
        for k in numbers
    }
    return [trees, points, diffusion]
