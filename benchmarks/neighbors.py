"""Nearest neighbours among many rows: ``python -m benchmarks.neighbors``.

Prints a JSON line per kind of data and number of rows: CPU seconds to compare all rows,
and to compare near ones only; and what the latter finds of the nearest 32 of every row,
of the very nearest, and of the partners that are among the nearest 32.
"""

import json
import os
import time

# Before NumPy is loaded: CPU seconds of several threads would count their waiting.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from unaligned.kernels.neighbors import likely_top_products, top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.config import Settings

N_COORDINATES = 40
N_NEAR = Settings().n_near


def in_clusters(n, rng):
    """Thirty clusters that are long in a few directions."""
    centers = rng.normal(size=(30, N_COORDINATES))[rng.integers(30, size=n)]
    spread = 0.8 * np.geomspace(1, 0.1, N_COORDINATES)
    return centers + spread * rng.normal(size=(n, N_COORDINATES)), 0.15


def independent(n, rng):
    """Nothing but noise in every direction: no cell is nearer than others."""
    return rng.normal(size=(n, N_COORDINATES)), 0.6


def compare(kind, n):
    """Compare both on rows of two views that are partners, in noise."""
    rng = np.random.default_rng(0)
    common, noise = kind(n, rng)
    views = [
        unit_rows((common + noise * rng.normal(size=common.shape)).astype(np.float32))
        for _ in range(2)
    ]
    found, seconds = {}, {}
    for search in (top_products, likely_top_products):
        search(*[rows[:100] for rows in views], N_NEAR)  # compiles
        start = time.process_time()
        found[search] = search(*views, N_NEAR)[0]
        seconds[search] = time.process_time() - start
    exact, likely = found.values()
    both = [np.isin(*pair) for pair in zip(exact[::50], likely[::50], strict=True)]
    hits = [(near == np.arange(n)[:, None]).any(axis=1) for near in (exact, likely)]
    return {
        "data": kind.__name__,
        "rows": n,
        "CPU seconds, all": round(seconds[top_products], 2),
        "CPU seconds, near": round(seconds[likely_top_products], 2),
        "ratio": round(seconds[top_products] / seconds[likely_top_products], 1),
        "found of 32": round(float(np.mean(both)), 4),
        "found of the nearest": round(float(np.mean(exact[:, 0] == likely[:, 0])), 4),
        "found of partners": round(float(hits[1].sum() / hits[0].sum()), 4),
    }


def main():
    """Compare both on all kinds of data."""
    for n in (30_000, 60_000, 120_000):
        for kind in (in_clusters, independent):
            print(json.dumps(compare(kind, n)), flush=True)


if __name__ == "__main__":
    main()
