"""Samples of two views that have objects in common: rows, and those nearest to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.neighbors import top_products
from unaligned.savuc.config import Settings
from unaligned.savuc.refine import RowPair, along_directions, sample_rows

__all__ = ["draw_rows", "nearest_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


def draw_rows(
    cross: Array, rows: RowPair, settings: Settings, rng: np.random.RandomState
) -> RowPair:
    """Rows for a cycle: all, or a sample of the first view and rows nearest to it.

    Two samples drawn apart would share few objects.
    """
    sampled = sample_rows(rows, settings.n_refined, rng)
    if len(sampled.other) == len(rows.other):
        return sampled
    nearest = nearest_rows(cross, sampled, rows.other, settings, rng)
    return sampled._replace(other=rows.other[nearest])


def nearest_rows(
    cross: Array,
    sampled: RowPair,
    everything: Array,
    settings: Settings,
    rng: np.random.RandomState,
) -> Indices:
    """Rows of the second view nearest to a sample of the first, and others.

    There are as many as the sample of the second view has.
    """
    size, total = len(sampled.other), len(everything)
    n_directions = settings.schedule[-1][0]
    A, B = along_directions(cross, sampled._replace(other=everything), n_directions)
    partners = np.unique(top_products(A, B, 1)[0])
    others = np.setdiff1d(rng.permutation(total)[:size], partners)
    return np.concatenate([partners, others])[:size]
