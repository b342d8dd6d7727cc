"""The graphs of single views against general solvers and the literal formulas."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from tests.simplex_solver import over_simplex
from unaligned.baselines._view_graphs import (
    gmc_graph,
    lsr_graph,
    smallest_eigenvectors,
    split_weights,
    spread_weights,
    standardize_rows,
)


@pytest.mark.parametrize("shape", [(12, 4), (6, 15), (7, 7)])
def test_lsr_is_the_ridge_regression_of_each_row_on_the_others(shape):
    X = np.random.RandomState(0).normal(size=shape)
    n, Z = len(X), np.zeros((len(X), len(X)))
    for b in range(n):
        others = np.arange(n) != b
        A = X[others].T
        Z[others, b] = np.linalg.solve(A.T @ A + 0.4 * np.eye(n - 1), A.T @ X[b])
    positive = np.maximum(Z, 0)
    learned = lsr_graph(X, 0.4)
    np.testing.assert_allclose(learned.weights, (positive + positive.T) / 2, atol=1e-10)
    np.testing.assert_allclose(learned.error, np.sum((X - Z.T @ X) ** 2))


def test_lsr_of_nothing_is_nothing():
    learned = lsr_graph(np.zeros((4, 2)), 0.4)
    np.testing.assert_array_equal(learned.weights, 0)
    assert learned.error == 0


def test_lsr_survives_a_ridge_below_rounding():
    X = 1e9 * np.random.RandomState(0).normal(size=(5, 3))
    X[0] *= 1e6
    learned = lsr_graph(X, 1e-3)
    assert np.isfinite(learned.weights).all()
    assert np.isfinite(learned.error)


def test_rows_are_scaled_and_standardised():
    X = np.random.RandomState(1).normal(size=(6, 5)) + 3
    scaled = standardize_rows(X)
    np.testing.assert_allclose(scaled.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=1, ddof=1), 1)
    np.testing.assert_allclose(scaled, standardize_rows(7 * X), atol=1e-9)
    np.testing.assert_array_equal(standardize_rows(np.ones((3, 2))), 0)
    np.testing.assert_array_equal(standardize_rows(np.ones((3, 1))), 0)


def literal_spread(distances, U, w):
    """As the sorted lists of neighbours have it."""
    n, pn = len(distances), len(distances) - 2
    S = np.zeros((n, n))
    for i in range(n):
        ids = [j for j in np.argsort(distances[i], kind="stable") if j != i]
        d, u = distances[i, ids], U[i, ids]
        below = pn * d[pn] - d[:pn].sum() + 2 * w * u[:pn].sum() - 2 * pn * w * u[pn]
        S[i, ids] = np.maximum((d[pn] - d + 2 * w * (u - u[pn])) / below, 0)
    return S


@pytest.mark.parametrize("w", [0.0, 0.5, 3.0])
def test_spread_weights_are_the_literal_ones(w):
    rng = np.random.RandomState(3)
    distances = euclidean_distances(rng.normal(size=(8, 3)), squared=True)
    U = spread_weights(distances, np.zeros((8, 8)), 0.0)
    np.testing.assert_allclose(U.sum(axis=1), 1)
    np.testing.assert_allclose(
        spread_weights(distances, U, w), literal_spread(distances, U, w), atol=1e-12
    )


def test_rows_that_are_all_the_same_have_no_weights():
    S = spread_weights(np.zeros((4, 4)), np.zeros((4, 4)), 1.0)
    np.testing.assert_array_equal(S, 0)
    np.testing.assert_array_equal(gmc_graph(np.ones((4, 3)), 2).weights, 0)


def test_split_weights_minimise_their_objective_on_the_support():
    rng = np.random.RandomState(4)
    S = rng.dirichlet(np.ones(5), size=6) * (rng.uniform(size=(6, 5)) < 0.7)
    S[:, 0] += 0.1
    distances = rng.uniform(size=(6, 5))
    U = split_weights(S, distances, 0.6)
    assert (U[S == 0] == 0).all()
    for s, d, u in zip(S, distances, U, strict=True):
        inside = s > 0
        best = over_simplex(
            lambda z, s=s[inside], d=d[inside]: np.sum((z - s) ** 2) + 2 * 0.6 * d @ z,
            inside.sum(),
        )
        np.testing.assert_allclose(u[inside], best, atol=1e-5)


def test_the_laplacian_counts_components():
    U = np.zeros((7, 7))
    U[:3, :3], U[3:, 3:] = 1 / 3, 1 / 4
    F, values = smallest_eigenvectors(U, 2)
    assert F.shape == (7, 2)
    np.testing.assert_allclose(values[:2], 0, atol=1e-12)
    assert values[2] > 0.5
    _, all_values = smallest_eigenvectors(U, 7)
    assert len(all_values) == 7


def test_gmc_separates_what_is_separate():
    rng = np.random.RandomState(5)
    y = np.repeat(np.arange(3), 10)
    X = 5 * rng.normal(size=(3, 8))[y] + 0.1 * rng.normal(size=(30, 8))
    learned = gmc_graph(X, 3)
    np.testing.assert_allclose(learned.weights, learned.weights.T)
    assert (learned.weights >= 0).all()
    same = (y[:, None] == y) & ~np.eye(30, dtype=bool)
    different = y[:, None] != y
    assert learned.weights[same].min() > 2 * learned.weights[different].mean()
    assert learned.error >= 0
