"""Matching of anchors: many soft couplings at once, bred until one fits.

A view is summed up by a few dozen anchors. A coupling is a K_a × K_b matrix with the
anchors' masses as margins: how much of anchor k goes to anchor l. From many random
starts, Gromov–Wasserstein steps make couplings that keep distances, self-learning
rewards those under which the two views are linear functions of each other, and a
memetic search crosses the best. All couplings of a population are one (B, K_a, K_b)
array.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, MiniBatchKMeans

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.geometry import N_COARSE, Geometry, row_distances

__all__ = ["Anchors", "Effort", "place_anchors", "sample_view", "search_couplings"]

Array = NDArray[Any]


class Anchors(NamedTuple):
    """A view summed up: distances between anchors, their masses and whitened means."""

    distances: Array
    masses: Array
    means: Array


class Effort(NamedTuple):
    """How hard to search."""

    n_placements: int
    """How often to place anchors anew. Where they lie decides what can be found."""
    n_starts: int
    n_generations: int
    n_children: int
    n_candidates: int
    n_crossings: int
    """How often to cross what was found, where rows are few."""


N_ANCHORS = 60
SAMPLE = 1200  # rows of a view that distances are computed between
GW_TEMPERATURE = 0.02
LEARNING_TEMPERATURE = 0.05
N_CORRELATIONS = 10  # directions that self-learning on anchors uses
MOST_ROWS = 5000  # for k-means on all of them
TINY = np.float32(1e-30)  # keeps quotients finite


class Sample(NamedTuple):
    """Rows that speak for a view, and the distances between them."""

    rows: Array
    distances: Array


def sample_view(geometry: Geometry, rng: np.random.RandomState) -> Sample:
    """Draw rows and measure their distances, which costs more than placing anchors."""
    rows = np.sort(rng.permutation(len(geometry.points))[:SAMPLE])
    return Sample(rows, row_distances(geometry.points[rows]))


def place_anchors(
    geometry: Geometry, sample: Sample, rng: np.random.RandomState
) -> Anchors:
    """Sum up a view by k-means anchors; another random state, other anchors."""
    n, rows = len(geometry.points), sample.rows
    coarse = geometry.points[:, :N_COARSE]
    n_distinct = len(np.unique(coarse[rows], axis=0))
    n_anchors = min(max(2, min(N_ANCHORS, len(rows) // 5)), n_distinct)
    seed = rng.randint(2**31 - 1)
    if n > MOST_ROWS:
        kmeans = MiniBatchKMeans(
            n_anchors, n_init=1, batch_size=2048, random_state=seed
        )
    else:
        kmeans = KMeans(n_anchors, n_init=1, max_iter=30, random_state=seed)
    owner = kmeans.fit_predict(coarse)
    used, owner = np.unique(owner, return_inverse=True)
    masses = np.bincount(owner) / n
    means = np.zeros((len(used), coarse.shape[1]))
    np.add.at(means, owner, geometry.coarse)
    means /= np.bincount(owner)[:, None]
    distances = anchor_distances(
        sample.distances,
        owner[rows],
        coarse[rows],
        kmeans.cluster_centers_[used],
    )
    return Anchors(
        distances.astype(np.float32),
        masses.astype(np.float32),
        means.astype(np.float32),
    )


def anchor_distances(
    distances: Array, owner: Array, rows: Array, centers: Array
) -> Array:
    """Mean distance between the sampled rows of two anchors, over its mean.

    An anchor with fewer than three sampled rows speaks through its three nearest.
    """
    membership = np.zeros((len(rows), len(centers)), dtype=np.float32)
    membership[np.arange(len(rows)), owner] = 1
    for anchor in np.flatnonzero(membership.sum(axis=0) < 3):
        nearest = np.argsort(((rows - centers[anchor]) ** 2).sum(axis=1))[:3]
        membership[:, anchor] = 0
        membership[nearest, anchor] = 1
    membership /= membership.sum(axis=0)
    between: Array = membership.T @ distances @ membership
    return between / (between.mean() or 1.0)


def sinkhorn(plans: Array, a: Array, b: Array, n_iter: int) -> Array:
    """Scale a batch of positive matrices towards the margins a and b, in place."""
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.sinkhorn import scale_in_place

    scale_in_place(plans, a, b, n_iter)
    return plans


def keep_distances(plans: Array, one: Anchors, other: Anchors, n_steps: int) -> Array:
    """Proximal Gromov–Wasserstein steps: anchors near each other go near each other."""
    a, b = one.masses, other.masses
    constant = (one.distances**2 @ a)[:, None] + (other.distances**2 @ b)[None, :]
    for _ in range(n_steps):
        cost = constant - 2 * (one.distances @ plans @ other.distances)
        cost -= cost.min(axis=2, keepdims=True)
        cost *= -1 / GW_TEMPERATURE
        plans = plans * np.exp(cost, out=cost)
        plans = sinkhorn(plans, a, b, 10)
    return plans


def learn(
    plans: Array, one: Anchors, other: Anchors, n_rounds: int
) -> tuple[Array, Array]:
    """Self-learning: canonical directions under a coupling, a coupling along them.

    Returns the couplings and their fitness, the sum of the leading correlations.
    """
    to_one, to_other, fitness = _correlate(plans, one, other)
    for _ in range(n_rounds):
        A, B = _along(one.means, to_one), _along(other.means, to_other)
        plans = A @ B.transpose(0, 2, 1)
        plans -= 1
        plans *= 1 / LEARNING_TEMPERATURE
        plans = sinkhorn(np.exp(plans, out=plans), one.masses, other.masses, 15)
        to_one, to_other, fitness = _correlate(plans, one, other)
    return plans, fitness


def _correlate(
    plans: Array, one: Anchors, other: Anchors
) -> tuple[Array, Array, Array]:
    """Canonical directions of either side times their correlations C = L S Rᵀ.

    With the eigenvectors L of C Cᵀ, which cost half of a decomposition of C, the other
    side needs no more than R S = Cᵀ L.
    """
    cross = one.means.T @ plans @ other.means
    squares, left = np.linalg.eigh(cross @ cross.transpose(0, 2, 1))
    r = min(N_CORRELATIONS, cross.shape[1], cross.shape[2])
    correlations = np.sqrt(np.maximum(squares[:, : -r - 1 : -1], 0))
    left = left[:, :, : -r - 1 : -1]
    to_other = cross.transpose(0, 2, 1) @ left
    return left * correlations[:, None, :], to_other, correlations.sum(axis=1)


def _along(means: Array, directions: Array) -> Array:
    rows = means @ directions
    rows /= np.linalg.norm(rows, axis=2, keepdims=True) + TINY
    return rows


def search_couplings(
    one: Anchors, other: Anchors, effort: Effort, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Best couplings of two views' anchors and their fitness, best first."""
    plans = random_couplings(effort.n_starts, one, other, rng)
    plans, fitness = learn(keep_distances(plans, one, other, 50), one, other, 10)
    plans, fitness = distinct(plans, fitness)
    for _ in range(effort.n_generations):
        young = cross(plans, one, other, effort.n_children, rng)
        young, young_fitness = learn(
            keep_distances(young, one, other, 15), one, other, 8
        )
        plans, fitness = distinct(
            np.concatenate([plans, young]), np.concatenate([fitness, young_fitness])
        )
    return plans[: effort.n_candidates], fitness[: effort.n_candidates]


