from math import isqrt

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

from unaligned.partitions.features import (
    most_neighbors,
    nearest_rows,
    view_features,
)


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of small decompositions wait for each other on a busy machine."""
    with threadpool_limits(limits=1):
        yield


def sparse_words(n=60, d=500, seed=0):
    rng = np.random.RandomState(seed)
    return rng.poisson(0.1, size=(n, d)) * rng.uniform(size=(n, d))


def low_rank(n, d, rank=5, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + rng.normal(size=d)


def scaled_rows(X):
    """Both scales: rows at unit length, columns standardised or not."""
    return normalize(X), normalize(StandardScaler().fit_transform(X))


def test_neighbors_are_the_nearest_by_cosine():
    points = normalize(np.random.RandomState(0).normal(size=(300, 6)))
    similar = cosine_similarity(points)
    np.fill_diagonal(similar, -np.inf)
    expected = np.argsort(-similar, axis=1, kind="stable")[:, :15]
    assert nearest_rows(points).tolist() == expected.tolist()


@pytest.mark.parametrize(("n", "wanted"), [(2, 1), (3, 1), (16, 4), (17, 4), (224, 14)])
def test_few_rows_have_few_neighbors(n, wanted):
    near = nearest_rows(normalize(np.random.RandomState(0).normal(size=(n, 3))))
    assert near.shape == (n, wanted)
    assert all(i not in row and len({*row}) == len(row) for i, row in enumerate(near))


def test_no_row_is_its_own_neighbor_among_equal_rows():
    near = nearest_rows(np.vstack([np.eye(2)[[0] * 30], np.zeros((30, 2))]))
    assert near.shape == (60, 7)
    assert not (near == np.arange(60)[:, None]).any()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_narrow_views_keep_all_products_of_rows(kind):
    X = low_rank(80, 12, rank=12)
    for scale, rows in zip(view_features(kind(X)), scaled_rows(X), strict=True):
        assert scale.points.dtype == np.float32
        products = scale.points @ scale.points.T
        np.testing.assert_allclose(products, rows @ rows.T, atol=1e-5)


@pytest.mark.parametrize(("n", "d"), [(60, 500), (300, 150)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_few_directions_are_found_in_many_columns(n, d, kind):
    X = low_rank(n, d)
    for scale, rows in zip(view_features(kind(X)), scaled_rows(X), strict=True):
        products = scale.points @ scale.points.T
        np.testing.assert_allclose(products, rows @ rows.T, atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_wide_views_are_cut_to_fifty_directions_of_nearly_all_energy(kind):
    X = sparse_words(200, 500)
    for scale, rows in zip(view_features(kind(X)), scaled_rows(X), strict=True):
        directions = scale.projection.directions
        assert directions.shape == (500, 50)
        np.testing.assert_allclose(directions.T @ directions, np.eye(50), atol=1e-5)
        best = np.sum(np.linalg.svd(rows, compute_uv=False)[:50] ** 2)
        assert np.sum((rows @ directions) ** 2) > 0.97 * best
        np.testing.assert_allclose(np.linalg.norm(scale.points, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("width", [30, 500])
def test_sparse_and_dense_views_have_the_same_features(width):
    X = sparse_words(d=width)
    dense, packed = view_features(X), view_features(sparse.csr_array(X))
    for one, other in zip(dense, packed, strict=True):
        products = one.points @ one.points.T
        np.testing.assert_allclose(products, other.points @ other.points.T, atol=1e-2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("width", [30, 500])
def test_rows_are_projected_again_as_they_were(kind, width):
    X = kind(sparse_words(d=width))
    for scale in view_features(X):
        np.testing.assert_allclose(scale.projection.project(X), scale.points, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
def test_numbers_of_any_type_are_read_as_floats(dtype):
    X = np.random.RandomState(0).randint(200, size=(40, 300)).astype(dtype)
    expected = view_features(X.astype(float)).standard.points
    np.testing.assert_array_equal(view_features(X).standard.points, expected)


def test_lengths_of_rows_and_units_of_columns_do_not_matter_where_they_should_not():
    rng = np.random.RandomState(0)
    X, lengths = rng.uniform(1, 2, size=(50, 8)), rng.lognormal(size=(50, 1))
    plain = view_features(X).plain.neighbors
    np.testing.assert_array_equal(view_features(X * lengths).plain.neighbors, plain)
    units = rng.lognormal(size=8)
    standard = view_features(X).standard.neighbors
    np.testing.assert_array_equal(view_features(X * units).standard.neighbors, standard)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_constant_columns_and_empty_rows_do_no_harm(kind):
    X = np.hstack([low_rank(40, 6), np.full((40, 2), 3.3)])
    X[:10] = 0
    for view in (X, np.ones_like(X), np.zeros_like(X)):
        for scale in view_features(kind(view)):
            assert np.isfinite(scale.points).all()
            assert scale.neighbors.shape == (40, 6)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_counts_are_divided_by_the_total_of_their_row(kind):
    draw = np.random.RandomState(0)
    counts = draw.poisson(3.0, size=(60, 20))
    deeper = counts * draw.randint(1, 50, size=(60, 1))
    one, other = view_features(kind(counts)), view_features(kind(deeper))
    for shallow, deep in zip(one, other, strict=True):
        np.testing.assert_allclose(
            shallow.points @ shallow.points.T, deep.points @ deep.points.T, atol=1e-4
        )
    again = one.standard.projection.project(kind(deeper.astype(float)))
    np.testing.assert_allclose(again, one.standard.points, atol=1e-4)
    fractions = view_features(kind(deeper + 0.5)).standard
    assert not fractions.projection.counts


@pytest.mark.parametrize(
    ("n", "k", "expected"), [(300, 3, 15), (300, 30, 5), (60, 30, 2)]
)
def test_neighbors_are_at_most_half_a_mean_cluster(n, k, expected):
    most = most_neighbors(n, k)
    assert most == expected
    X = np.random.RandomState(0).normal(size=(n, 6))
    some, all_of_them = view_features(X, most), view_features(X)
    for few, many in zip(some, all_of_them, strict=True):
        assert few.neighbors.shape == (n, min(expected, isqrt(n)))
        np.testing.assert_array_equal(few.neighbors, many.neighbors[:, :most])
