from itertools import combinations

import numpy as np
import pytest

from tests.simplex_solver import over_simplex
from unaligned.kernels import simplex_qp
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
        best = over_simplex(lambda z, f=f: cost(H, f, z), 6)
        assert cost(H, f, z) <= cost(H, f, best) + 1e-7
        np.testing.assert_allclose(z, best, atol=1e-4)


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


def ill_conditioned(seed, n=8, m=6, largest=1e3):
    """Far beyond the limit, and not because of the direction of ones."""
    rng = np.random.RandomState(seed)
    basis = np.linalg.qr(np.column_stack([np.ones(m), rng.normal(size=(m, m - 1))]))[0]
    H = basis @ np.diag(np.geomspace(1e-3, largest, m)) @ basis.T
    return H, rng.normal(size=(n, m)) @ H


def best_by_enumeration(H, f):
    """The cheapest feasible minimum over any set of positive entries."""
    m = len(H)
    best = np.inf
    for size in range(1, m + 1):
        for chosen in map(list, combinations(range(m), size)):
            system = np.ones((size + 1, size + 1))
            system[:-1, :-1] = H[np.ix_(chosen, chosen)]
            system[-1, -1] = 0
            z = np.zeros(m)
            z[chosen] = np.linalg.solve(system, np.append(-f[chosen], 1))[:-1]
            if z.min() >= 0 and cost(H, f, z) < best:
                best, answer = cost(H, f, z), z
    return answer


@pytest.mark.parametrize("seed", range(5))
def test_ill_conditioned_programs_are_solved_exactly(seed):
    H, slopes = ill_conditioned(seed)
    Z = solve_simplex_qp(H, slopes)
    for f, z in zip(slopes, Z, strict=True):
        np.testing.assert_allclose(z, best_by_enumeration(H, f), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_both_methods_find_the_same_answers(seed, monkeypatch):
    H, slopes = problem(seed, n=30, m=12)
    monkeypatch.setattr(simplex_qp, "WELL_CONDITIONED", np.inf)
    by_gradients = solve_simplex_qp(H, slopes, max_iter=20_000, tol=1e-12)
    monkeypatch.setattr(simplex_qp, "WELL_CONDITIONED", 0)
    monkeypatch.setattr(simplex_qp, "BLOCK_BYTES", 10_000)  # several blocks
    np.testing.assert_allclose(solve_simplex_qp(H, slopes), by_gradients, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_neither_scale_nor_a_far_origin_matters(scale):
    # ½ z'Hz of H + c 11' and of H differ by a constant on the simplex.
    H, slopes = ill_conditioned(0)
    expected = solve_simplex_qp(H, slopes)
    found = solve_simplex_qp(scale * (H + 1e5), scale * (slopes - 1e4))
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("make", [problem, ill_conditioned])
def test_single_precision_comes_back(make):
    H, slopes = make(0)
    Z = solve_simplex_qp(H.astype(np.float32), slopes.astype(np.float32))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, solve_simplex_qp(H, slopes), atol=1e-3)


@pytest.mark.parametrize("m", [2, 3, 20])
def test_of_equal_anchors_none_is_preferred(m):
    # H has rank one and all slopes of a row are equal: every point is a minimum.
    Z = solve_simplex_qp(np.full((m, m), 7.0), np.full((4, m), -3.0))
    np.testing.assert_allclose(Z, 1 / m, atol=1e-6)


def test_a_single_anchor_takes_everything():
    Z = solve_simplex_qp(np.array([[5.0]]), np.array([[2.0], [-1.0]]))
    np.testing.assert_allclose(Z, [[1], [1]])


def test_stopped_early_rows_are_feasible():
    H, slopes = ill_conditioned(0, n=50)
    Z = solve_simplex_qp(H, slopes, max_iter=2)
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1)
