import numpy as np
import pytest
from scipy.linalg import polar
from scipy.stats import ortho_group

from unaligned.kernels import procrustes
from unaligned.kernels.procrustes import factors_by_products, polar_factors


@pytest.fixture(params=["by eigenvectors", "by products"])
def polar_factor(request):
    """Either way of computing it; the second is what a GPU does."""
    if request.param == "by eigenvectors":
        return procrustes.polar_factor
    return lambda target: factors_by_products([target])[0]


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (5, 1)])
def test_is_orthonormal_along_the_short_side(polar_factor, shape):
    Z = polar_factor(np.random.RandomState(0).normal(size=shape))
    gram = Z.T @ Z if shape[0] >= shape[1] else Z @ Z.T
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-12)


def test_agrees_with_scipy_on_square_targets(polar_factor):
    target = np.random.RandomState(1).normal(size=(5, 5))
    np.testing.assert_allclose(polar_factor(target), polar(target)[0], atol=1e-10)


def test_no_random_orthonormal_matrix_fits_better(polar_factor):
    rng = np.random.RandomState(2)
    target = rng.normal(size=(5, 3))
    best = np.vdot(polar_factor(target), target)
    others = ortho_group(5, seed=rng).rvs(500)[:, :, :3]
    assert (np.einsum("rij,ij->r", others, target) <= best + 1e-12).all()


def test_a_zero_target_still_gives_an_orthonormal_matrix(polar_factor):
    Z = polar_factor(np.zeros((4, 2)))
    np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("condition", [1e1, 1e2, 1e4, 1e7, 1e12])
@pytest.mark.parametrize("shape", [(40, 5), (5, 40), (5, 5)])
def test_agrees_with_the_svd_however_small_the_smallest_direction(
    polar_factor, shape, condition
):
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
def test_a_target_of_low_rank_gives_an_orthonormal_matrix(polar_factor, rank):
    rng = np.random.RandomState(4)
    target = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, 5))
    Z = polar_factor(target)
    np.testing.assert_allclose(Z.T @ Z, np.eye(5), atol=1e-12)
    largest = np.linalg.svd(target, compute_uv=False).sum()
    np.testing.assert_allclose(np.vdot(Z, target), largest, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_the_precision(polar_factor, dtype):
    target = np.random.RandomState(5).normal(size=(9, 4)).astype(dtype)
    assert polar_factor(target).dtype == dtype


@pytest.mark.parametrize("factors", [polar_factors, factors_by_products])
def test_several_are_the_same_as_one_by_one(factors):
    rng = np.random.RandomState(6)
    targets = [rng.normal(size=shape) for shape in ((9, 4), (3, 7), (5, 5), (8, 1))]
    targets[2] *= np.geomspace(1, 1e-9, 5)  # one of them ill conditioned
    for Z, target in zip(factors(targets), targets, strict=True):
        left, _, right = np.linalg.svd(target, full_matrices=False)
        np.testing.assert_allclose(
            Z, left @ right, atol=1e-6 if Z.shape == (5, 5) else 1e-11
        )


def test_well_conditioned_targets_need_no_eigenvectors(monkeypatch):
    monkeypatch.setattr(np.linalg, "eigh", None)
    rng = np.random.RandomState(7)
    left, right = (np.linalg.qr(rng.normal(size=(side, 30)))[0] for side in (50, 30))
    target = left * np.geomspace(1, procrustes.WELL_CONDITIONED**0.5, 30) @ right.T
    (Z,) = factors_by_products([target])
    np.testing.assert_allclose(Z, left @ right.T, atol=1e-11)
