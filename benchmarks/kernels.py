"""The parts of an iteration, each against the straightforward version of it."""

import numpy as np

from benchmarks.data.sizes import Size, make_views
from unaligned.benchmark import straightforward
from unaligned.kernels.devices import Cores
from unaligned.kernels.simplex import project_simplex
from unaligned.pavuc.sweep import Sweep, sweep_side_by_side


class Simplex:
    """Projection of n rows of m = 10 and m = 100 numbers onto the simplex."""

    params = [10, 100]

    def setup(self, m):
        rng = np.random.default_rng(0)
        self.points = rng.standard_normal((50_000, m), dtype=np.float32)

    def time_unaligned(self, m):
        self.found = project_simplex(self.points)

    def time_straightforward(self, m):
        self.expected = straightforward.simplex_columns(self.points.T).T

    def track_gap(self, m):
        return float(np.abs(self.found - self.expected).max())


class Pass:
    """One pass over a view of 50,000 rows in float32, m = 10: graphs to moments."""

    params = [512, 2048]

    def setup(self, d):
        self.X = make_views(Size(50_000, (d,), 10, 10))[0]
        rng = np.random.default_rng(0)
        self.Q = straightforward.polar(rng.normal(size=(d, 10))).astype(np.float32)
        self.A = straightforward.polar(rng.normal(size=(10, 10))).astype(np.float32)
        self.gamma = rng.random(50_000, dtype=np.float32)
        self.partners = rng.dirichlet(np.ones(10), size=50_000).astype(np.float32)
        self.cores = Cores()

    def time_unaligned(self, d):
        job = Sweep(
            self.X, self.Q, self.A, self.gamma, self.partners, 0.1, 1, floor=1e-9
        )
        with self.cores.busy():
            self.found = sweep_side_by_side(self.cores, [job])[2][0]

    def time_straightforward(self, d):
        X, Q, A = self.X.T, self.Q.T, self.A.T
        h = (self.gamma * (A.T @ Q @ X) + 0.1 * self.partners.T) / (self.gamma + 0.1)
        G = straightforward.simplex_columns(h)
        weights = 1 / (2 * np.linalg.norm(Q @ X - A @ G, axis=0))
        self.expected = X * weights @ G.T

    def track_gap(self, d):
        return float(np.abs(self.found / self.expected - 1).max())
