"""Recipes that make partitions: every recipe clusters every space.

A space is a set of rows with features: one view on one scale, or all views together.
None of the recipes is best on all data; `consensus` chooses among what they make.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from unaligned.deadline import NEVER, Deadline
from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.features import N_NEIGHBORS, ViewFeatures, nearest_rows
from unaligned.partitions.kmeans import kmeans
from unaligned.savuc.geometry import whiten
from unaligned.savuc.shared_space import shared_directions

__all__ = [
    "RECIPES",
    "Space",
    "cluster_map",
    "joint_spaces",
    "make_partitions",
    "neighbor_graph",
    "space_of_points",
    "view_spaces",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_STARTS = 3  # of k-means; with ten, partitions are no better
DIFFUSION_TIME = 3  # steps of the random walk; 2 and 4 are as good, 1 and 8 worse


class Space:
    """Rows at unit length, and the graph of their nearest neighbours.

    Its eigenvectors are computed once: partitions into several numbers of clusters
    share them, best from the largest number to the smallest.
    """

    def __init__(self, points: Array, graph: Any) -> None:
        self.points = points
        self.graph = graph
        self._leading: tuple[Array, Array] | None = None

    def leading(self, wanted: int, rng: np.random.RandomState) -> tuple[Array, Array]:
        """Leading eigenvalues and eigenvectors, see `leading_vectors`."""
        wanted = min(wanted, self.graph.shape[0])
        if self._leading is None or len(self._leading[0]) < wanted:
            self._leading = leading_vectors(self.graph, wanted, rng)
        values, vectors = self._leading
        return values[:wanted], vectors[:, :wanted]


Recipe = Callable[[Space, int, np.random.RandomState], Labels]


def diffusion(space: Space, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """k-means of a diffusion map with half as many more eigenvectors as clusters.

    A cluster in parts, or one that shares its eigenvector, needs more eigenvectors than
    there are clusters; weights keep the further ones from mattering as much.
    """
    return kmeans(cluster_map(space, n_clusters, rng), n_clusters, rng, N_STARTS)


def cluster_map(space: Space, n_clusters: int, rng: np.random.RandomState) -> Array:
    """Diffusion map in which to look for a number of clusters."""
    return diffusion_map(space, n_clusters + max(n_clusters // 2, 1), rng)


def diffusion_map(space: Space, n_vectors: int, rng: np.random.RandomState) -> Array:
    """Eigenvectors of the graph, weighted by λᵗ, rows at unit length."""
    values, vectors = space.leading(n_vectors, rng)
    return unit_rows(vectors * np.maximum(values, 0) ** DIFFUSION_TIME)


def merging(space: Space, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """Twice as many clusters of a diffusion map, merged while modularity gains most.

    Where classes differ in size it splits large ones less than k-means does.
    """
    n_many = min(2 * n_clusters, len(space.points))
    many = kmeans(diffusion_map(space, n_many, rng), n_many, rng, N_STARTS)
    members = np.eye(n_many)[:, np.unique(many)][many]
    edges = members.T @ (space.graph @ members)
    edges /= edges.sum()
    names = np.arange(len(edges))
    while len(edges) > n_clusters:
        degrees = edges.sum(axis=1)
        gain = edges - np.outer(degrees, degrees)
        gain[np.tril_indices(len(edges))] = -np.inf
        kept, merged = np.unravel_index(np.argmax(gain), gain.shape)
        edges[kept] += edges[merged]
        edges[:, kept] += edges[:, merged]
        edges = np.delete(np.delete(edges, merged, axis=0), merged, axis=1)
        names[names == merged] = kept
        names[names > merged] -= 1
    return np.asarray(names[members.argmax(axis=1)], dtype=np.intp)


RECIPES: dict[str, Recipe] = {
    "diffusion": diffusion,
    "merging": merging,
}


def make_partitions(
    spaces: list[Space],
    n_clusters: int,
    rng: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> list[Labels]:
    """Cluster every space by every recipe, or so many of them as there is time for."""
    pool: list[Labels] = []
    for space, recipe in product(spaces, RECIPES.values()):
        if pool and deadline.over():
            break
        pool.append(recipe(space, n_clusters, rng))
    return pool


def view_spaces(features: ViewFeatures) -> list[Space]:
    """Two spaces of one view: its scales."""
    return [Space(scale.points, neighbor_graph(scale.neighbors)) for scale in features]


def space_of_points(points: Array, most: int = N_NEIGHBORS) -> Space:
    """Space of rows of any length, with so many neighbours at most."""
    points = np.asarray(unit_rows(points), dtype=np.float32)
    return Space(points, neighbor_graph(nearest_rows(points, most)))


def joint_spaces(features: list[ViewFeatures], ridge: float) -> list[Space]:
    """Four spaces of all views together: on both scales, two kinds.

    Points side by side, with the sum of the views' graphs; and coordinates along the
    directions that views share (generalised canonical correlations), with the sum of
    the graphs of what each view adds to them. ``ridge`` is a share of the mean variance
    that is added to every variance before points are whitened.
    """
    spaces, n_near = [], features[0].plain.neighbors.shape[1]
    for scales in zip(*features, strict=True):
        side_by_side = unit_rows(np.hstack([scale.points for scale in scales]))
        graphs = [neighbor_graph(scale.neighbors) for scale in scales]
        spaces.append(Space(side_by_side, sum(graphs)))
        centred = [scale.points - scale.points.mean(axis=0) for scale in scales]
        whitened = [whiten(rows, ridge) for rows in centred]
        shared = shared_directions(whitened)
        parts = [
            space_of_points(rows @ (directions * shared.weights), n_near)
            for rows, directions in zip(whitened, shared.of_views, strict=True)
        ]
        common = unit_rows(shared.common * shared.weights).astype(np.float32)
        spaces.append(Space(common, sum(part.graph for part in parts)))
    return spaces


def neighbor_graph(neighbors: Labels) -> Any:
    """Undirected graph of nearest neighbours; one-sided neighbours count half."""
    n, n_near = neighbors.shape
    starts = np.arange(0, n * n_near + 1, n_near)
    ones = np.ones(neighbors.size)
    graph = sparse.csr_array((ones, neighbors.ravel(), starts), shape=(n, n))
    return ((graph + graph.T) / 2).tocsr()


def leading_vectors(
    graph: Any, wanted: int, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of the normalised graph D⁻½ G D⁻½.

    Those of eigenvalue 1 are known: one for each connected part. They spare the solver
    a multiple eigenvalue, of which it finds too few vectors.
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = sparse.diags_array(1 / np.sqrt(degrees))
    matrix, known = root @ graph @ root, _part_vectors(graph, degrees, wanted)
    ones, missing = np.ones(known.shape[1]), wanted - known.shape[1]
    if missing == 0:
        return ones, known
    values, vectors = _further_vectors(matrix, known, missing, rng)
    return np.append(ones, values), np.hstack([known, vectors])


def _part_vectors(graph: Any, degrees: Array, wanted: int) -> Array:
    """Eigenvectors of eigenvalue 1, of the largest connected parts."""
    _, parts = connected_components(graph, directed=False)
    largest = np.argsort(-np.bincount(parts), kind="stable")[:wanted]
    vectors = (parts[:, None] == largest) * np.sqrt(degrees)[:, None]
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))


def _further_vectors(
    matrix: Any, known: Array, wanted: int, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Leading eigenpairs of a matrix of eigenvalues −1 to 1, but for known vectors."""
    n = len(known)
    if n > 10 * wanted and n > 300:  # else all eigenvectors are cheaper

        def without_known(v: Array) -> Array:
            return np.asarray(matrix @ v - 2 * (known @ (known.T @ v)))

        rest = LinearOperator((n, n), matvec=without_known, dtype=np.float64)
        start = rng.uniform(-1, 1, size=n)
        try:
            values, vectors = eigsh(rest, wanted, which="LA", v0=start, tol=1e-4)
            return values[::-1], vectors[:, ::-1]
        except ArpackNoConvergence:
            pass
    dense = matrix.toarray() - 2 * known @ known.T
    values, vectors = eigh(dense, subset_by_index=[n - wanted, n - 1])
    return values[::-1], vectors[:, ::-1]
