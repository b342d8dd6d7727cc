"""Nearest rows, and the probability that they are right."""

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from unaligned.kernels.scaling import unit_rows
from unaligned.spaces.lookup import calibrate, nearest_rows


def test_nearest_rows_are_those_of_the_whole_table():
    rng = np.random.RandomState(0)
    Y, asked, center = rng.normal(size=(50, 6)), rng.normal(size=(9, 6)), np.ones(6)
    rows, similarity = nearest_rows(asked, unit_rows(Y - center), center, 3)
    table = cosine_similarity(asked - center, Y - center)
    np.testing.assert_array_equal(rows, np.argsort(-table, axis=1)[:, :3])
    np.testing.assert_allclose(similarity, -np.sort(-table, axis=1)[:, :3], atol=1e-6)


def test_confidence_is_the_share_of_hits():
    rng = np.random.RandomState(0)
    nearest = rng.uniform(0.3, 1, 4000)
    margin = rng.uniform(0, 0.3, 4000)
    chance = 1 / (1 + np.exp(-20 * (margin - 0.1)))
    hit = rng.uniform(size=4000) < chance
    near = np.column_stack([nearest, nearest - margin])
    learned = calibrate(near[:2000], hit[:2000], np.ones(2000))
    found = learned.probability(near[2000:])
    assert np.abs(found - chance[2000:]).mean() < 0.03


def test_nothing_is_certain():
    near = np.array([[0.9, 0.1]] * 20)
    for hit in (np.ones(20, bool), np.zeros(20, bool)):
        found = calibrate(near, hit, np.ones(20)).probability(near)
        np.testing.assert_allclose(found, (hit.sum() + 1) / 22, atol=1e-3)
