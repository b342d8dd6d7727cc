"""What every estimator shares."""

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from unaligned import base
from unaligned.base import cluster_rows


def test_many_rows_are_clustered_from_a_sample(monkeypatch):
    # Ten clusters with unequal weights and some overlap, in which a single start of
    # k-means often ends badly.
    rng = np.random.RandomState(0)
    sizes = [2000, 400, 300, 900, 100, 700, 300, 800, 200, 300]
    y = np.repeat(np.arange(10), sizes)
    points = 4 * rng.normal(size=(10, 4))[y] + rng.normal(size=(6000, 4))
    expected, centres = cluster_rows(points, 10, n_init=20, seed=0)
    monkeypatch.setattr(base, "MANY_ROWS", 2000)
    labels, found = cluster_rows(points, 10, n_init=20, seed=0)
    nearest = np.linalg.norm(found[:, None] - centres, axis=2).argmin(axis=1)
    assert_array_equal(np.sort(nearest), np.arange(10))
    assert np.mean(nearest[labels] == expected) > 0.99


def test_the_sample_only_gives_the_start(monkeypatch):
    # The answer is one that k-means on all rows cannot better.
    points = np.random.RandomState(0).normal(size=(3000, 2))
    monkeypatch.setattr(base, "MANY_ROWS", 500)
    labels, centres = cluster_rows(points, 5, n_init=3, seed=0)
    again = KMeans(5, init=centres, n_init=1, max_iter=1).fit(points)
    assert np.mean(again.labels_ == labels) > 0.99
    means = [points[labels == k].mean(axis=0) for k in range(5)]
    np.testing.assert_allclose(means, centres, atol=0.02)
