"""Recipes that make partitions, of one view or of all views together.

None of them is best on all data; `fusion` chooses among what they make.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from unaligned.base import cluster_rows
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.geometry import spread_of
from unaligned.savuc.predictability import Array, Labels, Portrait, leading, nearest
from unaligned.savuc.shared_space import shared_directions

__all__ = [
    "all_partitions",
    "fused_partitions",
    "graph_of",
    "kmeans",
    "own_partitions",
    "spectral",
]

N_MIXED = 20  # directions of Gaussian mixtures
N_STARTS = 10  # of k-means
SHARED_RIDGE = 0.03  # share of the mean variance added before whitening


def all_partitions(
    portraits: list[Portrait], n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    """Draw a pool: partitions of all views together, and of every view."""
    yield from fused_partitions(portraits, n_clusters, rng)
    for portrait in portraits:
        yield from own_partitions(portrait, n_clusters, rng)
        for look in portrait.looks:
            yield _mixture(look.points, n_clusters, rng)


def own_partitions(
    portrait: Portrait, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    """Seven partitions of one view."""
    for look in portrait.looks:
        yield kmeans(look.points, n_clusters, rng)
        yield from _both_spectral(graph_of(look.near), n_clusters, rng)
    yield kmeans(unit_rows(portrait.plain.principal), n_clusters, rng)


def fused_partitions(
    portraits: list[Portrait], n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    """Twenty-nine partitions of all views together."""
    for looks in zip(*(portrait.looks for portrait in portraits), strict=True):
        side_by_side = np.hstack([look.points for look in looks])
        yield from _round_clusters(side_by_side, n_clusters, rng)
        yield from _both_spectral(graph_of(nearest(side_by_side)), n_clusters, rng)
        even = np.hstack([_unit_norm(look.principal) for look in looks])
        yield from _round_clusters(unit_rows(even), n_clusters, rng)
        graph = graph_of(nearest(even))
        yield spectral(graph, n_clusters, rng, regularised=True)
        if looks[0] is portraits[0].plain:
            yield spectral(graph, n_clusters, rng)
        summed = sum(graph_of(look.near) for look in looks)
        yield from _both_spectral(summed, n_clusters, rng)
    whitened = [p.standard.principal / spread_of(p.standard.principal, SHARED_RIDGE) for p in portraits]
    shared = shared_directions(whitened)
    common = shared.common * shared.weights
    yield from _round_clusters(unit_rows(common), n_clusters, rng)
    yield spectral(graph_of(nearest(common)), n_clusters, rng, regularised=True)
    projections = zip(whitened, shared.of_views, strict=True)
    summed = sum(
        graph_of(nearest(rows @ (d * shared.weights))) for rows, d in projections
    )
    yield from _both_spectral(summed, n_clusters, rng)


def _round_clusters(
    points: Array, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    """k-means twice, since in many directions it depends on its start; a mixture."""
    yield kmeans(points, n_clusters, rng)
    yield kmeans(points, n_clusters, rng)
    yield _mixture(points, n_clusters, rng)


def _both_spectral(
    graph: Any, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    yield spectral(graph, n_clusters, rng)
    yield spectral(graph, n_clusters, rng, regularised=True)


def _unit_norm(points: Array) -> Array:
    return np.asarray(points / (np.linalg.norm(points) or 1.0))


def graph_of(near: Labels) -> Any:
    """Undirected graph of nearest neighbours; one-sided neighbours count half."""
    n, n_near = near.shape
    starts = np.arange(0, n * n_near + 1, n_near)
    graph = sparse.csr_array((np.ones(near.size), near.ravel(), starts), shape=(n, n))
    return (graph + graph.T) / 2


def spectral(
    graph: Any, n_clusters: int, rng: np.random.RandomState, regularised: bool = False
) -> Labels:
    """Cluster the rows of a graph by the leading eigenvectors of its random walk.

    Regularised, every degree is raised by the mean degree and rows are scaled to unit
    length: small parts that hang by a thread are then no clusters of their own.
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    if regularised:
        degrees = degrees + degrees.mean()
    root = sparse.diags_array(1 / np.sqrt(degrees))
    known = _part_vectors(graph, degrees, 0 if regularised else n_clusters)
    vectors = _leading_vectors(root @ graph @ root, known, n_clusters, rng)
    embedded = unit_rows(vectors) if regularised else root @ vectors
    return kmeans(embedded * np.sqrt(len(vectors)), n_clusters, rng)


def _part_vectors(graph: Any, degrees: Array, wanted: int) -> Array:
    """Eigenvectors of eigenvalue 1: one for each of the largest parts of the graph.

    Known beforehand, they spare the solver an eigenvalue it would count too few of.
    """
    _, parts = connected_components(graph, directed=False)
    largest = np.argsort(-np.bincount(parts), kind="stable")[:wanted]
    vectors = (parts[:, None] == largest) * np.sqrt(degrees)[:, None]
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))


def _leading_vectors(
    matrix: Any, known: Array, wanted: int, rng: np.random.RandomState
) -> Array:
    """Leading eigenvectors of a matrix, some of them known."""
    n, missing = len(known), wanted - known.shape[1]
    if missing == 0:
        return known
    if n > 10 * wanted and n > 300:

        def without_known(v: Array) -> Array:
            return np.asarray(matrix @ v - 2 * (known @ (known.T @ v)))

        start = rng.uniform(-1, 1, size=n)
        rest = LinearOperator((n, n), matvec=without_known, dtype=np.float64)
        try:
            found = eigsh(rest, k=missing, which="LA", v0=start, tol=1e-6)[1]
            return np.hstack([known, found])
        except ArpackNoConvergence:
            pass
    dense = matrix.toarray() - 2 * known @ known.T
    found = eigh(dense, subset_by_index=[n - missing, n - 1])[1]
    return np.hstack([known, found])


def _mixture(points: Array, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """Gaussian mixture, all of one shape, in the leading directions of unit rows.

    Unlike k-means it finds clusters that are long in a common direction.
    """
    rows = unit_rows(points)
    rows = rows - rows.mean(axis=0)
    directions = leading(rows.T @ rows, N_MIXED)[1]
    rows = rows @ directions
    seed = int(rng.randint(np.iinfo(np.int32).max))
    mixture = GaussianMixture(
        n_clusters, covariance_type="tied", n_init=2, reg_covar=1e-4, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: Labels = mixture.fit_predict(rows / (rows.std() or 1.0)).astype(np.intp)
    return labels


def kmeans(points: Array, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """k-means; fewer distinct rows than clusters are no reason to complain."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cluster_rows(points, n_clusters, n_init=N_STARTS, seed=seed)[0]
