"""The map between two spaces, against scikit-learn's ridge regression."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from unaligned.spaces.linear_map import choose_penalty, moments_of, solve


def origin_of(X, Y):
    return X.mean(axis=0), Y.mean(axis=0)


@pytest.fixture
def problem():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(90, 7)) + 5, rng.normal(size=(80, 4)) - 3
    pairs = np.column_stack([rng.permutation(90)[:60], rng.permutation(80)[:60]])
    Y[pairs[:, 1]] += X[pairs[:, 0], :4]
    return X.astype(np.float32), Y.astype(np.float32), pairs, rng.uniform(size=60)


def test_slopes_are_those_of_weighted_ridge_regression(problem):
    X, Y, pairs, weights = problem
    penalties = 0.01, 3.0
    for penalty, found in zip(
        penalties,
        solve(moments_of(X, Y, pairs, weights, origin_of(X, Y)), penalties),
        strict=True,
    ):
        x, y = X[pairs[:, 0]].astype(float), Y[pairs[:, 1]].astype(float)
        centred = x - np.average(x, axis=0, weights=weights)
        unit = np.mean(weights @ centred**2)
        ridge = Ridge(penalty * unit).fit(x, y, sample_weight=weights)
        np.testing.assert_allclose(found.slopes, ridge.coef_.T, rtol=2e-3, atol=2e-4)
        np.testing.assert_allclose(found.apply(X), ridge.predict(X), atol=1e-4)


def test_sums_of_two_sets_of_pairs_add_up(problem):
    X, Y, pairs, weights = problem
    whole = moments_of(X, Y, pairs, weights, origin_of(X, Y))
    parts = [
        moments_of(X, Y, pairs[at], weights[at], origin_of(X, Y))
        for at in (slice(25), slice(25, 60))
    ]
    for one, both in zip(whole[1:], (parts[0] + parts[1])[1:], strict=True):
        np.testing.assert_allclose(one, both, rtol=1e-4, atol=1e-3)


def test_files_are_read_block_by_block(tmp_path):
    wide = np.random.RandomState(1).normal(size=(2500, 1100)).astype(np.float32)
    np.save(tmp_path / "x.npy", wide)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    rows = np.random.RandomState(2).permutation(2500)
    pairs = np.column_stack([rows, np.arange(2500)])
    nowhere = np.zeros(1100), np.zeros(3)
    found = moments_of(mapped, wide[:, :3], pairs, np.ones(2500), nowhere)
    np.testing.assert_allclose(found.xy, wide[rows].T @ wide[:, :3], atol=0.02)


def test_the_mean_is_taken_where_nothing_is_better(problem):
    rng = np.random.RandomState(3)
    X, Y = rng.normal(size=(40, 30)), rng.normal(size=(40, 2))
    pairs = np.column_stack([np.arange(20), np.arange(20)])
    _, _, quality = choose_penalty(
        moments_of(X, Y, pairs, np.ones(20), origin_of(X, Y)),
        X[20:],
        100 * Y[20:],
        np.ones(20),
    )
    assert quality < 0.2
    X, Y, pairs, weights = problem
    moments = moments_of(X, Y, pairs[:40], weights[:40], origin_of(X, Y))
    held = X[pairs[40:, 0]], Y[pairs[40:, 1]], weights[40:]
    penalty, learned, quality = choose_penalty(moments, *held)
    errors = weights[40:] @ (learned.apply(held[0]) - held[1]) ** 2
    means = weights[40:] @ (held[1] - learned.target_mean) ** 2
    assert quality == pytest.approx(1 - errors.sum() / means.sum(), rel=1e-4)
    assert penalty < 1
