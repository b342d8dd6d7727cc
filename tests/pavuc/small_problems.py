"""Problems of a few rows, and their graph rows by a general solver."""

import numpy as np

from tests.simplex_solver import over_simplex
from unaligned.kernels.devices import Cores
from unaligned.known_pairs import check_aligned
from unaligned.pavuc.iteration import init_state
from unaligned.pavuc.problem import pose
from unaligned.views import check_views

WIDTHS = (5, 6, 4)
N = 9


def made_problem(aligned=None, mu=0.5, seed=0):
    rng = np.random.RandomState(seed)
    views = check_views([rng.normal(size=(N, d)) for d in WIDTHS])
    return pose(
        views.arrays,
        check_aligned(aligned, views),
        mu=mu,
        alpha=1.5,
        matching="greedy",
        align=True,
        device=Cores(1),
    )


def made_state(problem, n_anchors=3, latent_dim=4, seed=1):
    rng = np.random.RandomState(seed)
    graph = rng.dirichlet(np.ones(n_anchors), size=N)
    anchors = rng.uniform(size=(n_anchors, latent_dim))
    return init_state(problem, anchors, graph), graph


def best_row(latent, anchors, force, partners, mu, previous):
    """Minimise γ‖y − gA‖² + μ Σ‖g − partner‖² over the simplex, with SciPy.

    Where anchors are not orthonormal, the first term lies below its expansion at
    ``previous`` with curvature 1, and that is what is minimised instead.
    """
    gap = latent - previous @ anchors

    def cost(g):
        step = g - previous
        misfit = gap @ gap - 2 * step @ (anchors @ gap) + step @ step
        return force * misfit + mu * sum(np.sum((g - p) ** 2) for p in partners)

    return over_simplex(cost, len(anchors))
