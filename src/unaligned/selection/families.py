"""Families: partitions of one space into many numbers of clusters at little cost.

The recipes of `unaligned.savuc.recipes` cluster a space into one number of clusters,
from random starts. Here two trees, of the points and of their diffusion map, are cut
into every number, and k-means starts from their branches: one start is enough, and it
is near its end.
"""

import numpy as np
from numpy.typing import NDArray

from unaligned.partitions.kmeans import kmeans_from
from unaligned.savuc.recipes import (
    Space,
    diffusion_map,
    half_more,
    merge_clusters,
    ward,
)

__all__ = ["make_families"]

Labels = NDArray[np.intp]


def make_families(
    space: Space, numbers: list[int], rng: np.random.RandomState
) -> list[dict[int, Labels]]:
    """Cluster a space in four ways, each into all of the numbers of clusters.

    Ward's tree of the points; k-means of the points; k-means of a diffusion map; and
    clusters of the diffusion map, merged while modularity gains most. k-means starts
    from the branches of Ward's tree of the same points or map.

    Parameters
    ----------
    space : Space
        Of at least as many distinct rows as there are clusters.
    numbers : list of int
        Numbers of clusters.
    rng : RandomState

    Returns
    -------
    list of four dicts
        Number of clusters to labels.
    """
    most = max(numbers)
    trees = {k: ward(space, k, rng) for k in numbers}
    points = {k: kmeans_from(space.points, trees[k]) for k in numbers}
    # The map of most vectors has a tree of its own, from which the others start.
    mapped = Space(diffusion_map(space, half_more(most), rng), space.graph)
    diffusion = {
        k: kmeans_from(diffusion_map(space, half_more(k), rng), ward(mapped, k, rng))
        for k in numbers
    }
    many = ward(mapped, min(2 * most, len(space.points)), rng)
    return [trees, points, diffusion, merge_clusters(space.graph, many, numbers)]
