"""The parts of an iteration, each against the straightforward version of it.

Each gives two functions for a parameter, ours and the yardstick, and how to tell how
far their results are apart.
"""

import numpy as np

from benchmarks.data.sizes import Size, make_views
from unaligned.benchmark import straightforward
from unaligned.kernels.devices import Cores
from unaligned.kernels.simplex import project_simplex
from unaligned.pavuc.sweep import Sweep, sweep_side_by_side


def simplex(m):
    """Projection of n rows of m numbers onto the simplex."""
    points = np.random.default_rng(0).standard_normal((50_000, m), dtype=np.float32)
    return (
        lambda: project_simplex(points),
        lambda: straightforward.simplex_columns(points.T).T,
        lambda found, expected: float(np.abs(found - expected).max()),
    )


def one_pass(d):
    """One pass over a view of 50,000 rows in float32, m = 10: graphs to moments."""
    X = make_views(Size(50_000, (d,), 10, 10))[0]
    rng = np.random.default_rng(0)
    Q = straightforward.polar(rng.normal(size=(d, 10))).astype(np.float32)
    A = straightforward.polar(rng.normal(size=(10, 10))).astype(np.float32)
    gamma = rng.random(50_000, dtype=np.float32)
    partners = rng.dirichlet(np.ones(10), size=50_000).astype(np.float32)
    cores = Cores()

    def ours():
        job = Sweep(X, Q, A, gamma, partners, 0.1, 1, floor=1e-9)
        with cores.busy():
            return sweep_side_by_side(cores, [job])[2][0]

    def plain():
        h = (gamma * (A @ Q.T @ X.T) + 0.1 * partners.T) / (gamma + 0.1)
        G = straightforward.simplex_columns(h)
        weights = 1 / (2 * np.linalg.norm(Q.T @ X.T - A.T @ G, axis=0))
        return X.T * weights @ G.T

    return (
        ours,
        plain,
        lambda found, expected: float(np.abs(found / expected - 1).max()),
    )
