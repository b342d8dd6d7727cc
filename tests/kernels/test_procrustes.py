import numpy as np
import pytest
from scipy.linalg import polar
from scipy.stats import ortho_group

from unaligned.kernels.procrustes import polar_factor


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (5, 1)])
def test_is_orthonormal_along_the_short_side(shape):
    Z = polar_factor(np.random.RandomState(0).normal(size=shape))
    gram = Z.T @ Z if shape[0] >= shape[1] else Z @ Z.T
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-12)


def test_agrees_with_scipy_on_square_targets():
    target = np.random.RandomState(1).normal(size=(5, 5))
    np.testing.assert_allclose(polar_factor(target), polar(target)[0], atol=1e-10)


def test_no_random_orthonormal_matrix_fits_better():
    rng = np.random.RandomState(2)
    target = rng.normal(size=(5, 3))
    best = np.vdot(polar_factor(target), target)
    others = ortho_group(5, seed=rng).rvs(500)[:, :, :3]
    assert (np.einsum("rij,ij->r", others, target) <= best + 1e-12).all()


def test_a_zero_target_still_gives_an_orthonormal_matrix():
    Z = polar_factor(np.zeros((4, 2)))
    np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("condition", [1e1, 1e2, 1e4, 1e7, 1e12])
@pytest.mark.parametrize("shape", [(40, 5), (5, 40), (5, 5)])
def test_agrees_with_the_svd_however_small_the_smallest_direction(shape, condition):
    rng = np.random.RandomState(3)
    k = min(shape)
    left, right = (np.linalg.qr(rng.normal(size=(side, k)))[0] for side in shape)
    target = left * np.geomspace(1, 1 / condition, k) @ right.T
    # An answer is only as sure as the condition of the question allows.
    np.testing.assert_allclose(
        polar_factor(target), left @ right.T, atol=1e-11 + 1e-15 * condition
    )
    Z = polar_factor(target)
    gram = Z.T @ Z if shape[0] >= shape[1] else Z @ Z.T
    np.testing.assert_allclose(gram, np.eye(k), atol=1e-11)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_target_of_low_rank_gives_an_orthonormal_matrix(rank):
    rng = np.random.RandomState(4)
    target = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, 5))
    Z = polar_factor(target)
    np.testing.assert_allclose(Z.T @ Z, np.eye(5), atol=1e-12)
    largest = np.linalg.svd(target, compute_uv=False).sum()
    np.testing.assert_allclose(np.vdot(Z, target), largest, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_the_precision(dtype):
    target = np.random.RandomState(5).normal(size=(9, 4)).astype(dtype)
    assert polar_factor(target).dtype == dtype
