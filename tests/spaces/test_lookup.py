"""Nearest rows, against the whole table of cosines."""

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from unaligned.kernels.scaling import unit_rows
from unaligned.spaces.lookup import nearest_rows


def test_nearest_rows_are_those_of_the_whole_table():
    rng = np.random.RandomState(0)
    Y, asked, center = rng.normal(size=(50, 6)), rng.normal(size=(9, 6)), np.ones(6)
    rows, similarity = nearest_rows(asked, unit_rows(Y - center), center, 3)
    table = cosine_similarity(asked - center, Y - center)
    np.testing.assert_array_equal(rows, np.argsort(-table, axis=1)[:, :3])
    np.testing.assert_allclose(similarity, -np.sort(-table, axis=1)[:, :3], atol=1e-6)
