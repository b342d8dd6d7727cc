"""Whole fits of PAVuC against the straightforward version."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import straightforward
from unaligned import PAVuC


class Fit:
    """15 iterations on three views of clustered rows, k = 10."""

    params = [1000, 5000]
    param_names = ["n"]
    widths = (64, 128, 32)
    k, mu, alpha, n_iter = 10, 0.1, 1.5, 15

    def setup(self, n):
        rng = np.random.RandomState(0)
        y = rng.randint(self.k, size=n)
        self.Xs = [
            rng.normal(size=(self.k, d))[y] + rng.normal(size=(n, d))
            for d in self.widths
        ]
        self.start = rng.uniform(size=(self.k, self.k)), rng.uniform(size=(self.k, n))
        self.model = PAVuC(
            self.k,
            mu=self.mu,
            alpha=self.alpha,
            init=self.start,
            max_iter=self.n_iter,
            tol=0,
            random_state=0,
        )
        self.time_unaligned(n)  # compile first

    def time_unaligned(self, n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(self.Xs)

    def time_straightforward(self, n):
        self.trace = straightforward.objective_trace(
            self.Xs, *self.start, mu=self.mu, alpha=self.alpha, n_iter=self.n_iter
        )

    def track_objective_gap(self, n):
        """Largest relative difference between the two objectives, any iteration."""
        return float(np.max(np.abs(self.model.objective_ / self.trace - 1)))
