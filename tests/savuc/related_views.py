"""Views of the same objects, and of others, small enough for every step."""

from dataclasses import replace

import numpy as np

from unaligned.savuc.config import EFFORTS
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.starts import prepare_view

QUICK = EFFORTS["quick"]
# Three rivals, and not 2,000 rows of them, which take most of the time of small fits.
FEW_RIVALS = replace(QUICK, n_rival_rows=0)


def measured_views(n=200, widths=(24, 30), noise=0.1, seed=0):
    """Noisy linear maps of skewed clusters: rows can be told apart by structure."""
    rng = np.random.RandomState(seed)
    kind = rng.choice(5, n, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    latent = 2 * rng.normal(size=(5, 10))[kind] + rng.gamma(0.5, size=(n, 10))
    Xs = [latent @ rng.normal(size=(10, d)) for d in widths]
    return [X + noise * rng.normal(size=X.shape) for X in Xs]


def shuffled_pair(n=200, widths=(24, 30), noise=0.1, seed=0):
    """Two related views and the object of every row of the second."""
    one, other = measured_views(n, widths, noise, seed)
    order = np.random.RandomState(seed + 100).permutation(n)
    return one, other[order], order


def shuffled_columns(X, seed=0):
    """The same columns, every one in an order of its own: related to nothing."""
    rng = np.random.RandomState(seed)
    return np.column_stack([rng.permutation(column) for column in X.T])


def whitened_pair(n=120, d=10, noise=0.3, seed=0):
    """Rows of unit variance, rotated, and the order of the second view."""
    rng = np.random.RandomState(seed)
    shared = rng.normal(size=(n, d))
    order = rng.permutation(n)
    one = shared + noise * rng.normal(size=(n, d))
    other = (shared @ np.linalg.qr(rng.normal(size=(d, d)))[0])[order]
    other = other + noise * rng.normal(size=(n, d))
    return one.astype(np.float32), other.astype(np.float32), order


def true_cross(one, other, order):
    return one[order].T @ other / len(order)


def search_view(X, settings=QUICK, seed=0):
    rng = np.random.RandomState(seed)
    return prepare_view(read_geometry(X, settings.n_directions, rng), settings, rng)
