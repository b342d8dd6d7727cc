"""The bridge: what a row would look like in other views, learned from known pairs.

Every row has features: its principal and its diffusion coordinates. For every two views
with known pairs a ridge regression leads from the features of the one to those of the
other, both ways; views without common pairs are reached through others. Estimates are
shrunk by what rows that were left out say, so that a view which predicts nothing adds
nothing.
"""

import math
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, shortest_path

from unaligned.deadline import NEVER, Deadline
from unaligned.known_pairs import KnownPairs
from unaligned.savuc.bridge_regression import (
    Ridge,
    chance_of_pairs,
    fit_ridge,
)
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.graph_coordinates import GraphCoordinates, read_graph
from unaligned.savuc.wrong_pairs import nearer_partners, probably_wrong

__all__ = ["Bridge", "Link", "fit_bridge"]

Array = NDArray[Any]
Pair = tuple[int, int]

TINY = 1e-12
A_STEP = 1e-6  # of two ways that explain as much, the shorter one is taken
ODDS_AGAINST = 8.0  # that two views are related: a p-value of 0.01 makes it even
N_ROUNDS = 2  # of weighting pairs by whether they are right, and fitting again


class Link(NamedTuple):
    """What the known pairs of two views say of each other."""

    rows: tuple[Array, Array]
    """The known pairs: rows of the one view, rows of the other."""
    weights: Array
    """How much each pair counts: less where the others contradict it."""
    there: Ridge
    """From the one view to the other."""
    back: Ridge
    suspicion: Array
    """Probability that a pair is wrong, by what the other pairs say: (p,)."""
    trust: float
    """Probability that the pairs say more than pairs at random."""


class Bridge(NamedTuple):
    """Regressions between the views that known pairs link."""

    graphs: list[GraphCoordinates]
    features: list[Array]
    """Of every view's rows: principal, then diffusion coordinates (float32)."""
    links: dict[Pair, Link]
    """For views i < j with known pairs."""
    groups: list[tuple[int, ...]]
    """Views that are linked, directly or through others; a view alone is a group."""
    quality: Array
    """Share of variance of view j explained from view i, of rows left out; 1 for i."""
    before: Array
    """The view before j on the best way from i; negative where there is none."""

    def linked(self, i: int, j: int) -> bool:
        """Whether known pairs lead from view i to view j."""
        return any(i in group and j in group for group in self.groups)

    def way(self, i: int, j: int) -> list[int]:
        """Find the way from view i to view j on which most variance is explained."""
        if not self.linked(i, j):
            raise ValueError(f"No known pairs lead from view {i} to view {j}.")
        way = [j]
        while way[0] != i:
            if len(way) == len(self.features):  # as only a forged file can have it
                raise ValueError(f"The way from view {i} to view {j} does not end.")
            way.insert(0, int(self.before[i, way[0]]))
        return way

    def regression(self, i: int, j: int) -> Ridge:
        """Regression from view i to view j, which have known pairs."""
        return self.links[i, j].there if i < j else self.links[j, i].back

    def known(self, i: int, j: int) -> tuple[Array, Array, Array]:
        """Known pairs of views i and j: rows of i, rows of j, and how they count."""
        link = self.links[min(i, j), max(i, j)]
        rows_i, rows_j = link.rows if i < j else link.rows[::-1]
        return rows_i, rows_j, link.weights

    def trust(self, i: int, j: int) -> float:
        """Probability that views i and j say more of each other than chance."""
        way = [self.links[min(step), max(step)] for step in pairwise(self.way(i, j))]
        return min((link.trust for link in way), default=1.0)

    def suspects(self) -> dict[Pair, Array]:
        """Known pairs that are probably wrong, for views i < j: two columns of rows."""
        found = {}
        for key, link in self.links.items():
            rows = np.column_stack(link.rows)[link.suspicion >= 0.5]
            if rows.size:
                found[key] = rows
        return found

    def diffusion(self, i: int) -> slice:
        """Where the diffusion coordinates stand in the features of view i."""
        return slice(self.features[i].shape[1] - self.graphs[i].vectors.shape[1], None)

    def read(self, points: Array, i: int) -> Array:
        """Features of new rows of view i, from `Geometry.read` of them."""
        return np.hstack([points, self.graphs[i].read(points)])

    def estimate(self, features: Array, i: int, j: int) -> tuple[Array, Array]:
        """Estimate the features that rows of view i have in view j.

        Parameters
        ----------
        features : ndarray of shape (m, d)
            ``features[i]``, or `read` of new rows of view i.
        i, j : int
            Two views of a group.

        Returns
        -------
        estimate : ndarray of shape (m, e)
        error : ndarray of shape (m,)
            Standard error: the root of the expected squared distance from the
            estimate to the features of the same objects in view j.
        """
        estimate, squared = np.asarray(features), np.zeros(len(features))
        for at, to in pairwise(self.way(i, j)):
            step = self.regression(at, to)
            # The error so far, as if even over features, is carried on by the slopes.
            carried = squared * (step.slopes**2).sum() / len(step.slopes)
            squared = carried + step.inflation(estimate) * step.variance.sum()
            estimate = step.predict(estimate)
        return estimate.astype(np.float32), np.sqrt(squared)


