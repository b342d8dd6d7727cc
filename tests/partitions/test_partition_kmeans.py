import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans, kmeans_plusplus

from unaligned.partitions import kmeans as module
from unaligned.partitions.kmeans import cluster_rows, kmeans, kmeans_from, spread_rows


def test_it_is_scikit_learns_with_a_seed_of_the_generator():
    points = np.random.RandomState(0).normal(size=(60, 3))
    seed = np.random.RandomState(4).randint(np.iinfo(np.int32).max)
    expected = KMeans(4, n_init=2, random_state=seed).fit_predict(points)
    found = kmeans(points, 4, np.random.RandomState(4), 2)
    assert found.dtype == np.intp
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_clusters", [1, 2, 9, 40])
def test_starts_are_those_of_scikit_learn(n_clusters, dtype):
    points = np.random.RandomState(0).normal(size=(200, 5)).astype(dtype)
    points[100:150] = points[:50]
    rngs = np.random.RandomState(7), np.random.RandomState(7)
    expected, _ = kmeans_plusplus(points, n_clusters, random_state=rngs[0])
    found = spread_rows(points, n_clusters, rngs[1])
    np.testing.assert_array_equal(found, expected)
    assert rngs[0].randint(10**6) == rngs[1].randint(10**6)  # none is left over


def test_fewer_distinct_rows_than_clusters_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = kmeans(np.ones((8, 2)), 3, np.random.RandomState(0), 1)
    assert {*labels} == {0}


def test_k_means_from_clusters_ends_where_scikit_learns_does_from_their_means():
    rng = np.random.RandomState(0)
    points = rng.normal(size=(80, 3)).astype(np.float32)
    start = 2 * rng.randint(4, size=80)  # names need not be dense
    means = np.array([points[start == name].mean(axis=0) for name in (0, 2, 4, 6)])
    expected = KMeans(4, init=means, n_init=1).fit(points).labels_
    np.testing.assert_array_equal(kmeans_from(points, start), expected)


def test_many_rows_are_clustered_from_a_sample(monkeypatch):
    # Ten clusters with unequal weights and some overlap, in which a single start of
    # k-means often ends badly.
    rng = np.random.RandomState(0)
    sizes = [2000, 400, 300, 900, 100, 700, 300, 800, 200, 300]
    y = np.repeat(np.arange(10), sizes)
    points = 4 * rng.normal(size=(10, 4))[y] + rng.normal(size=(6000, 4))
    expected, centres = cluster_rows(points, 10, n_init=20, seed=0)
    monkeypatch.setattr(module, "MANY_ROWS", 2000)
    labels, found = cluster_rows(points, 10, n_init=20, seed=0)
    nearest = np.linalg.norm(found[:, None] - centres, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(np.sort(nearest), np.arange(10))
    assert np.mean(nearest[labels] == expected) > 0.99


def test_the_sample_only_gives_the_start(monkeypatch):
    # The answer is one that k-means on all rows cannot better.
    points = np.random.RandomState(0).normal(size=(3000, 2))
    monkeypatch.setattr(module, "MANY_ROWS", 500)
    labels, centres = cluster_rows(points, 5, n_init=3, seed=0)
    again = KMeans(5, init=centres, n_init=1, max_iter=1).fit(points)
    assert np.mean(again.labels_ == labels) > 0.99
    means = [points[labels == k].mean(axis=0) for k in range(5)]
    np.testing.assert_allclose(means, centres, atol=0.02)
