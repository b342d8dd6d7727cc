"""Clusters of all rows of linked views, with one naming.

Every view is partitioned in several ways, and so are the rows that are known in all
views. Each partition is carried over to the rows of every view: a row has the cluster
of its known partner, and any other row the cluster that a regression on its features
expects, learned where the clusters are known. Besides, own partitions of all views are
given common names by the pairs, which takes fewer of them. Those partitions are kept
that all views predict best, on rows left out. They are reconciled: rows are embedded by
who shares clusters with whom, and clustered once more. At last every view learns these
clusters from all of its rows, and every row is labelled by what its own view and those
of its known partners say. Views whose pairs say no more than pairs at random are
clustered apart, and the pairs only name their clusters.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from unaligned.deadline import NEVER, Deadline
from unaligned.partitions.features import view_features
from unaligned.partitions.labeller import SMOOTHING, fit_labeller
from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_partitions import (
    DOUBTED,
    Source,
    carry,
    common_names,
    is_trusted,
    known_labels,
    name_in_common,
)
from unaligned.savuc.config import NORMAL, Settings
from unaligned.savuc.consensus import N_BEST, consensus, draw_rows
from unaligned.savuc.recipes import Space, joint_spaces, make_partitions, view_spaces

__all__ = [
    "cluster_linked",
    "complete_rows",
    "label_by_views",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

ENOUGH_PER_CLUSTER = 10  # rows known or matched in all views, to cluster them together


def cluster_linked(
    bridge: Bridge,
    views: list[Any],
    n_clusters: int,
    rng: np.random.RandomState,
    groups: list[tuple[int, ...]] | None = None,
    deadline: Deadline = NEVER,
    settings: Settings = NORMAL,
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
    deadline : Deadline
        `TimeIsUp` is raised where it cannot be met.
    settings : Settings, optional
        Of the fit, for the ridge of directions that views share.

    Returns
    -------
    list of ndarray of shape (n_i,)
        One naming for the views of a group; views of different groups have nothing in
        common but the numbers.
    """
    labels: list[Labels] = [np.empty(0, dtype=np.intp)] * len(views)
    for group in bridge.groups if groups is None else groups:
        named: list[int] = []
        for part in _trusted_parts(bridge, group):
            sources = _sources(
                bridge, views, part, n_clusters, rng, deadline, settings.ridge
            )
            found = _cluster_part(bridge, part, sources, n_clusters, rng, deadline)
            deadline.check()
            found = label_by_views(bridge, views, part, found, n_clusters)
            for i, of_view in zip(part, found, strict=True):
                labels[i] = of_view
            if named:
                sides = ({i: labels[i] for i in side} for side in (named, part))
                told, known = known_labels(bridge, *sides)
                names = common_names(known, told, n_clusters, beyond_chance=True)
                for i in part:
                    labels[i] = names[labels[i]]
            named += part
    return labels


def _trusted_parts(bridge: Bridge, group: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Split a group where pairs say no more than pairs at random.

    Clusters that were carried over by such pairs would be worse than none.
    """
    linked = np.array([[is_trusted(bridge, i, j) for j in group] for i in group])
    _, number = connected_components(linked, directed=False)
    members = np.array(group)
    return [tuple(map(int, members[number == part])) for part in np.unique(number)]


def _cluster_part(
    bridge: Bridge,
    part: tuple[int, ...],
    sources: list[Source],
    n_clusters: int,
    rng: np.random.RandomState,
    deadline: Deadline,
) -> list[Labels]:
    """Label all rows of views with trusted links."""
    pool, own = [], {}
    for source in sources:
        deadline.check()
        carried = carry(bridge, part, source, n_clusters)
        pool.append(carried)
        if len(source.rows) == 1:
            (i,) = source.rows
            own[i] = carried[i]
    if len({of_view.labels.shape[1] for of_view in own.values()}) == 1:
        pool.append(name_in_common(bridge, own, n_clusters))
    partitions, scores = [], []
    for found in pool:
        partitions.append(np.vstack([of_view.labels for of_view in found.values()]))
        quality = np.array([of_view.quality for of_view in found.values()])
        # A geometric mean: one view alone cannot make a partition good.
        scores.append(np.log(quality).mean(axis=0))
    best = np.argsort(np.concatenate(scores))[-N_BEST:]
    labels = consensus(np.hstack(partitions)[:, best], n_clusters, rng)
    ends = np.cumsum([len(bridge.features[i]) for i in part])[:-1]
    return np.split(labels, ends)


def label_by_views(
    bridge: Bridge,
    views: list[Any],
    part: tuple[int, ...],
    labels: list[Labels],
    n_clusters: int,
) -> list[Labels]:
    """Label all rows of linked views by what the labels of other rows say.

    With p_i the probabilities of clusters that view i learns from the labels of its
    rows, a row x of view i with known partners y of weights w has the cluster of
    largest log p_i(x) + Σ w log p_j(y).

    Parameters
    ----------
    bridge : Bridge
    views : list of ndarrays or CSR arrays
    part : tuple of int
        Some views of a group.
    labels : list of ndarray
        Of the rows of each of them.
    n_clusters : int

    Returns
    -------
    list of ndarray of shape (n_i,)
    """
    by_view = {
        i: _log_probabilities(views[i], found, n_clusters)
        for i, found in zip(part, labels, strict=True)
    }
    together = {i: logs.copy() for i, logs in by_view.items()}
    for i, j in product(part, part):
        if (min(i, j), max(i, j)) in bridge.links:
            rows_i, rows_j, weights = bridge.known(i, j)
            together[i][rows_i] += weights[:, None] * by_view[j][rows_j]
    return [np.argmax(logs, axis=1) for logs in together.values()]


def _log_probabilities(X: Any, labels: Labels, n_clusters: int) -> Array:
    """Log probability of every cluster for every row of a view: (n, n_clusters)."""
    found = np.full((len(labels), n_clusters), np.log(SMOOTHING / n_clusters))
    if len(labels) < 2:  # nothing can be learned
        found[np.arange(len(labels)), labels] = 0
        return found
    labeller = fit_labeller(X, labels)
    found[:, labeller.classes] = labeller.log_probabilities(X)
    return found


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
    deadline: Deadline,
    ridge: float,
) -> list[Source]:
    """Partition every view, and the complete rows of all together."""
    found = []
    for i in group:
        deadline.check()
        rows = draw_rows(len(bridge.features[i]), n_clusters, rng)
        if len(rows) > n_clusters:
            spaces = view_spaces(view_features(views[i][rows]))
            labels = _partition(spaces, n_clusters, rng)
        else:
            labels = np.arange(len(rows))[:, None]
        found.append(Source({i: rows}, labels))
    complete = complete_rows(bridge, group)
    n_complete = len(complete[group[0]])
    if len(group) > 1 and n_complete >= ENOUGH_PER_CLUSTER * n_clusters:
        drawn = draw_rows(n_complete, n_clusters, rng)
        complete = {i: rows[drawn] for i, rows in complete.items()}
        features = [view_features(views[i][rows]) for i, rows in complete.items()]
        labels = _partition(joint_spaces(features, ridge), n_clusters, rng)
        found.append(Source(complete, labels))
    return found


def _partition(
    spaces: list[Space], n_clusters: int, rng: np.random.RandomState
) -> Labels:
    return np.column_stack(make_partitions(spaces, n_clusters, rng))
