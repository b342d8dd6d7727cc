"""Families: partitions of one space into many numbers of clusters at little cost.

The recipes of `unaligned.savuc.recipes` cluster a space into one number of clusters,
from several random starts. Here trees are cut into every number, and k-means starts
from their branches: one start is enough, and it is near its end.
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
    mapped = Space(cluster_map(space, max(numbers), rng), space.graph)
    return [
        {k: kmeans_from(space.points, ward(space, k, rng)) for k in numbers},
        {
            k: kmeans_from(cluster_map(space, k, rng), ward(mapped, k, rng))
            for k in numbers
        },
    ]
