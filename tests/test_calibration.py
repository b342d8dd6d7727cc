"""Probabilities of hits, against the chances they were drawn with."""

import numpy as np

from unaligned.calibration import calibrate


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
