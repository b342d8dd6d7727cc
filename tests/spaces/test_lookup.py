"""Nearest rows, against the whole table of cosines."""

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from unaligned.spaces.lookup import index_rows


def test_nearest_rows_are_those_of_the_whole_table():
    rng = np.random.RandomState(0)
    Y, vectors, asked = (rng.normal(size=(n, 6)) for n in (50, 40, 9))
    center = np.ones(6)
    index = index_rows(Y, center, vectors)
    rows, scores = index.nearest(asked, 3)
    crowd = -np.sort(-cosine_similarity(Y - center, vectors - center), axis=1)[:, :10]
    cosines = cosine_similarity(asked - center, Y - center)
    table = cosines - crowd.mean(axis=1) / 2
    np.testing.assert_array_equal(rows, np.argsort(-table, axis=1)[:, :3])
    np.testing.assert_allclose(scores, -np.sort(-table, axis=1)[:, :3], atol=1e-6)
    expected = np.take_along_axis(cosines, rows, axis=1)
    np.testing.assert_allclose(index.similarity(rows, scores), expected, atol=1e-6)


def test_a_row_that_is_near_to_everything_is_nearest_to_less():
    rng = np.random.RandomState(0)
    one = rng.normal(size=(300, 40))
    hub = one.mean(axis=0, keepdims=True) + 0.5
    other = np.vstack([hub, 0.6 * one + 0.8 * rng.normal(size=one.shape)])
    index = index_rows(other, np.zeros(40), one + 0.5)
    nearest = index.nearest(one + 0.5, 1)[0][:, 0]
    plain = cosine_similarity(one + 0.5, other).argmax(axis=1)
    own = np.arange(1, 301)
    assert np.sum(nearest == 0) < np.sum(plain == 0)
    assert np.mean(nearest == own) > np.mean(plain == own)
