from itertools import combinations

import numpy as np
import pytest
from related_views import QUICK, search_view

from unaligned.savuc.extremes import (
    TOLERANCE,
    agreeing_sets,
    couple_extremes,
    longest,
    rotation,
    whitened_rows,
)
from unaligned.savuc.refine import cycle, join_rows
from unaligned.savuc.trust import agreement


def rng(seed=0):
    return np.random.RandomState(seed)


def spread(rows):
    """Variance of the inner products of different rows."""
    return np.var([a @ b for a, b in combinations(rows, 2)])


@pytest.mark.parametrize("seed", range(4))
def test_every_two_pairs_of_a_set_agree(seed):
    one, other = rng(seed).normal(size=(25, 3)), rng(seed + 9).normal(size=(30, 3))
    tolerance = TOLERANCE * np.sqrt((spread(one) + spread(other)) / 2)
    lengths = [np.linalg.norm(rows, axis=1) for rows in (one, other)]
    usual = np.median(np.concatenate(lengths))
    sets, typical = agreeing_sets(one, other, 3)
    sizes = [len(rows) for rows, _ in sets]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= typical > 1
    for rows, partners in sets:
        assert len({*rows}) == len({*partners}) == len(rows)
        apart = lengths[0][rows] - lengths[1][partners]
        assert (np.abs(apart) < tolerance / usual + 1e-5).all()
        for (i, j), (k, m) in combinations(zip(rows, partners, strict=True), 2):
            assert abs(one[i] @ one[k] - other[j] @ other[m]) < tolerance + 1e-4
    pairs = [{*zip(*each, strict=True)} for each in sets]
    for smaller, larger in combinations(pairs[::-1], 2):
        assert 2 * len(smaller & larger) <= len(smaller)


def test_rows_without_a_partner_are_in_no_set():
    turn = np.linalg.qr(rng(5).normal(size=(5, 5)))[0]
    rows = rng(6).normal(size=(60, 5))
    # Rows 20 to 39 are in both; the others are in one of them only.
    [(found, partners)], typical = agreeing_sets(rows[:40], rows[20:] @ turn, 1)
    assert len(found) == 20 > 2 * typical
    np.testing.assert_array_equal(found, partners + 20)


def test_equal_rows_are_no_reason_to_fail():
    sets, _ = agreeing_sets(np.zeros((3, 4)), np.zeros((5, 4)), 2)
    assert sets == []


def test_factors_are_leading_directions_at_unit_variance():
    rows = rng().normal(size=(200, 6)) * [5, 4, 3, 2, 1, 0.1] + 7
    factors = whitened_rows(rows)[:, :4]
    np.testing.assert_allclose(factors.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(factors.std(axis=0), 1)
    lengths = np.linalg.norm(longest(factors, 30), axis=1)
    np.testing.assert_allclose(lengths, -np.sort(-np.linalg.norm(factors, axis=1))[:30])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_apart", [0, 150])
def test_gaussian_rows_that_fill_space_evenly_are_found(seed, n_apart):
    # No cluster and no skew: nothing but which rows are far out tells objects apart.
    draw = rng(seed)
    latent = draw.normal(size=(400 + n_apart, 5))
    X, Y = (latent @ draw.normal(size=(5, d)) for d in (8, 7))
    X, Y = (V + 0.1 * draw.normal(size=V.shape) for V in (X, Y))
    # The last rows of X and the first of Y have no partner.
    one, other = search_view(X[:400]), search_view(Y[n_apart:])
    shape = one.whitened.shape[1], other.whitened.shape[1]
    crosses = couple_extremes((one.geometry, other.geometry), shape, QUICK)
    assert len(crosses) == QUICK.n_candidates
    common = one.whitened[n_apart:], other.whitened[: 400 - n_apart]
    truth = common[0].T @ common[1] / len(common[0])
    rows = join_rows(one.whitened, other.whitened)
    assert agreement(cycle(crosses[0], rows, QUICK), truth) > 0.9


def test_a_rotation_is_found_from_few_pairs():
    turn = np.linalg.qr(rng().normal(size=(4, 4)))[0]
    rows = rng(1).normal(size=(5, 4))
    cross = rotation(rows, rows @ turn, (6, 7))
    np.testing.assert_allclose(cross[:4, :4], turn, atol=1e-8)
    assert cross.shape == (6, 7)
    assert not cross[4:].any()
    assert not cross[:, 4:].any()
