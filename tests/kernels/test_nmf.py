import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

from unaligned.kernels.nmf import rescale_factors, update_basis, update_memberships


@pytest.fixture
def factors():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(20, 7)) * (rng.uniform(size=(20, 7)) < 0.6)
    return X, rng.uniform(size=(20, 3)), rng.uniform(size=(3, 7))


def misfit(X, V, U):
    return np.sum((X - V @ U) ** 2)


def test_neither_update_raises_the_misfit(factors):
    X, V, U = factors
    values = [misfit(X, V, U)]
    for _ in range(50):
        U = update_basis(X, V, U)
        values.append(misfit(X, V, U))
        V = update_memberships(V, X @ U.T, U @ U.T)
        values.append(misfit(X, V, U))
    assert np.diff(values).max() <= 1e-12
    assert values[-1] < values[0] / 2
    assert min(U.min(), V.min()) >= 0


def test_an_exact_factorisation_stays(factors):
    _, V, U = factors
    X = V @ U
    np.testing.assert_allclose(update_basis(X, V, U), U)
    np.testing.assert_allclose(update_memberships(V, X @ U.T, U @ U.T), V)


def test_each_update_repeated_solves_non_negative_least_squares(factors):
    X, V, U = factors
    memberships, basis = V, U
    for _ in range(5000):
        memberships = update_memberships(memberships, X @ U.T, U @ U.T)
        basis = update_basis(X, V, basis)
    expected = np.array([nnls(U.T, x)[0] for x in X])
    np.testing.assert_allclose(memberships, expected, atol=1e-3)
    expected = np.array([nnls(V, column)[0] for column in X.T]).T
    np.testing.assert_allclose(basis, expected, atol=1e-3)


def test_forces_enter_as_half_a_gradient(factors):
    X, V, U = factors
    drawn, driven = np.random.RandomState(1).uniform(size=(2, *V.shape))

    def cost(V):
        return misfit(X, V, U) + 2 * np.vdot(V, driven - drawn)

    # The square completed with UUᵀ = RRᵀ makes it a least-squares problem as well.
    root = np.linalg.cholesky(U @ U.T)
    target = np.linalg.solve(root, (X @ U.T + drawn - driven).T).T
    best = cost(np.array([nnls(root.T, row)[0] for row in target]))
    values = [cost(V)]
    for _ in range(3000):
        V = update_memberships(V, X @ U.T, U @ U.T, drawn=drawn, driven=driven)
        values.append(cost(V))
    assert np.diff(values).max() <= 1e-12
    np.testing.assert_allclose(values[-1], best, rtol=1e-3)


def test_sparse_views_give_the_same_basis(factors):
    X, V, U = factors
    thin = update_basis(sparse.csr_array(X), V, U)
    np.testing.assert_allclose(thin, update_basis(X, V, U))


def test_rescaling_changes_the_scale_only(factors):
    _, V, U = factors
    U[1] = 0
    memberships, basis = rescale_factors(V, U)
    np.testing.assert_allclose(memberships @ basis, V @ U)
    np.testing.assert_allclose(basis.sum(axis=1), [1, 0, 1])


def test_zeros_make_no_trouble_and_float32_stays():
    X, V, U = (np.zeros(shape, np.float32) for shape in [(4, 3), (4, 2), (2, 3)])
    for found in (update_basis(X, V, U), update_memberships(V, X @ U.T, U @ U.T)):
        assert found.dtype == np.float32
        assert (found == 0).all()
