"""Views as large as those of the paper, and larger ones."""

from typing import NamedTuple

import numpy as np

ROWS_AT_ONCE = 4096  # so that what is made takes no more memory than what is kept


class Size(NamedTuple):
    """Rows, columns of every view, clusters, and anchors."""

    n: int
    widths: tuple[int, ...]
    k: int
    m: int


SIZES = {
    "CIFAR-10": Size(50_000, (512, 2048, 1024), 10, 10),
    "Caltech-101": Size(9144, (48, 40, 254, 1984, 512, 928), 102, 102),
    "Reuters": Size(18_758, (100,) * 5, 6, 18),
}


def growing(n):
    """Three views of 64 features: what growth is measured on."""
    return Size(n, (64, 64, 64), 10, 10)


def make_views(size, seed=0):
    """Clusters with noise in float32, every view in an order of its own."""
    rng = np.random.default_rng(seed)
    views = []
    for d in size.widths:
        centres = rng.standard_normal((size.k, d), dtype=np.float32)
        X = np.empty((size.n, d), dtype=np.float32)
        for start in range(0, size.n, ROWS_AT_ONCE):
            block = X[start : start + ROWS_AT_ONCE]
            rng.standard_normal(out=block, dtype=np.float32)
            block *= 2
            block += centres[rng.integers(size.k, size=len(block))]
        views.append(X)
    return views
