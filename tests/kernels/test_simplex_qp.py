import numpy as np
import pytest
from scipy.optimize import minimize

from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.simplex_qp import solve_simplex_qp


def problem(seed, n=5, m=6, rank=None):
    rng = np.random.RandomState(seed)
    root = rng.normal(size=(rank or m, m))
    return root.T @ root, rng.normal(scale=3, size=(n, m))


def cost(H, f, z):
    return 0.5 * z @ H @ z + f @ z


@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_a_general_solver(seed):
    H, slopes = problem(seed)
    for f, z in zip(slopes, solve_simplex_qp(H, slopes), strict=True):
        solved = minimize(
            lambda z, f=f: cost(H, f, z),
            np.full(6, 1 / 6),
            jac=lambda z, f=f: H @ z + f,
            bounds=[(0, 1)] * 6,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert cost(H, f, z) <= solved.fun + 1e-7
        np.testing.assert_allclose(z, solved.x, atol=1e-4)


@pytest.mark.parametrize("rank", [2, 6])
def test_optimality_conditions_hold(rank):
    # The gradient is smallest, and equal, wherever a weight is positive.
    H, slopes = problem(0, n=200, rank=rank)
    Z = solve_simplex_qp(H, slopes)
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    gradient = Z @ H + slopes
    gap = np.einsum("jh,jh->j", Z, gradient) - gradient.min(axis=1)
    assert (gap <= 1e-5).all()


def test_a_multiple_of_the_identity_is_a_projection():
    slopes = np.random.RandomState(0).normal(size=(20, 4))
    np.testing.assert_allclose(
        solve_simplex_qp(3 * np.eye(4), slopes), project_simplex(-slopes / 3), atol=1e-9
    )


def test_no_curvature_at_all_picks_the_smallest_slope():
    Z = solve_simplex_qp(np.zeros((3, 3)), np.array([[3.0, 1.0, 2.0]]))
    np.testing.assert_allclose(Z, [[0, 1, 0]])
