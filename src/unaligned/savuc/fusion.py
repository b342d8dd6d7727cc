"""Partitions of rows that are aligned across views, chosen and fused without labels.

Many recipes make a pool of partitions, some from one view, some from all of them. Those
that every view predicts well are right more often than any single recipe; the best few
are asked for a consensus.
"""

import warnings
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from unaligned.kernels.devices import Cores, spawn
from unaligned.savuc.predictability import (
    Array,
    Labels,
    Portrait,
    draw_halves,
    fit_labeller,
    information,
    log_lengths,
    modularity,
    portray,
    predictability,
    told_by_length,
)
from unaligned.savuc.recipes import all_partitions, kmeans, own_partitions

__all__ = ["cluster_view", "fuse_views"]

N_ROWS = 2500  # partitions are made of as many rows, and extended to the others
ROWS_PER_CLUSTER = 10  # or of more, with many clusters
N_DRAWS = 2  # pools of partitions, for the consensus to hang less on chance
N_BEST = 9  # partitions per pool that make the consensus, and others as good as they
ABOUT_AS_GOOD = 0.01  # difference in score that matters between partitions
# Clusters of even size are predicted a little better, whatever the classes are like.
CLEARLY_BETTER = 0.12
ALLOWED = 0.4  # share of a partition that the lengths of rows may tell
LESS_APPEAL, LESS_QUALITY = 5.0, 1.0  # what it loses by what they tell beyond that

# Every pool is made on one thread: its matrices are small, and sums come in one order.
# OpenMP has to be told by every thread.
one_thread = threadpool_limits.wrap(limits=1, user_api="openmp")


@one_thread
def fuse_views(
    views: list[Any],
    n_clusters: int,
    rng: np.random.RandomState,
    rows: list[Labels] | None = None,
) -> NDArray[np.intp]:
    """Cluster rows that are aligned across views.

    Parameters
    ----------
    views : list of ndarrays or CSR arrays
    n_clusters : int
    rng : RandomState
    rows : list of n indices per view, optional
        Row of every object in each view. Default: row r is the same object in all.

    Returns
    -------
    labels : ndarray of shape (n,)
    """
    if rows is None:
        rows = [np.arange(X.shape[0]) for X in views]
    if len(views) == 1:
        return cluster_view(views[0][rows[0]], n_clusters, rng)[0]
    n = len(rows[0])
    n_clusters = min(n_clusters, n)
    if n_clusters <= 1:
        return np.zeros(n, dtype=np.intp)
    chosen = _draw_rows(n, n_clusters, rng)
    cores = Cores()
    with cores.busy():
        drawn = [X[at[chosen]] for X, at in zip(views, rows, strict=True)]
        portraits, lengths = [*map(portray, drawn)], [*map(log_lengths, drawn)]
        labels = _consensus(portraits, lengths, n_clusters, rng, cores)
        return _extend(views, rows, portraits, chosen, labels)


def _consensus(
    portraits: list[Portrait],
    lengths: list[Array],
    n_clusters: int,
    rng: np.random.RandomState,
    cores: Cores,
) -> Labels:
    """Ask those partitions of all pools that every view predicts well."""
    half = draw_halves(len(portraits[0].plain.points), rng)

    def score(labels: Labels) -> float:
        less = LESS_APPEAL * mere_length(lengths, labels, n_clusters)
        return appeal(portraits, labels, n_clusters, half) - less

    @one_thread
    def draw(rng: np.random.RandomState) -> tuple[list[Labels], list[float]]:
        pool = [*all_partitions(portraits, n_clusters, rng)]
        return pool, [*map(score, pool)]

    pools, scores = zip(*cores.map(draw, spawn(rng, N_DRAWS)), strict=True)
    weights = weigh([*chain(*scores)])
    members = memberships([*chain(*pools)], weights, n_clusters)
    labels, even = cut_tree(members, n_clusters), kmeans(members, n_clusters, rng)
    return even if score(even) - score(labels) > CLEARLY_BETTER else labels


