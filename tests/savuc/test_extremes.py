from itertools import permutations

import numpy as np
import pytest
from related_views import QUICK, search_view

from unaligned.savuc.extremes import (
    MOST_COST,
    TOLERANCE,
    assign_extremes,
    couple_extremes,
    longest_first,
    rotation,
    whitened_rows,
)
from unaligned.savuc.refine import cycle, join_rows
from unaligned.savuc.trust import agreement


def rng(seed=0):
    return np.random.RandomState(seed)


def cost_of(assignment, one, other):
    """Sum over all pairs of assigned rows, as the docstring has it."""
    products = other @ other.T
    m = len(other)
    spread = TOLERANCE * np.std([products[i, j] for i in range(m) for j in range(i)])
    lengths = [np.linalg.norm(row) for row in other]
    total = 0.0
    for i, a in enumerate(assignment):
        apart = np.linalg.norm(one[i]) - lengths[a]
        total += min((apart * np.median(lengths) / spread) ** 2 / 2, MOST_COST)
        for k, b in enumerate(assignment[:i]):
            apart = one[i] @ one[k] - other[a] @ other[b]
            total += min((apart / spread) ** 2 / 2, MOST_COST)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_assignment_of_least_cost(seed):
    one, other = rng(seed).normal(size=(4, 3)), rng(seed + 9).normal(size=(6, 3))
    costs = {p: cost_of(p, one, other) for p in permutations(range(6), 4)}
    found = tuple(assign_extremes(one, other, beam_width=10_000).tolist())
    assert costs[found] == pytest.approx(min(costs.values()), rel=1e-4)


@pytest.mark.parametrize("n_other", [1, 3, 9])
def test_no_row_is_assigned_twice(n_other):
    one, other = rng().normal(size=(6, 4)), rng(1).normal(size=(n_other, 4))
    found = assign_extremes(one, other, beam_width=5)
    assert len({*found}) == len(found) == min(6, n_other)


def test_equal_rows_are_no_reason_to_fail():
    found = assign_extremes(np.zeros((3, 4)), np.zeros((5, 4)), beam_width=5)
    assert len({*found}) == 3


def test_factors_are_leading_directions_at_unit_variance():
    rows = rng().normal(size=(200, 6)) * [5, 4, 3, 2, 1, 0.1] + 7
    factors = whitened_rows(rows)[:, :4]
    np.testing.assert_allclose(factors.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(factors.std(axis=0), 1)
    order = longest_first(factors)
    assert (np.diff(np.linalg.norm(factors[order], axis=1)) <= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_gaussian_rows_that_fill_space_evenly_are_found(seed):
    # No cluster and no skew: nothing but which rows are far out tells objects apart.
    draw = rng(seed)
    latent = draw.normal(size=(400, 5))
    X, Y = (latent @ draw.normal(size=(5, d)) for d in (8, 7))
    X, Y = (V + 0.1 * draw.normal(size=V.shape) for V in (X, Y))
    one, other = search_view(X), search_view(Y)
    geometries = one.geometry, other.geometry
    crosses = couple_extremes(geometries, (one.whitened, other.whitened), QUICK)
    assert len(crosses) == QUICK.n_candidates
    truth = one.whitened.T @ other.whitened / 400
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
