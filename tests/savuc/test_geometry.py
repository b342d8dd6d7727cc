import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler, normalize

from unaligned.savuc import geometry as module
from unaligned.savuc.geometry import (
    by_rows,
    leading_vectors,
    read_geometry,
    spread_of,
    whiten,
)


@pytest.fixture
def X():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 12)) @ rng.normal(size=(12, 12)) + 3
    return np.where(np.abs(X) > 2, X, 0)


def rng():
    return np.random.RandomState(1)


def products(points):
    return points @ points.T


@pytest.mark.parametrize("wanted", [12, 5])
def test_points_are_principal_coordinates_of_standardised_unit_rows(X, wanted):
    rows = normalize(StandardScaler().fit_transform(X))
    expected = PCA(wanted).fit_transform(rows)
    found = read_geometry(X, wanted, rng()).points
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_lengths_are_those_of_standardised_rows(X):
    rows = StandardScaler().fit_transform(X)
    found = read_geometry(X, 12, rng())
    np.testing.assert_allclose(found.lengths, np.linalg.norm(rows, axis=1))
    # With all directions there is nothing of the rows that is lost.
    np.testing.assert_allclose(
        products(found.at_full_length()), products(rows), atol=1e-3
    )


@pytest.mark.parametrize("wanted", [12, 6])
def test_a_sparse_view_has_the_same_geometry(X, wanted):
    wide = np.hstack([X, np.zeros((80, 200))])
    dense = read_geometry(wide, wanted, rng())
    thin = read_geometry(sparse.csr_array(wide), wanted, rng())
    np.testing.assert_allclose(products(thin.points), products(dense.points), atol=1e-4)
    np.testing.assert_allclose(thin.lengths, dense.lengths, rtol=1e-6)


def test_products_of_rows_lead_to_the_same_directions(X, monkeypatch):
    expected = read_geometry(X, 9, rng())
    monkeypatch.setattr(module, "by_rows", lambda n, d: True)
    found = read_geometry(X, 9, rng())
    np.testing.assert_allclose(
        products(found.points), products(expected.points), atol=1e-4
    )
    assert by_rows(100, 5000)
    assert not by_rows(5000, 100)
    assert not by_rows(2000, 5000)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32])
def test_new_rows_are_read_like_the_old_ones(X, kind):
    geometry = read_geometry(kind(X), 50, rng())
    np.testing.assert_allclose(geometry.read(kind(X)), geometry.points, atol=1e-4)
    np.testing.assert_allclose(
        geometry.read(kind(X)[:3]), geometry.points[:3], atol=1e-4
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_constant_columns_and_rows_at_the_mean_do_no_harm(kind):
    X = np.hstack([np.ones((10, 2)), np.arange(20.0).reshape(10, 2)])
    X[4] = X.mean(axis=0)
    for view in (X, np.ones((10, 3)), X[:2], X[:, 2:3]):
        found = read_geometry(kind(view), 50, rng())
        assert np.isfinite(found.points).all()
        assert np.isfinite(found.at_full_length()).all()
        assert np.isfinite(whiten(found.points, 0.03)).all()


def test_whitening_evens_out_directions():
    points = np.random.RandomState(0).normal(size=(500, 3)) * [10, 3, 1]
    np.testing.assert_allclose(whiten(points, 1e-6).std(axis=0), 1, atol=1e-2)


@given(
    arrays(np.float64, (7, 3), elements=st.floats(-100, 100)),
    st.floats(1e-3, 1),
)
def test_whitening_is_the_formula_and_never_amplifies_beyond_it(points, ridge):
    variance = np.var(points, axis=0)
    found = spread_of(points, ridge)
    assert (found > 0).all()
    if variance.mean() > 1e-6:
        expected = np.sqrt(variance + ridge * np.mean(variance))
        np.testing.assert_allclose(found, expected)
        assert (whiten(points, ridge).std(axis=0) <= 1 + 1e-9).all()


def test_leading_vectors_are_those_of_a_full_decomposition():
    A = rng().normal(size=(6, 6))
    gram = A @ A.T
    values, vectors = np.linalg.eigh(gram)
    for wanted in (1, 3, 6, 9):
        found = leading_vectors(gram, wanted)
        expected = vectors[:, np.argsort(-values)[:wanted]]
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)
