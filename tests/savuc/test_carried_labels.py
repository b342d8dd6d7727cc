"""Labels carried along a bridge, and how sure they are."""

import numpy as np
import pytest

from unaligned.known_pairs import KnownPairs
from unaligned.savuc.bridge import fit_bridge
from unaligned.savuc.bridge_regression import fit_ridge
from unaligned.savuc.carried_labels import carry_labels
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.joint_space import joint_blocks


@pytest.fixture(scope="module")
def problem():
    """A bridge of 80 pairs between views of 400 objects in overlapping classes."""
    rng = np.random.RandomState(0)
    y = rng.randint(4, size=400)
    latent = 1.1 * rng.normal(size=(4, 6))[y] + rng.normal(size=(400, 6))
    Xs = [latent @ rng.normal(size=(6, 15)) for _ in range(2)]
    Xs = [X + 0.5 * rng.normal(size=X.shape) for X in Xs]
    known = np.where(np.arange(400) < 80, np.arange(400), -1)
    geometries = [read_geometry(X, 50, rng) for X in Xs]
    return fit_bridge(geometries, KnownPairs([known, known]), Settings(), rng), y


def test_labels_are_those_of_a_regression_on_features_of_both_views(problem):
    bridge, y = problem
    found = carry_labels(bridge, 0, 1, y, np.ones(80, bool), np.random.RandomState(0))
    blocks = joint_blocks(bridge)
    model = fit_ridge(np.hstack([blocks[0][0], blocks[0][1]]), np.eye(4)[y])
    estimate = bridge.estimate(bridge.features[1], 1, 0)[0]
    scores = model.predict(np.hstack([estimate, bridge.features[1]]))
    np.testing.assert_array_equal(found.labels, scores.argmax(axis=1))


def test_confidence_is_the_share_that_is_right(problem):
    bridge, y = problem
    found = carry_labels(bridge, 0, 1, y, np.ones(80, bool), np.random.RandomState(0))
    right = (found.labels == y)[80:]
    assert 0.5 < right.mean() < 0.95
    assert found.n_held_out == 80
    assert found.held_out == pytest.approx(right.mean(), abs=0.12)
    assert found.confidence[80:].mean() == pytest.approx(right.mean(), abs=0.12)


def test_pairs_left_out_have_no_part_in_their_own_label(problem):
    bridge, y = problem
    wrong = y.copy()
    wrong[:80] = (y[:80] + np.random.RandomState(1).randint(1, 4, 80)) % 4
    found = carry_labels(
        bridge, 0, 1, wrong, np.ones(80, bool), np.random.RandomState(0)
    )
    assert found.held_out < 0.35  # had they seen it, they would give it back


def test_rows_without_a_label_teach_nothing(problem):
    bridge, y = problem
    some = np.where(np.arange(400) % 3 == 0, -1, y)
    found = carry_labels(
        bridge, 0, 1, some, np.ones(80, bool), np.random.RandomState(0)
    )
    assert found.n_held_out == np.sum(some[:80] >= 0)
    none = carry_labels(bridge, 0, 1, y, np.zeros(80, bool), np.random.RandomState(0))
    assert none.n_held_out == 0
    assert np.isnan(none.held_out)
    np.testing.assert_array_equal(none.confidence, 0.5)