def random_couplings(
    size: int, one: Anchors, other: Anchors, rng: np.random.RandomState
) -> Array:
    """Couplings that know nothing but the masses."""
    shape = size, len(one.masses), len(other.masses)
    noise = np.exp(2 * rng.standard_normal(shape).astype(np.float32))
    return sinkhorn(noise, one.masses, other.masses, 20)


def distinct(plans: Array, fitness: Array, most: int = 60) -> tuple[Array, Array]:
    """Keep the fittest couplings of which no two are nearly the same."""
    order = np.argsort(-fitness, kind="stable")
    plans, fitness = plans[order], fitness[order]
    unit = unit_rows(plans.reshape(len(plans), -1))
    alike = unit @ unit.T > 0.9
    kept: list[int] = []
    for i in range(len(plans)):
        if not alike[i, kept].any():
            kept.append(i)
        if len(kept) == most:
            break
    return plans[kept], fitness[kept]


def cross(
    plans: Array,
    one: Anchors,
    other: Anchors,
    n_children: int,
    rng: np.random.RandomState,
) -> Array:
    """Children of the fitter couplings: a neighbourhood of anchors from each parent."""
    ranks = np.arange(1, len(plans) + 1)
    odds = 1 / ranks
    mothers = rng.choice(len(plans), n_children, p=odds / odds.sum())
    fathers = rng.choice(len(plans), n_children, p=odds / odds.sum())
    size = len(one.masses)
    centers = rng.randint(size, size=n_children)
    reach = rng.randint(size // 5, max(size // 5 + 1, size * 4 // 5), size=n_children)
    order = np.argsort(one.distances, axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(size)[None, :], axis=1)
    from_mother = rank[centers] < reach[:, None]
    rest = plans[fathers]
    strangers = rng.uniform(size=n_children) < 0.3
    rest[strangers] = random_couplings(int(strangers.sum()), one, other, rng)
    children = np.where(from_mother[:, :, None], plans[mothers], rest) + TINY
    return sinkhorn(children, one.masses, other.masses, 20)
