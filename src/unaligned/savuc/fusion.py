"""Partitions of rows that are aligned across views, chosen and fused without labels.

Many recipes make a pool of partitions, some from one view, some from all of them. Those
that every view predicts well are right more often than any single recipe; the best few
are asked for a consensus.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.exceptions import ConvergenceWarning

from unaligned.base import cluster_rows
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.predictability import (
    Array,
    Labels,
    Portrait,
    draw_halves,
    fit_labeller,
    information,
    nearest,
    portray,
    predictability,
)

__all__ = ["cluster_view", "fuse_views"]

N_ROWS = 1500  # partitions are made of as many rows, and extended to the others
ROWS_PER_CLUSTER = 10  # or of more, with many clusters
N_BEST = 7  # partitions that are asked for a consensus
N_STARTS = 10  # of k-means
N_SHARED = 40  # directions that views share, at most
SHARED_RIDGE = 0.03  # share of the mean variance added before whitening


def fuse_views(
    views: list[Any], n_clusters: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Cluster rows that are aligned across views.

    Parameters
    ----------
    views : list of ndarrays or CSR arrays of n rows
        Row r is the same object in all of them.
    n_clusters : int
    rng : RandomState

    Returns
    -------
    labels : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> views = [X[:200] for X in digits.Xs]
    >>> fuse_views(views, 10, np.random.RandomState(0)).shape
    (200,)
    """
    if len(views) == 1:
        return cluster_view(views[0], n_clusters, rng)[0]
    n = views[0].shape[0]
    n_clusters = min(n_clusters, n)
    if n_clusters <= 1:
        return np.zeros(n, dtype=np.intp)
    chosen = _draw_rows(n, n_clusters, rng)
    portraits = [portray(X[chosen]) for X in views]
    half = draw_halves(len(chosen), rng)
    pool = [*_fused_partitions(portraits, n_clusters, rng)]
    for portrait in portraits:
        pool += _own_partitions(portrait, n_clusters, rng)
    scores = [appeal(portraits, labels, n_clusters, half) for labels in pool]
    best = np.argsort(scores, kind="stable")[::-1][:N_BEST]
    labels = consensus([pool[i] for i in best], n_clusters, rng)
    return _extend(views, portraits, chosen, labels)


def cluster_view(
    X: Any, n_clusters: int, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], float]:
    """Cluster the rows of one view by the recipe that fits it.

    The recipe is the one whose partition is predicted well from the view and agrees
    well with those of the other recipes.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
    n_clusters : int
    rng : RandomState

    Returns
    -------
    labels : ndarray of shape (n,)
    quality : float
        How well the best predicted partition of the view is predicted from it. Among
        several views, the one where it is largest is the one to take.
    """
    n = X.shape[0]
    n_clusters = min(n_clusters, n)
    if n_clusters <= 1:
        return np.zeros(n, dtype=np.intp), 0.99
    chosen = _draw_rows(n, n_clusters, rng)
    portrait = portray(X[chosen])
    half = draw_halves(len(chosen), rng)
    pool = [*_own_partitions(portrait, n_clusters, rng)]
    own = [predictability(portrait, labels, n_clusters, half) for labels in pool]
    alike = np.array([[information(p, q, n_clusters) for q in pool] for p in pool])
    others = (alike.sum(axis=1) - np.diag(alike)) / (len(pool) - 1)
    labels = pool[int(np.argmax(own + others))]
    return _extend([X], [portrait], chosen, labels), max(own)