def fit_bridge(
    geometries: list[Geometry],
    pairs: KnownPairs,
    settings: Settings,
    rng: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> Bridge:
    """Learn from known pairs what rows of every view look like in the others.

    Parameters
    ----------
    geometries : list of Geometry
    pairs : KnownPairs
    settings : Settings
    rng : RandomState
    deadline : Deadline
        `TimeIsUp` is raised where it cannot be met.

    Returns
    -------
    Bridge

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.savuc.geometry import read_geometry
    >>> rng = np.random.RandomState(0)
    >>> latent = np.repeat(np.eye(3), 40, axis=0) + rng.normal(size=(120, 3)) / 10
    >>> Xs = [latent @ rng.normal(size=(3, 6)) for _ in range(2)]
    >>> known = np.where(np.arange(120) % 6 == 0, np.arange(120), -1)
    >>> pairs = KnownPairs([known, known])
    >>> geometries = [read_geometry(X, 50, rng) for X in Xs]
    >>> bridge = fit_bridge(geometries, pairs, Settings(), rng)
    >>> bridge.groups, bool(bridge.quality[0, 1] > 0.5)
    ([(0, 1)], True)
    """
    graphs = []
    for geometry in geometries:
        deadline.check()
        graphs.append(read_graph(geometry.points, settings))
    V = len(graphs)
    known = {(i, j): pairs.between(i, j) for i, j in combinations(range(V), 2)}
    known = {key: rows for key, rows in known.items() if rows[0].size}
    features = [
        np.hstack([geometry.points, graph.points])
        for geometry, graph in zip(geometries, graphs, strict=True)
    ]
    links = {}
    for (i, j), rows in known.items():
        deadline.check()
        links[i, j] = _fit_link(features[i], features[j], rows, rng)
    quality = np.eye(V)
    for (i, j), link in links.items():
        quality[i, j], quality[j, i] = link.there.quality, link.back.quality
    cost = np.full((V, V), np.inf)
    for i, j in links:
        # Shares of variance multiply along a way: the best has the least sum of logs.
        for at, to in ((i, j), (j, i)):
            cost[at, to] = A_STEP - np.log(max(quality[at, to], TINY))
    _, number = connected_components(np.isfinite(cost), directed=False)
    groups = [tuple(map(int, np.flatnonzero(number == g))) for g in np.unique(number)]
    total, before = shortest_path(cost, return_predecessors=True)
    quality = np.where(before >= 0, np.exp(-total), quality)
    return Bridge(graphs, features, links, groups, quality, before)


def trust_of_p_value(p: float) -> float:
    """Probability that there is a relation, for a p-value of "there is none".

    By the bound −e p log p on the Bayes factor (Sellke, Bayarri and Berger, 2001), with
    prior odds of `ODDS_AGAINST`, at which a p-value of 0.01 gives one half.

    Examples
    --------
    >>> [round(trust_of_p_value(p), 2) for p in (0.001, 0.01, 0.2)]
    [0.87, 0.5, 0.13]
    """
    factor = -math.e * p * math.log(p) if p < 1 / math.e else 1.0
    return float(1 / (1 + ODDS_AGAINST * factor))


def _fit_link(
    one: Array,
    other: Array,
    rows: tuple[Array, Array],
    rng: np.random.RandomState,
) -> Link:
    """Fit both ways, with less weight on pairs that the others contradict."""
    X, Y = one[rows[0]], other[rows[1]]
    trust = trust_of_p_value(chance_of_pairs(X, Y, rng))
    there, back = fit_ridge(X, Y), fit_ridge(Y, X)
    for _ in range(N_ROUNDS):
        suspicion = probably_wrong(nearer_partners(there, back, X, Y))
        weights = np.maximum(1 - suspicion, TINY)
        there = fit_ridge(X, Y, weights, (there.penalty,))
        back = fit_ridge(Y, X, weights, (back.penalty,))
    return Link(rows, weights, there, back, suspicion, trust)
