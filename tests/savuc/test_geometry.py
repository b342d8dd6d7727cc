import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from unaligned.savuc.geometry import read_geometry, row_distances, whiten


@pytest.fixture
def X():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 12)) @ rng.normal(size=(12, 12)) + 3
    return np.where(np.abs(X) > 2, X, 0)


def rng():
    return np.random.RandomState(1)


def test_points_are_principal_coordinates_of_standardised_unit_rows(X):
    rows = normalize(StandardScaler().fit_transform(X))
    expected = PCA(12).fit_transform(rows)
    found = read_geometry(X, rng()).points
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_a_sparse_view_has_the_same_geometry(X):
    wide = np.hstack([X, np.zeros((80, 200))])
    dense, thin = (
        read_geometry(wide, rng()),
        read_geometry(sparse.csr_array(wide), rng()),
    )
    similar = dense.points @ dense.points.T
    np.testing.assert_allclose(thin.points @ thin.points.T, similar, atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_new_rows_are_read_like_the_old_ones(X, kind):
    geometry = read_geometry(kind(X), rng())
    np.testing.assert_allclose(geometry.read(kind(X)), geometry.points, atol=1e-4)


def test_constant_columns_and_rows_at_the_mean_do_no_harm():
    X = np.hstack([np.ones((10, 2)), np.arange(20.0).reshape(10, 2)])
    X[4] = X.mean(axis=0)
    assert np.isfinite(read_geometry(X, rng()).fine).all()


def test_whitening_evens_out_directions():
    points = np.random.RandomState(0).normal(size=(500, 3)) * [10, 3, 1]
    spread = whiten(points, 1e-6).std(axis=0)
    np.testing.assert_allclose(spread, 1, atol=1e-2)


def test_distances_are_symmetric_and_follow_the_shape_of_the_data():
    # A circle: hops along it grow, while the straight line back shortens.
    turn = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    D = row_distances(np.column_stack([np.cos(turn), np.sin(turn)]).astype(np.float32))
    np.testing.assert_allclose(D, D.T, atol=1e-5)
    assert D[0, 50] > D[0, 25] > D[0, 5] > D[0, 1]
    assert np.isfinite(D).all()