@threadpool_limits.wrap(limits=1)
def cluster_view(
    X: Any, n_clusters: int, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], float]:
    """Cluster the rows of one view by the recipe that fits it.

    The recipe is the one whose partition is predicted well from the view, agrees well
    with those of the other recipes, and keeps neighbours together.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
    n_clusters : int
    rng : RandomState

    Returns
    -------
    labels : ndarray of shape (n,)
    quality : float
        How well its partition is predicted from the view, plus how well it agrees with
        the others, plus how well it keeps neighbours together. Among several views, the
        one where it is largest is the one to take.
    """
    n = X.shape[0]
    n_clusters = min(n_clusters, n)
    if n_clusters <= 1:
        return np.zeros(n, dtype=np.intp), 0.0
    chosen = _draw_rows(n, n_clusters, rng)
    drawn = X[chosen]
    portrait, lengths = portray(drawn), [log_lengths(drawn)]
    half = draw_halves(len(chosen), rng)
    pool = [*own_partitions(portrait, n_clusters, rng)]
    own = [predictability(portrait, labels, n_clusters, half) for labels in pool]
    alike = np.array([[information(p, q, n_clusters) for q in pool] for p in pool])
    others = (alike.sum(axis=1) - np.diag(alike)) / (len(pool) - 1)
    knit = np.array(
        [
            [modularity(look.near, labels, n_clusters) for look in portrait.looks]
            for labels in pool
        ]
    )
    less = [LESS_QUALITY * mere_length(lengths, labels, n_clusters) for labels in pool]
    best = int(np.argmax(own + others + knit.mean(axis=1) - less))
    labels = _extend([X], [np.arange(n)], [portrait], chosen, pool[best])
    # A view is not better than another for clusters of even size. Nor for neighbours in
    # standardised columns, where its noise is as loud as what it shows.
    most = alike[best, best] or 1.0
    return labels, float((own[best] + others[best]) / most + knit[best, 0])


def _draw_rows(n: int, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """Rows to work on: all, or a sample."""
    wanted = max(N_ROWS, ROWS_PER_CLUSTER * n_clusters)
    if n <= wanted:
        return np.arange(n)
    return np.sort(rng.choice(n, wanted, replace=False))


def _extend(
    views: list[Any],
    rows: list[Labels],
    portraits: list[Portrait],
    chosen: Labels,
    labels: Labels,
) -> Labels:
    """Labels of all objects: those of the sample kept, the others predicted."""
    n = len(rows[0])
    extended = np.empty(n, dtype=np.intp)
    extended[chosen] = labels
    labellers = [fit_labeller(portrait, labels) for portrait in portraits]
    rest = np.setdiff1d(np.arange(n), chosen)
    for start in range(0, len(rest), N_ROWS):
        block = rest[start : start + N_ROWS]
        log_shares = sum(
            labeller.log_probabilities(X[at[block]])
            for labeller, X, at in zip(labellers, views, rows, strict=True)
        )
        extended[block] = labellers[0].classes[np.argmax(log_shares, axis=1)]
    return extended


def appeal(
    portraits: list[Portrait], labels: Labels, n_clusters: int, half: Array
) -> float:
    """Score of a partition: mean over views of log q − ½ log(1 − q).

    The logarithm punishes a partition that lives in one view only; the second term
    keeps a view that is very strong.
    """
    q = [predictability(portrait, labels, n_clusters, half) for portrait in portraits]
    return float(np.mean(np.log(q) - 0.5 * np.log1p(-np.array(q))))


def mere_length(lengths: list[Array], labels: Labels, n_clusters: int) -> float:
    """How far a partition is just one of short and of long rows.

    All views predict it well, and it says nothing but how deep a cell was sequenced, or
    how long a text is. Some of it is forgiven: true clusters differ in length, too.
    """
    told = [told_by_length(of_view, labels, n_clusters) for of_view in lengths]
    return max(0.0, float(np.mean(told)) - ALLOWED)


def weigh(scores: list[float]) -> Array:
    """Weights of partitions: full for the best few, little for those clearly behind.

    Where many partitions are about as good as the best ones, many are heard.
    """
    last = np.sort(scores)[-N_DRAWS * N_BEST :][0]
    weights = np.exp(np.minimum(np.array(scores) - last, 0) / ABOUT_AS_GOOD)
    return np.asarray(weights / weights.sum())


def memberships(partitions: list[Labels], weights: Array, n_clusters: int) -> Array:
    """Clusters that every row is in: inner products of rows are shares of agreement."""
    heard = weights > 1e-3 * weights.max()
    columns = [
        np.sqrt(weight) * np.eye(n_clusters)[labels]
        for labels, weight, told in zip(partitions, weights, heard, strict=True)
        if told
    ]
    return np.hstack(columns)


def cut_tree(members: Array, n_clusters: int) -> Labels:
    """Cluster rows by how often partitions have them in one cluster, at any size.

    Recipes that prefer clusters of one size split a large class, each in another
    place; a border between classes is where all of them split. A tree by average
    linkage tells the two apart, and Lloyd's steps mend the edges of its branches.
    """
    apart = np.maximum(1 - members @ members.T, 0)
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart, checks=False), "average")
    branches = fcluster(tree, n_clusters, "maxclust") - 1
    sizes = np.bincount(branches)
    centers = (np.eye(len(sizes))[branches].T @ members) / sizes[:, None]
    lloyd = KMeans(len(sizes), init=centers, n_init=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: Labels = lloyd.fit_predict(members).astype(np.intp)
    return labels
