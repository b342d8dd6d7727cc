import warnings

import numpy as np
from sklearn.cluster import KMeans

from unaligned.partitions.kmeans import kmeans, kmeans_from


def test_it_is_scikit_learns_with_a_seed_of_the_generator():
    points = np.random.RandomState(0).normal(size=(60, 3))
    seed = np.random.RandomState(4).randint(np.iinfo(np.int32).max)
    expected = KMeans(4, n_init=2, random_state=seed).fit_predict(points)
    found = kmeans(points, 4, np.random.RandomState(4), 2)
    assert found.dtype == np.intp
    np.testing.assert_array_equal(found, expected)


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
