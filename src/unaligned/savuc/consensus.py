"""Partitions of one view, or of rows that are aligned across views, without labels.

Recipes make a pool of partitions. Those of them that every view predicts well make a
consensus.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from unaligned.deadline import NEVER, Deadline
from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.features import (
    ViewFeatures,
    most_neighbors,
    view_features,
)
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.labeller import fit_labeller
from unaligned.partitions.scores import (
    draw_halves,
    joint_predictability,
    predictability,
)
from unaligned.savuc.config import NORMAL, Settings
from unaligned.savuc.geometry import leading_vectors
from unaligned.savuc.recipes import (
    joint_spaces,
    make_partitions,
    view_spaces,
)

__all__ = ["cluster_view", "draw_rows", "fuse_views"]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_ROWS = 2500  # partitions are made of as many rows, and extended to the others
ROWS_PER_CLUSTER = 10  # or of more, with many clusters
N_STARTS = 10  # of the last k-means: custom
N_BEST = 15  # partitions that make the consensus; from 10 to 20 it hardly matters


def cluster_view(
    X: Any,
    n_clusters: int,
    rng: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> tuple[Labels, float]:
    """Cluster the rows of one view: as `fuse_views`, with this view alone.

    Returns
    -------
    labels : ndarray of shape (n,)
    quality : float
        How well the partition is predicted from the view (`predictability`). Among
        several views, the one where it is largest is the one to take.
    """
    return fuse_views([X], n_clusters, rng, deadline=deadline)


@threadpool_limits.wrap(limits=1)
def fuse_views(
    views: list[Any],
    n_clusters: int,
    rng: np.random.RandomState,
    rows: list[Labels] | None = None,
    deadline: Deadline = NEVER,
    settings: Settings = NORMAL,
) -> tuple[Labels, float]:
    """Cluster rows that are aligned across views.

    By the consensus of the 15 partitions that views predict best, or of all where the
    recipes make no more: so it is with one view, whose partitions are four.

    Parameters
    ----------
    views : list of ndarrays or CSR arrays
    n_clusters : int
    rng : RandomState
    rows : list of n indices per view, optional
        Row of every object in each view. Default: row r is the same object in all.
    deadline : Deadline
        After which no further partition is made or scored.
    settings : Settings, optional
        Of the fit, for the ridge of directions that views share.

    Returns
    -------
    labels : ndarray of shape (n,)
    quality : float
        How well the partition is predicted from all views together; to be compared
        with that of `cluster_view` of other views.
    """
    if rows is None:
        rows = [np.arange(X.shape[0]) for X in views]
    n = len(rows[0])
    n_clusters = min(n_clusters, n)
    if n_clusters <= 1:
        return np.zeros(n, dtype=np.intp), 0.0
    drawn = draw_rows(n, n_clusters, rng)
    most = most_neighbors(len(drawn), n_clusters)
    features = [
        view_features(X[at[drawn]], most) for X, at in zip(views, rows, strict=True)
    ]
    spaces = joint_spaces(features, settings.ridge) if len(views) > 1 else []
    spaces += [space for of_view in features for space in view_spaces(of_view)]
    pool = make_partitions(spaces, n_clusters, rng, deadline.part(1, of=2))
    half = draw_halves(len(drawn), rng)
    if len(pool) > N_BEST:
        scores: list[float] = []
        for labels in pool:
            if deadline.over():
                break
            scores.append(joint_score(features, labels, n_clusters, half))
        # Where none could be scored, the first stands: of all views together.
        pool = [pool[i] for i in np.argsort(scores)[-N_BEST:]] or pool[:1]
    labels = consensus(np.column_stack(pool), n_clusters, rng)
    quality = joint_predictability(features, labels, n_clusters, half)
    return _extend(views, rows, features, drawn, labels), quality


def joint_score(
    features: list[ViewFeatures],
    labels: Labels,
    n_clusters: int,
    half: NDArray[np.bool_],
) -> float:
    """Score of a partition: mean over views of the logarithm of its predictability.

    A geometric mean: a partition that one view alone predicts is not a good one.
    """
    q = [predictability(of_view, labels, n_clusters, half) for of_view in features]
    return float(np.mean(np.log(q)))


def consensus(
    partitions: Labels, n_clusters: int, rng: np.random.RandomState
) -> Labels:
    """Cluster rows by the clusters that they are in: k-means of `consensus_rows`.

    Parameters
    ----------
    partitions : ndarray of shape (n, m)
        A column of labels for every partition.
    n_clusters : int
    rng : RandomState

    Returns
    -------
    labels : ndarray of shape (n,)
    """
    n_clusters = min(n_clusters, len(partitions))
    embedded = consensus_rows(partitions, n_clusters)
    return kmeans(embedded, n_clusters, rng, N_STARTS)


def consensus_rows(partitions: Labels, n_clusters: int) -> Array:
    """Embed rows by the clusters they are in.

    Rows and clusters are the two sides of a graph; with H the memberships, each
    cluster's column over the root of its size, the embedding is H's leading left
    singular vectors, rows at unit length.

    Parameters
    ----------
    partitions : ndarray of shape (n, m)
        A column of labels for every partition.
    n_clusters : int

    Examples
    --------
    >>> import numpy as np
    >>> agreed, odd = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> partitions = np.column_stack([agreed, 1 - agreed, odd])
    >>> rows = consensus_rows(partitions, 2)
    >>> (rows @ rows.T).round(1)[0]
    array([1. , 1. , 0.2, 0.2])
    """
    n = len(partitions)
    blocks = []
    for labels in partitions.T:
        entries = 1 / np.sqrt(np.bincount(labels)[labels])
        blocks.append(sparse.csr_array((entries, (np.arange(n), labels))))
    H = sparse.hstack(blocks, format="csr")
    vectors = leading_vectors((H.T @ H).toarray(), min(n_clusters, H.shape[1]))
    return unit_rows(H @ vectors)


def draw_rows(n: int, n_clusters: int, rng: np.random.RandomState) -> Labels:
    """Rows to work on: all, or a sample."""
    wanted = max(N_ROWS, ROWS_PER_CLUSTER * n_clusters)
    if n <= wanted:
        return np.arange(n)
    return np.sort(rng.choice(n, wanted, replace=False))


def _extend(
    views: list[Any],
    rows: list[Labels],
    features: list[ViewFeatures],
    drawn: Labels,
    labels: Labels,
) -> Labels:
    """Labels of all objects: those of the sample kept, the others predicted."""
    n = len(rows[0])
    extended = np.empty(n, dtype=np.intp)
    extended[drawn] = labels
    rest = np.setdiff1d(np.arange(n), drawn)
    if not rest.size:
        return extended
    labellers = [fit_labeller(of_view, labels) for of_view in features]
    for start in range(0, len(rest), N_ROWS):
        block = rest[start : start + N_ROWS]
        log_shares = sum(
            labeller.log_probabilities(X[at[block]])
            for labeller, X, at in zip(labellers, views, rows, strict=True)
        )
        extended[block] = labellers[0].classes[np.argmax(log_shares, axis=1)]
    return extended
