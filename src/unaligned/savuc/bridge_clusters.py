"""Clusters of all rows of linked views, with one naming.

Every view is partitioned in several ways, and so are the rows that are known in all
views. Each partition is carried over to the rows of every view: a row has the cluster
of its known partner, and any other row the cluster that a regression on its features
expects, learned where the clusters are known. Those partitions are kept that all views
predict best, on rows left out. They are reconciled: rows are embedded by who shares
clusters with whom, and clustered once more.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.features import view_features
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import LOWEST, information
from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_regression import fit_ridge
from unaligned.savuc.geometry import leading_vectors
from unaligned.savuc.recipes import Space, joint_spaces, make_partitions, view_spaces

__all__ = [
    "cluster_linked",
    "complete_rows",
    "consensus_rows",
    "information_beyond_chance",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_ROWS = 2500  # rows, at most, that are partitioned: cost, as where views are matched
ENOUGH_PER_CLUSTER = 10  # rows known in all views to partition them: as matched ones
N_BEST = 15  # partitions that are reconciled: as where views are matched
N_STARTS = 10  # of the last k-means: custom
DOUBTED = 0.5  # weight below which a pair is more likely wrong than right


class _Source(NamedTuple):
    """Partitions of some rows."""

    rows: dict[int, Labels]
    """The same objects in one view or in several: row numbers by view."""
    labels: Labels
    """Their clusters: a column for every partition."""


class _Carried(NamedTuple):
    """Partitions of all rows of a view."""

    labels: Labels
    """A column for every partition."""
    quality: Array
    """What the view says of each of them, of rows left out, from 0.01 to 1."""


def cluster_linked(
    bridge: Bridge,
    views: list[Any],
    n_clusters: int,
    rng: np.random.RandomState,
    groups: list[tuple[int, ...]] | None = None,
) -> list[Labels]:
    """Label all rows of all views.

    Parameters
    ----------
    bridge : Bridge
    views : list of ndarrays or CSR arrays
        Those that the bridge was fitted on.
    n_clusters : int
    rng : RandomState
    groups : list of tuple of int, default=None
        Only these groups of linked views; the rows of others have no labels.

    Returns
    -------
    list of ndarray of shape (n_i,)
        One naming for the views of a group; views of different groups have nothing in
        common but the numbers.
    """
    labels: list[Labels] = [np.empty(0, dtype=np.intp)] * len(views)
    for group in bridge.groups if groups is None else groups:
        partitions, scores = [], []
        for source in _sources(bridge, views, group, n_clusters, rng):
            carried = _carry(bridge, group, source, n_clusters).values()
            partitions.append(np.vstack([of_view.labels for of_view in carried]))
            quality = np.array([of_view.quality for of_view in carried])
            # A geometric mean: one view alone cannot make a partition good.
            scores.append(np.log(quality).mean(axis=0))
        best = np.argsort(np.concatenate(scores))[-N_BEST:]
        embedded = consensus_rows(np.hstack(partitions)[:, best], n_clusters)
        found = kmeans(embedded, min(n_clusters, len(embedded)), rng, N_STARTS)
        ends = np.cumsum([len(bridge.features[i]) for i in group])[:-1]
        for i, of_view in zip(group, np.split(found, ends), strict=True):
            labels[i] = of_view
    return labels


def complete_rows(bridge: Bridge, group: tuple[int, ...]) -> dict[int, Labels]:
    """Find the objects that are known, and not doubted, in all views of a group.

    Returns
    -------
    dict of ndarray
        By view, the rows of these objects, in one order.
    """
    first, *others = group
    rows = {first: np.arange(len(bridge.features[first]))}
    for j in others:
        partner = np.full(len(bridge.features[first]), -1)
        if (first, j) in bridge.links:
            rows_first, rows_j, weights = bridge.known(first, j)
            sure = weights >= DOUBTED
            partner[rows_first[sure]] = rows_j[sure]
        rows[j] = partner
    complete = np.all([found >= 0 for found in rows.values()], axis=0)
    return {i: found[complete] for i, found in rows.items()}


def _sources(
    bridge: Bridge,
    views: list[Any],
    group: tuple[int, ...],
    n_clusters: int,
    rng: np.random.RandomState,
) -> list[_Source]:
    """Partition every view, and the complete rows of all together."""
    found = []
    for i in group:
        rows = _draw(np.arange(len(bridge.features[i])), rng)
        if len(rows) > n_clusters:
            spaces = view_spaces(view_features(views[i][rows]))
            labels = _partition(spaces, n_clusters, rng)
        else:
            labels = np.arange(len(rows))[:, None]
        found.append(_Source({i: rows}, labels))
    complete = complete_rows(bridge, group)
    n_complete = len(complete[group[0]])
    if len(group) > 1 and n_complete >= ENOUGH_PER_CLUSTER * n_clusters:
        drawn = _draw(np.arange(n_complete), rng)
        complete = {i: rows[drawn] for i, rows in complete.items()}
        features = [view_features(views[i][rows]) for i, rows in complete.items()]
        labels = _partition(joint_spaces(features), n_clusters, rng)
        found.append(_Source(complete, labels))
    return found


def _draw(rows: Labels, rng: np.random.RandomState) -> Labels:
    if len(rows) <= N_ROWS:
        return rows
    return np.sort(rng.choice(rows, N_ROWS, replace=False))


def _partition(
    spaces: list[Space], n_clusters: int, rng: np.random.RandomState
) -> Labels:
    return np.column_stack(make_partitions(spaces, n_clusters, rng))


def _carry(
    bridge: Bridge, group: tuple[int, ...], source: _Source, n_clusters: int
) -> dict[int, _Carried]:
    """Carry partitions over to all rows of all views of a group.

    From the view that was partitioned they are passed on along the ways of the bridge.
    """
    found = {
        i: _extend(bridge.features[i], rows, source.labels, n_clusters)
        for i, rows in source.rows.items()
    }
    start = next(iter(source.rows))
    for i in sorted(group, key=lambda i: len(bridge.way(start, i))):
        if i not in found:
            before = bridge.way(start, i)[-2]
            rows_before, rows, weights = bridge.known(before, i)
            labels = found[before].labels[rows_before]
            found[i] = _extend(bridge.features[i], rows, labels, n_clusters, weights)
    return {i: found[i] for i in group}


def _extend(
    features: Array,
    rows: Labels,
    labels: Labels,
    n_clusters: int,
    weights: Array | None = None,
) -> _Carried:
    """Label all rows of a view by those of which the clusters are known.

    A row has the cluster of largest expected membership; known ones keep theirs, but
    for partners that are doubted.
    """
    members = np.eye(n_clusters)[labels].reshape(len(labels), -1)
    fit = fit_ridge(features[rows], members, weights)
    shape = len(features), labels.shape[1], n_clusters
    extended = fit.predict(features).reshape(shape).argmax(axis=2)
    sure = np.full(len(rows), True) if weights is None else weights >= DOUBTED
    extended[rows[sure]] = labels[sure]
    left_out = fit.left_out.reshape(len(rows), *shape[1:]).argmax(axis=2)
    quality = [
        information_beyond_chance(known, told, n_clusters)
        for known, told in zip(labels[sure].T, left_out[sure].T, strict=True)
    ]
    return _Carried(extended, np.maximum(quality, LOWEST))


def information_beyond_chance(one: Labels, other: Labels, n_clusters: int) -> float:
    """Mutual information of two partitions less what chance gives (Miller, 1955).

    Of p rows in a and b clusters, unrelated partitions share (a − 1)(b − 1)/2p on
    average, to first order in 1/p: much where pairs are few.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = np.repeat([0, 1], 8), np.tile([0, 1], 8)
    >>> round(information_beyond_chance(one, one, 2), 2)
    0.95
    >>> round(information_beyond_chance(one, other, 2), 2)
    -0.05
    """
    if n_clusters < 2 or not len(one):
        return 0.0
    free = (len(np.unique(one)) - 1) * (len(np.unique(other)) - 1)
    chance = free / (2 * len(one) * np.log(n_clusters))
    return information(one, other, n_clusters) - chance


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
