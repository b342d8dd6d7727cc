"""How typical vectors are, against the whole table of distances."""

import numpy as np
from scipy.spatial.distance import cdist

from unaligned.spaces.typical import surroundings_of


def test_distances_are_those_of_the_whole_table():
    rng = np.random.RandomState(0)
    X, new = rng.normal(size=(60, 4)), rng.normal(size=(25, 4)) * 1.5
    found = surroundings_of(X, X.mean(axis=0))
    table = cdist(X, X)
    np.fill_diagonal(table, np.inf)
    own = table.min(axis=1)
    np.testing.assert_allclose(found.distances, np.sort(own), rtol=1e-5)
    far = cdist(new, X).min(axis=1)
    expected = [(1 + np.sum(own >= d)) / 61 for d in far]
    np.testing.assert_allclose(found.typical(new), expected)


def test_shares_of_vectors_like_the_rows_are_uniform():
    rng = np.random.RandomState(0)
    X = rng.gamma(2, size=(2000, 5))
    shares = surroundings_of(X[:1000], X.mean(axis=0)).typical(X[1000:])
    for level in (0.05, 0.2, 0.5, 0.8):
        assert abs(np.mean(shares <= level) - level) < 0.05


def test_equal_rows_count_once():
    X = np.repeat(np.random.RandomState(0).normal(size=(30, 3)), 2, axis=0)
    once = surroundings_of(X[::2], np.zeros(3))
    np.testing.assert_array_equal(surroundings_of(X, np.zeros(3))[2], once[2])
    assert once.distances.min() > 0
    same = surroundings_of(np.ones((5, 3)), np.zeros(3))
    np.testing.assert_array_equal(
        same.typical(np.array([[1, 1, 1], [1, 1, 2]])), [1, 0.5]
    )
