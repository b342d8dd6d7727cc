"""Rosetta's steps against general computations, and views that are rotations."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from unaligned.baselines import Rosetta
from unaligned.baselines.rosetta import (
    centre_covariance,
    match_points,
    nearness,
    own_directions,
    refine_rotation,
)
from unaligned.datasets import unalign
from unaligned.metrics import foscttm, instance_alignment_rate


def rotated(n=300, d=6, seed=0):
    """Uneven clusters, and the same turned in space."""
    rng = np.random.RandomState(seed)
    centres = rng.normal(size=(12, d)) * 3
    X = centres[rng.randint(12, size=n)] + 0.3 * rng.normal(size=(n, d))
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X, X @ turn, turn


def test_the_same_centres_give_the_rotation():
    X, Y, turn = rotated()
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    cross = centre_covariance(X, Y, 12, np.random.RandomState(0))
    left, _, right = np.linalg.svd(cross)
    np.testing.assert_allclose(left @ right, turn, atol=0.1)


def test_nearness_is_minus_distance_over_the_mean():
    points = np.array([[0.0, 0], [3, 4], [6, 8]])
    expected = -np.array([[0, 5, 10], [5, 0, 5], [10, 5, 0]]) / (40 / 9)
    np.testing.assert_allclose(nearness(points), expected)
    np.testing.assert_array_equal(nearness(np.ones((2, 3))), np.zeros((2, 2)))


@pytest.mark.parametrize("shapes", [(3, 5), (5, 3), (0, 3)])
def test_as_many_as_possible_are_matched_once(shapes):
    rng = np.random.RandomState(0)
    one, other = (rng.normal(size=(n, 2)) for n in shapes)
    at, to = match_points(one, other)
    assert len(at) == len(to) == min(shapes) == len(set(at)) == len(set(to))


def test_refinement_ends_at_the_rotation_of_its_own_matches():
    X, Y, turn = rotated()
    off = np.linalg.qr(turn + 0.1 * np.random.RandomState(1).normal(size=(6, 6)))[0]
    found = refine_rotation(X, Y, off * np.sign(np.diag(off.T @ turn)), 0 * turn, 20)
    at, to = match_points(X @ found, Y)
    np.testing.assert_allclose(orthogonal_procrustes(X[at], Y[to])[0], found, atol=1e-5)


def test_rotated_views_are_found_and_new_rows_placed():
    X, Y, _ = rotated(400)
    data = unalign([X[:300], Y[:300]], random_state=0)
    model = Rosetta(12, n_rounds=30, random_state=0).fit(data.Xs)
    rows = model.alignment_.permutations[1]
    assert instance_alignment_rate(data.order[1], data.order[0], rows) > 0.95
    assert foscttm(model.transform(X[300:], 0), model.transform(Y[300:], 1)) < 0.01
    found = model.rotations_[1]
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-6)


def test_known_pairs_give_the_rotation_where_geometry_does_not():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 4))  # as good as round
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    data = unalign([X, X @ turn], ratio=0.5, random_state=0)
    model = Rosetta(3, n_restarts=2, random_state=0)
    model.fit(data.Xs, aligned=data.n_aligned)
    rows = model.alignment_.permutations[1]
    assert instance_alignment_rate(data.order[1], data.order[0], rows) > 0.95


def test_wide_views_are_rotated_like_narrow_ones():
    """Columns that say nothing new change neither places nor matches."""
    X, Y, _ = rotated(80)
    wide = [np.hstack([M, np.zeros((80, 120))]) for M in (X, Y)]
    fits = [
        Rosetta(3, n_restarts=2, random_state=0).fit(views) for views in ([X, Y], wide)
    ]
    assert fits[1].rotations_[1].shape == (126, 126)
    scores = [foscttm(*model.places_) for model in fits]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    basis = own_directions(wide[0])
    np.testing.assert_allclose(wide[0] @ basis @ basis.T, wide[0], atol=1e-8)


def test_views_of_other_widths_and_lengths_fit():
    X, Y, _ = rotated()
    model = Rosetta(3, n_restarts=1, random_state=0)
    model.fit([X[:, :3], Y[:200], np.hstack([X, Y])])
    assert [R.shape for R in model.rotations_] == [(3, 3), (6, 3), (12, 3)]
    assert (model.alignment_.permutations[1] >= 0).sum() == 200
