"""Partitions of some rows, carried over to all rows of linked views."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from unaligned.alignment import TRUSTED
from unaligned.partitions.scores import LOWEST, information
from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_regression import fit_ridge

__all__ = [
    "DOUBTED",
    "Carried",
    "Source",
    "carry",
    "common_names",
    "information_beyond_chance",
    "is_trusted",
    "known_labels",
    "name_in_common",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_LEARNED = 5000  # rows, at most, that clusters are learned from, or read at once: cost
SLIGHT = 1e-6  # share of chance that decides where nothing else does
DOUBTED = 0.5  # weight below which a pair is more likely wrong than right


class Source(NamedTuple):
    """Partitions of some rows."""

    rows: dict[int, Labels]
    """The same objects in one view or in several: row numbers by view."""
    labels: Labels
    """Their clusters: a column for every partition."""


class Carried(NamedTuple):
    """Partitions of all rows of a view."""

    labels: Labels
    """A column for every partition."""
    quality: Array
    """What the view says of each of them, of rows left out, from 0.01 to 1."""


def is_trusted(bridge: Bridge, i: int, j: int) -> bool:
    """Whether the pairs of two views say more than pairs at random."""
    link = bridge.links.get((min(i, j), max(i, j)))
    return link is not None and link.trust >= TRUSTED


def carry(
    bridge: Bridge, group: tuple[int, ...], source: Source, n_clusters: int
) -> dict[int, Carried]:
    """Carry partitions over to all rows of all views of a group.

    From the view that was partitioned they are passed on along trusted links, on the
    ways that explain most variance.
    """
    found = {
        i: _extend(bridge.features[i], rows, source.labels, n_clusters)
        for i, rows in source.rows.items()
    }
    reach = dict.fromkeys(found, 1.0)  # shares of variance multiply along a way
    while len(found) < len(group):
        steps = [
            (reach[at] * bridge.regression(at, to).quality, at, to)
            for at, to in product(found, group)
            if to not in found and is_trusted(bridge, at, to)
        ]
        reach_of_best, at, to = max(steps)
        reach[to] = reach_of_best
        rows_at, rows, weights = bridge.known(at, to)
        labels = found[at].labels[rows_at]
        found[to] = _extend(bridge.features[to], rows, labels, n_clusters, weights)
    return {i: found[i] for i in group}


def name_in_common(
    bridge: Bridge, own: dict[int, Carried], n_clusters: int
) -> dict[int, Carried]:
    """Give the own partitions of all views common names, by the known pairs.

    Few pairs can name clusters, one to one, where they cannot tell what rows look like.

    Parameters
    ----------
    bridge : Bridge
    own : dict of Carried
        By view, its rows in partitions of its own. Those of one column, made in the
        same way, are brought together.
    n_clusters : int

    Returns
    -------
    dict of Carried
        The quality of a view's partition is that of known partners, but for the first
        view, which keeps its own.
    """
    first = next(iter(own))
    found = {first: own[first]}
    while len(found) < len(own):
        linked = {
            i: [at for at in found if is_trusted(bridge, at, i)]
            for i in own.keys() - found.keys()
        }
        to = min(i for i, named in linked.items() if named)
        told, known = known_labels(
            bridge,
            {at: found[at].labels for at in linked[to]},
            {to: own[to].labels},
        )
        columns = range(known.shape[1])
        names = [common_names(known[:, c], told[:, c], n_clusters) for c in columns]
        quality = [
            information_beyond_chance(told[:, c], known[:, c], n_clusters)
            for c in columns
        ]
        labels = [names[c][own[to].labels[:, c]] for c in columns]
        found[to] = Carried(np.column_stack(labels), np.maximum(quality, LOWEST))
    return {i: found[i] for i in own}


def known_labels(
    bridge: Bridge, ones: dict[int, Labels], others: dict[int, Labels]
) -> tuple[Labels, Labels]:
    """Labels of all known pairs that are not doubted, between views of two sides."""
    nothing = (next(iter(side.values()))[:0] for side in (ones, others))
    parts = [tuple(nothing)]
    for at, to in product(ones, others):
        if (min(at, to), max(at, to)) in bridge.links:
            rows_at, rows_to, weights = bridge.known(at, to)
            sure = weights >= DOUBTED
            parts.append((ones[at][rows_at[sure]], others[to][rows_to[sure]]))
    told, known = zip(*parts, strict=True)
    return np.concatenate(told), np.concatenate(known)


def common_names(
    labels: Labels, told: Labels, n_clusters: int, beyond_chance: bool = False
) -> Labels:
    """Name every cluster like most of its rows are told, no two alike.

    Parameters
    ----------
    labels, told : ndarray of int of shape (p,)
        Clusters of some rows, and what they are called elsewhere.
    n_clusters : int
    beyond_chance : bool, default=False
        Count rows less those that unrelated labels would share. Few pairs may be of one
        class mostly; their number says then how large clusters are, not which is which.

    Returns
    -------
    names : ndarray of shape (n_clusters,)

    Examples
    --------
    >>> import numpy as np
    >>> common_names(np.array([0, 0, 1, 1]), np.array([2, 2, 2, 0]), 3)
    array([2, 0, 1])

    Most rows are told 1, whatever their cluster; those told 0 are all of cluster 0.

    >>> labels, told = np.repeat([0, 1], [6, 1]), np.repeat([0, 1], [2, 5])
    >>> common_names(labels, told, 2), common_names(labels, told, 2, True)
    (array([1, 0]), array([0, 1]))
    """
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (labels, told), 1)
    if beyond_chance and len(labels):
        chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(labels)
        counts -= (1 - SLIGHT) * chance
    return np.asarray(linear_sum_assignment(-counts)[1], dtype=np.intp)


def _extend(
    features: Array,
    rows: Labels,
    labels: Labels,
    n_clusters: int,
    weights: Array | None = None,
) -> Carried:
    """Label all rows of a view by those of which the clusters are known.

    A row has the cluster of largest expected membership; known ones keep theirs, but
    for partners that are doubted.
    """
    weights = np.ones(len(rows)) if weights is None else weights
    sure = weights >= DOUBTED
    learned = np.linspace(0, len(rows) - 1, min(len(rows), N_LEARNED)).astype(np.intp)
    members = np.eye(n_clusters)[labels[learned]].reshape(len(learned), -1)
    fit = fit_ridge(features[rows[learned]], members, weights[learned])
    starts = range(0, len(features), N_LEARNED)
    blocks = (fit.predict(features[start : start + N_LEARNED]) for start in starts)
    extended = np.vstack([_clusters(block, n_clusters) for block in blocks])
    extended[rows[sure]] = labels[sure]
    kept = sure[learned]
    told = _clusters(fit.left_out, n_clusters)[kept]
    quality = [
        information_beyond_chance(*pair, n_clusters)
        for pair in zip(labels[learned][kept].T, told.T, strict=True)
    ]
    return Carried(extended, np.maximum(quality, LOWEST))


def _clusters(members: Array, n_clusters: int) -> Labels:
    """Cluster of largest membership in every partition: (rows, partitions)."""
    return np.asarray(members.reshape(len(members), -1, n_clusters).argmax(axis=2))


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
    return float(information(one, other, n_clusters) - chance)
