"""Partitions of some rows, carried over to all rows of linked views."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import TRUSTED
from unaligned.partitions.scores import LOWEST, information
from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_regression import fit_ridge

__all__ = [
    "DOUBTED",
    "Carried",
    "Source",
    "carry",
    "information_beyond_chance",
    "is_trusted",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_LEARNED = 5000  # rows, at most, that clusters are learned from, or read at once: cost
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
