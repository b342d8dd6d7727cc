"""Pairs of generated views that have nothing to do with each other, but look alike.

Two draws of one kind of data: the same shape, and no object in common. Geometry fits
them onto each other, and whoever trusts a fit is fooled. A kind takes the number of
rows, of columns and random numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "related_views", "unrelated_views"]

Array = NDArray[Any]
Rng = np.random.RandomState


def swiss_roll(n: int, d: int, rng: Rng) -> Array:
    """Points on a swiss roll, embedded linearly."""
    t = 1.5 * np.pi * (1 + 2 * rng.rand(n))
    roll = np.column_stack([t * np.cos(t), 21 * rng.rand(n), t * np.sin(t)])
    return roll @ rng.randn(3, d) + 0.05 * rng.randn(n, d)


def fourier_features(n: int, d: int, rng: Rng) -> Array:
    """Random Fourier features of points in a square."""
    return np.cos(3 * rng.rand(n, 2) @ rng.randn(2, d) + 2 * np.pi * rng.rand(d))


def delayed_waves(n: int, d: int, rng: Rng) -> Array:
    """Time-delay embedding of a periodic signal."""
    t = 2 * np.pi * rng.uniform(0.01, 0.05) * np.arange(n + d)
    wave = np.sin(t + 6 * rng.rand()) + 0.5 * np.sin(2.3 * t) + 0.1 * rng.randn(n + d)
    return np.lib.stride_tricks.sliding_window_view(wave, d)[:n].copy()


def delayed_walks(n: int, d: int, rng: Rng) -> Array:
    """Time-delay embedding of a random walk."""
    walk = rng.randn(n + d).cumsum()
    return np.lib.stride_tricks.sliding_window_view(walk, d)[:n].copy()


def spots_on_grid(n: int, d: int, rng: Rng) -> Array:
    """Images of a spot somewhere on a grid of pixels."""
    side = max(2, int(np.sqrt(d)))
    pixels = np.stack(np.meshgrid(*2 * [np.arange(side)]), axis=-1).reshape(-1, 2)
    spots = side * rng.rand(n, 2)
    squares = ((spots[:, None] - pixels[None]) ** 2).sum(axis=-1)
    return np.exp(-squares / rng.uniform(1, 4))


def softmax_outputs(n: int, d: int, rng: Rng) -> Array:
    """Draw outputs of a classifier."""
    weights = np.exp(3 * rng.randn(n, d))
    return weights / weights.sum(axis=1, keepdims=True)


def sphere(n: int, d: int, rng: Rng) -> Array:
    """Points on a unit sphere, embedded linearly."""
    points = rng.randn(n, min(d, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points @ rng.randn(points.shape[1], d)


def spectral_embedding(n: int, d: int, rng: Rng) -> Array:
    """Eigenfunctions of an interval."""
    waves = np.cos(np.pi * np.outer(rng.rand(n), np.arange(1, d + 1)))
    return waves + 0.02 * rng.randn(n, d)


def counts_of_depth(n: int, d: int, rng: Rng) -> Array:
    """Draw counts of five classes, with a depth of sequencing that varies."""
    shares = rng.dirichlet(np.full(d, 0.3), size=5)[rng.randint(5, size=n)]
    return rng.poisson(shares * np.exp(5 + 0.7 * rng.randn(n))[:, None]).astype(float)


def row_norms(n: int, d: int, rng: Rng) -> Array:
    """Noise whose length and offset vary from row to row."""
    length, offset = np.exp(rng.randn(2, n, 1))
    return rng.randn(n, d) * length + 5 * offset


def hierarchy(n: int, d: int, rng: Rng) -> Array:
    """Clusters of clusters of clusters."""
    centers = 8 * rng.randn(2, d)
    for spread, branches in ((4, 3), (2, 4)):
        moved = centers[:, None] + spread * rng.randn(len(centers), branches, d)
        centers = moved.reshape(-1, d)
    return centers[rng.randint(len(centers), size=n)] + rng.randn(n, d)


def one_hot(n: int, d: int, rng: Rng) -> Array:
    """Three categories of each row, one-hot."""
    k = max(2, d // 3)
    return np.hstack([np.eye(k)[rng.randint(k, size=n)] for _ in range(3)])


def one_hot_noisy(n: int, d: int, rng: Rng) -> Array:
    """Do the same, with a little noise."""
    categories = one_hot(n, d, rng)
    return categories + 0.01 * rng.randn(*categories.shape)


def categories(n: int, d: int, rng: Rng) -> Array:
    """Independent categories of three levels, one-hot, with some noise.

    Shares are the same in every draw, so that one stands for the other.
    """
    shares = np.random.RandomState(d).dirichlet([3, 3, 3], size=max(2, d // 3))
    drawn = [np.eye(3)[rng.choice(3, size=n, p=of)] for of in shares]
    return np.hstack(drawn) + 0.3 * rng.randn(n, 3 * len(drawn))


def gaussian(n: int, d: int, rng: Rng) -> Array:
    """Correlated Gaussian columns."""
    return rng.randn(n, d) @ rng.randn(d, d)


def clusters(n: int, d: int, rng: Rng) -> Array:
    """Eight round clusters."""
    return 3 * rng.randn(8, d)[rng.randint(8, size=n)] + rng.randn(n, d)


def cube(n: int, d: int, rng: Rng) -> Array:
    """Points that fill a cube."""
    return rng.rand(n, d)


def circle(n: int, d: int, rng: Rng) -> Array:
    """Points near a circle, embedded linearly."""
    t = 2 * np.pi * rng.rand(n)
    points = np.column_stack([np.cos(t), np.sin(t)]) @ rng.randn(2, d)
    return points + 0.05 * rng.randn(n, d)


def heavy_tails(n: int, d: int, rng: Rng) -> Array:
    """Four factors with heavy tails."""
    factors = rng.standard_t(2, size=(n, 4))
    return factors @ rng.randn(4, d) + 0.3 * rng.randn(n, d)


KINDS: dict[str, Callable[[int, int, Rng], Array]] = {
    kind.__name__: kind
    for kind in (
        swiss_roll,
        fourier_features,
        delayed_waves,
        delayed_walks,
        spots_on_grid,
        softmax_outputs,
        sphere,
        spectral_embedding,
        counts_of_depth,
        row_norms,
        hierarchy,
        one_hot,
        one_hot_noisy,
        gaussian,
        clusters,
        cube,
        circle,
        heavy_tails,
        categories,
    )
}


def unrelated_views(
    kind: str, shapes: tuple[tuple[int, int], tuple[int, int]], seed: int
) -> tuple[Array, Array]:
    """Draw one kind of data twice, with so many rows and columns."""
    rng = np.random.RandomState(seed)
    one, other = (KINDS[kind](*shape, rng) for shape in shapes)
    return one, other


def related_views(
    shapes: tuple[tuple[int, int], tuple[int, int]],
    n_factors: int,
    noise: float,
    seed: int,
) -> tuple[Array, Array, NDArray[np.intp]]:
    """Two linear maps of common factors plus noise; the second view has fewer rows.

    Also gives the row of the first view that every row of the second belongs to.
    """
    (n, d), (m, e) = shapes
    rng = np.random.RandomState(seed)
    factors = rng.randn(n, n_factors)
    one = factors @ rng.randn(n_factors, d) + noise * rng.randn(n, d)
    rows = rng.permutation(n)[:m]
    other = factors[rows] @ rng.randn(n_factors, e) + noise * rng.randn(m, e)
    return one, other, rows
