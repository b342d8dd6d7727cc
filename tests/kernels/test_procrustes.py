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
