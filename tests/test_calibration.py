"""Probabilities of hits, against the chances they were drawn with."""

import numpy as np

from unaligned.calibration import calibrate, less_where_untypical, share_as_large


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


def test_shares_are_counted_with_the_value_itself():
    known = np.array([1.0, 2.0, 2.0, 4.0])
    np.testing.assert_allclose(
        share_as_large(np.array([0.5, 2.0, 3.0, 5.0]), known), [1, 0.8, 0.4, 0.2]
    )


def test_cases_unlike_the_known_ones_have_less_probability():
    rng = np.random.RandomState(0)
    near = np.column_stack([rng.uniform(0.6, 1, 99), np.full(99, 0.1)])
    learned = calibrate(near, np.ones(99, bool), np.ones(99))
    typical = learned.typical(np.array([[0.5, 0.1], [near[:, 0].max(), 0.1]]))
    np.testing.assert_allclose(typical, [0.01, 1])
    found = less_where_untypical(np.array([0.8, 0.8]), typical)
    np.testing.assert_allclose(found, [0.16, 0.8])
    # Of cases that are like the known ones every share is equally likely.
    same = np.column_stack([rng.uniform(0.6, 1, 5000), np.full(5000, 0.1)])
    assert abs(np.mean(learned.typical(same) <= 0.2) - 0.2) < 0.08