def _draw_rows(n: int, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """Rows to work on: all, or a sample."""
    wanted = max(N_ROWS, ROWS_PER_CLUSTER * n_clusters)
    if n <= wanted:
        return np.arange(n)
    return np.sort(rng.choice(n, wanted, replace=False))


def _extend(
    views: list[Any], portraits: list[Portrait], chosen: Labels, labels: Labels
) -> Labels:
    """Labels of all rows: those of the sample kept, the others predicted."""
    n = views[0].shape[0]
    rest = np.setdiff1d(np.arange(n), chosen)
    extended = np.empty(n, dtype=np.intp)
    extended[chosen] = labels
    if len(rest):
        labellers = [fit_labeller(portrait, labels) for portrait in portraits]
        pairs = zip(labellers, views, strict=True)
        total = sum(one.log_probabilities(X[rest]) for one, X in pairs)
        extended[rest] = labellers[0].classes[total.argmax(axis=1)]
    return extended


def appeal(
    portraits: list[Portrait],
    labels: Labels,
    n_clusters: int,
    half: NDArray[np.bool_],
) -> float:
    """Score of a partition: mean over views of log q − ½ log(1 − q).

    The logarithm punishes a partition that lives in one view only; the second term
    keeps a view that is very strong.
    """
    q = [predictability(portrait, labels, n_clusters, half) for portrait in portraits]
    return float(np.mean(np.log(q) - 0.5 * np.log1p(-np.array(q))))


def consensus(
    partitions: list[Labels], n_clusters: int, rng: np.random.RandomState
) -> Labels:
    """Cluster rows by the clusters they are in."""
    members = [np.eye(n_clusters)[labels] for labels in partitions]
    return _kmeans(np.hstack(members), n_clusters, rng)


def _own_partitions(
    portrait: Portrait, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    """Seven partitions of one view."""
    for look in portrait.looks:
        yield _kmeans(look.points, n_clusters, rng)
        yield from _both_spectral(graph_of(look.near), n_clusters, rng)
    yield _kmeans(unit_rows(portrait.plain.principal), n_clusters, rng)


def _fused_partitions(
    portraits: list[Portrait], n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    """Nineteen partitions of all views together."""
    for looks in zip(*(portrait.looks for portrait in portraits), strict=True):
        side_by_side = np.hstack([look.points for look in looks])
        yield _kmeans(side_by_side, n_clusters, rng)
        yield from _both_spectral(graph_of(nearest(side_by_side)), n_clusters, rng)
        even = np.hstack([_unit_norm(look.principal) for look in looks])
        yield _kmeans(unit_rows(even), n_clusters, rng)
        graph = graph_of(nearest(even))
        yield spectral(graph, n_clusters, rng, regularised=True)
        if looks[0] is portraits[0].plain:
            yield spectral(graph, n_clusters, rng)
        summed = sum(graph_of(look.near) for look in looks)
        yield from _both_spectral(summed, n_clusters, rng)
    common, projections = shared_directions([p.standard.principal for p in portraits])
    yield _kmeans(unit_rows(common), n_clusters, rng)
    yield spectral(graph_of(nearest(common)), n_clusters, rng, regularised=True)
    summed = sum(graph_of(nearest(points)) for points in projections)
    yield from _both_spectral(summed, n_clusters, rng)


def _both_spectral(
    graph: Any, n_clusters: int, rng: np.random.RandomState
) -> Iterator[Labels]:
    yield spectral(graph, n_clusters, rng)
    yield spectral(graph, n_clusters, rng, regularised=True)


def _unit_norm(points: Array) -> Array:
    return np.asarray(points / (np.linalg.norm(points) or 1.0))


def shared_directions(views: list[Array]) -> tuple[Array, list[Array]]:
    """Directions that views share: generalised canonical correlations.

    Every view is whitened, and all are put side by side. A direction of one view alone
    has squared singular value 1, one that all V views share has V; it is weighted by
    where it lies between.

    Parameters
    ----------
    views : list of ndarrays of shape (n, d_i)
        Principal coordinates: centred, and uncorrelated within a view.

    Returns
    -------
    common : ndarray of shape (n, r), r at most 40
    projections : list of ndarrays of shape (n, r)
        What each view alone says of the same directions; they sum to ``common`` times
        the singular values.
    """
    whitened = []
    for points in views:
        variance = points.var(axis=0)
        spread = np.sqrt(variance + SHARED_RIDGE * variance.mean())
        whitened.append(points / np.where(spread > 0, spread, 1))
    n, V = len(views[0]), len(views)
    left, s, right = np.linalg.svd(np.hstack(whitened), full_matrices=False)
    excess = (s**2 / n - 1) / (V - 1)
    kept = min(max(1, int(np.count_nonzero(excess > 0))), N_SHARED)
    weights = np.maximum(excess[:kept], 1e-3)
    ends = np.cumsum([points.shape[1] for points in views])[:-1]
    blocks = np.split(right[:kept].T * weights, ends)
    projections = [rows @ block for rows, block in zip(whitened, blocks, strict=True)]
    return left[:, :kept] * weights, projections


def graph_of(near: Labels) -> Any:
    """Undirected graph of nearest neighbours; one-sided neighbours count half."""
    n, n_near = near.shape
    starts = np.arange(0, n * n_near + 1, n_near)
    graph = sparse.csr_array((np.ones(near.size), near.ravel(), starts), shape=(n, n))
    return (graph + graph.T) / 2


def spectral(
    graph: Any,
    n_clusters: int,
    rng: np.random.RandomState,
    *,
    regularised: bool = False,
) -> Labels:
    """Cluster the rows of a graph by the leading eigenvectors of its random walk.

    Regularised, every degree is raised by the mean degree and rows are scaled to unit
    length: small parts that hang by a thread are then no clusters of their own.
    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    if regularised:
        degrees = degrees + degrees.mean()
    root = sparse.diags_array(1 / np.sqrt(degrees))
    vectors = _leading_vectors(root @ graph @ root, n_clusters, rng)
    embedded = unit_rows(vectors) if regularised else root @ vectors
    return _kmeans(embedded * np.sqrt(len(vectors)), n_clusters, rng)


def _leading_vectors(matrix: Any, wanted: int, rng: np.random.RandomState) -> Array:
    n = matrix.shape[0]
    start = rng.uniform(-1, 1, size=n)
    if n > 10 * wanted and n > 300:
        try:
            vectors = eigsh(matrix, k=wanted, which="LA", v0=start, tol=1e-6)[1]
            return np.asarray(vectors)
        except ArpackNoConvergence:
            pass
    return np.asarray(eigh(matrix.toarray(), subset_by_index=[n - wanted, n - 1])[1])


def _kmeans(points: Array, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """k-means; fewer distinct rows than clusters are no reason to complain."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cluster_rows(points, n_clusters, n_init=N_STARTS, seed=seed)[0]
