"""Couplings of anchors, from many starts at once.

A coupling of two views is a K_a × K_b matrix with the anchors' masses as margins: how
much of anchor k goes to anchor l. Gromov–Wasserstein steps make couplings that keep
distances; self-learning prefers those under which the two views are linear functions of
each other; the fittest are kept. All couplings are one (B, K_a, K_b) array.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.anchors import N_EIGENVECTORS, Anchors
from unaligned.savuc.config import Settings

__all__ = ["couple_centres", "couple_rows", "keep_distances", "sinkhorn"]

Array = NDArray[Any]

N_KEEPING = 50  # Gromov–Wasserstein steps
N_CROSSINGS = 6  # rounds of crossing. Cost
STARTS_OF_PARENT = 5  # starts for one coupling that is crossed. Cost
N_KEEPING_CROSSED = 20  # steps from two crossed couplings, which are near a minimum
FLOOR = 1e-3  # share of the independent coupling, so that noise may open any entry
FLATTENING = 0.25  # power that leaves noise a say beside the entries of two parents
STARTS_OF_ROWS = 10  # starts of centres for one of rows, which costs as much
N_LEARNING = 8  # rounds of self-learning
ALIKE = 0.9  # cosine of two couplings that count as one
TINY = np.float32(1e-30)  # keeps quotients finite


def couple_centres(
    one: Anchors, other: Anchors, settings: Settings, rng: np.random.RandomState
) -> Array:
    """Search for the fittest couplings of centres; best first.

    Half of them start from signatures with more and more noise, the other
    half from noise alone: signatures mislead where many anchors look the same.
    """
    half = settings.n_starts // 2
    noise = draw_noise(one, other, settings.n_starts, rng)
    plans = np.concatenate(
        [
            signature_couplings(one, other, noise[:half], settings),
            sinkhorn(np.exp(noise[half:]), one.masses, other.masses, 20),
        ]
    )
    plans = keep_distances(plans, one, other, N_KEEPING, settings)
    plans = cross(plans, one, other, settings, rng)
    plans = distinct(*learn(plans, one, other, settings))
    return plans[: settings.n_candidates]


def cross(
    plans: Array,
    one: Anchors,
    other: Anchors,
    settings: Settings,
    rng: np.random.RandomState,
) -> Array:
    """Cross the couplings that keep distances best, round by round.

    Two couplings may each be right in a part of the data; steps from both, with noise,
    may lead to one that is right in more. Couplings that keep distances better than
    those of the starts are found in the same time as by more starts.
    """
    n_parents = max(settings.n_starts // STARTS_OF_PARENT, 2)
    floor = np.float32(FLOOR) * np.outer(one.masses, other.masses)
    pool, closeness = plans, distances_kept(plans, one, other)
    for _ in range(N_CROSSINGS):
        parents = np.repeat(distinct(pool, closeness)[:n_parents], 2, axis=0)
        partners = parents[rng.randint(len(parents), size=len(parents))]
        noise = draw_noise(one, other, len(parents), rng)
        crossed = (parents + partners + floor) ** np.float32(FLATTENING) * np.exp(noise)
        crossed = sinkhorn(crossed, one.masses, other.masses, 20)
        crossed = keep_distances(crossed, one, other, N_KEEPING_CROSSED, settings)
        pool = np.concatenate([pool, crossed])
        closeness = np.append(closeness, distances_kept(crossed, one, other))
    return np.concatenate([plans, distinct(pool, closeness)[: len(plans) // 2]])


def distances_kept(plans: Array, one: Anchors, other: Anchors) -> Array:
    """Sum of T ∘ D₁ T D₂: larger where a coupling T keeps more of the distances."""
    moved = between(one, other, np.float32(1))(plans)
    return np.asarray(np.einsum("bij,bij->b", moved, plans))


def couple_rows(
    one: Anchors, other: Anchors, settings: Settings, rng: np.random.RandomState
) -> Array:
    """Couple the rows of two small views, from signatures with more and more noise.

    Of few rows, centres of k-means are too few or change with the noise; rows do not.
    """
    n_starts = max(settings.n_starts // STARTS_OF_ROWS, 1)
    noise = draw_noise(one, other, n_starts, rng)
    plans = signature_couplings(one, other, noise, settings)
    return keep_distances(plans, one, other, N_KEEPING, settings)


def draw_noise(
    one: Anchors, other: Anchors, n_starts: int, rng: np.random.RandomState
) -> Array:
    """Draw noise for the logarithms of couplings."""
    shape = n_starts, len(one.masses), len(other.masses)
    return np.asarray(2 * rng.standard_normal(shape).astype(np.float32))


def signature_couplings(
    one: Anchors, other: Anchors, noise: Array, settings: Settings
) -> Array:
    """Couple anchors whose signatures are alike; noise grows from slice to slice."""
    growing = np.linspace(0, 1, len(noise), dtype=np.float32)[:, None, None]
    cosine = unit_rows(one.signatures) @ unit_rows(other.signatures).T
    plans = (cosine - 1) / np.float32(settings.learning_temperature) + growing * noise
    return sinkhorn(np.exp(plans), one.masses, other.masses, 20)


def sinkhorn(plans: Array, a: Array, b: Array, n_iter: int) -> Array:
    """Scale a batch of positive matrices towards the margins a and b, in place."""
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.sinkhorn import scale_in_place

    scale_in_place(plans, a, b, n_iter)
    return plans


def keep_distances(
    plans: Array, one: Anchors, other: Anchors, n_steps: int, settings: Settings
) -> Array:
    """Proximal Gromov–Wasserstein steps: anchors near each other go near each other."""
    a, b = one.masses, other.masses
    scale = np.float32(1 / settings.keeping_temperature)
    constant = (one.distances**2 @ a)[:, None] + (other.distances**2 @ b)[None, :]
    constant *= scale
    moved = between(one, other, 2 * scale)
    for _ in range(n_steps):
        exponents = moved(plans)
        exponents -= constant
        exponents -= exponents.max(axis=2, keepdims=True)
        kernel = np.exp(exponents, out=exponents)
        plans = sinkhorn(np.multiply(plans, kernel, out=kernel), a, b, 10)
    return plans


def between(
    one: Anchors, other: Anchors, factor: np.float32
) -> Callable[[Array], Array]:
    """Give the function of couplings T that is D₁ T D₂ times a factor.

    Large D are replaced by their leading eigenvectors: n² operations, not n³.
    """
    if max(len(one.masses), len(other.masses)) <= N_EIGENVECTORS:
        scaled = one.distances * factor
        return lambda plans: scaled @ plans @ other.distances
    (left, to_left), (right, to_right) = one.factors, other.factors
    scaled = left * factor
    return lambda plans: scaled @ (to_left @ plans @ to_right.T) @ right.T


def learn(
    plans: Array, one: Anchors, other: Anchors, settings: Settings
) -> tuple[Array, Array]:
    """Self-learning: canonical directions under a coupling, a coupling along them.

    Returns the couplings and their fitness, the sum of the leading correlations.
    """
    n_leading = settings.n_leading
    A, B = one.means[:, :n_leading], other.means[:, :n_leading]
    to_one, to_other, fitness = correlate(plans, A, B, settings)
    for _ in range(N_LEARNING):
        rows = unit_stack(A @ to_one), unit_stack(B @ to_other)
        plans = rows[0] @ rows[1].transpose(0, 2, 1)
        plans -= 1
        plans *= np.float32(1 / settings.learning_temperature)
        plans = sinkhorn(np.exp(plans, out=plans), one.masses, other.masses, 15)
        to_one, to_other, fitness = correlate(plans, A, B, settings)
    return plans, fitness


def correlate(
    plans: Array, A: Array, B: Array, settings: Settings
) -> tuple[Array, Array, Array]:
    """Canonical directions of either side times their correlations, C = L S Rᵀ.

    With the eigenvectors L of C Cᵀ, which cost half of a decomposition of C, the other
    side needs no more than R S = Cᵀ L.
    """
    cross = A.T @ plans @ B
    squares, left = np.linalg.eigh(cross @ cross.transpose(0, 2, 1))
    r = min(settings.n_correlations, cross.shape[1], cross.shape[2])
    correlations = np.sqrt(np.maximum(squares[:, : -r - 1 : -1], 0))
    left = left[:, :, : -r - 1 : -1]
    to_other = cross.transpose(0, 2, 1) @ left
    return left * correlations[:, None, :], to_other, correlations.sum(axis=1)


def unit_stack(rows: Array) -> Array:
    """Scale the rows of every matrix of a stack to unit length."""
    rows /= np.linalg.norm(rows, axis=2, keepdims=True) + TINY
    return rows


def distinct(plans: Array, fitness: Array) -> Array:
    """Sort couplings by fitness, and keep one of those that are nearly the same."""
    plans = plans[np.argsort(-fitness, kind="stable")]
    unit = unit_rows(plans.reshape(len(plans), -1))
    alike = unit @ unit.T > ALIKE
    kept: list[int] = []
    for i in range(len(plans)):
        if not alike[i, kept].any():
            kept.append(i)
    return np.asarray(plans[kept])
