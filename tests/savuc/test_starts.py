from dataclasses import replace

import numpy as np
from related_views import (
    QUICK,
    measured_views,
    search_view,
    shuffled_pair,
    true_cross,
)

from unaligned.kernels.devices import Cores
from unaligned.savuc import starts
from unaligned.savuc.geometry import whiten
from unaligned.savuc.search import PairSearch
from unaligned.savuc.starts import (
    crosses_of,
    families_of,
    find_starts,
    from_centres,
    have_few_factors,
    prepare_view,
)
from unaligned.savuc.trust import agreement


def rng(seed=0):
    return np.random.RandomState(seed)


def test_starts_are_of_the_families_that_views_allow():
    X, Y, _ = shuffled_pair(150, (7, 6))
    views = search_view(X), search_view(Y)
    counts = []
    for few in (False, True):
        found = find_starts(families_of(*views, QUICK, few), rng(), Cores())
        assert all(start.shape == (7, 6) for family in found for start in family)
        counts.append([len(family) for family in found])
    assert counts[1] == [*counts[0], QUICK.n_candidates]


def test_every_row_is_an_anchor_where_rows_are_few_and_factors_are_not():
    X, Y, order = shuffled_pair(150)
    views = search_view(X), search_view(Y)
    search = PairSearch(*views, QUICK, Cores())
    search.few_factors = False
    found = find_starts(search.families, rng(), Cores())[1]
    truth = true_cross(*search.whitened, order)
    assert max(agreement(cross, truth) for cross in found) > 0.6
    few = families_of(*views, QUICK, True, search.anchors)
    assert len(few) == len(search.families) == 2
    many = PairSearch(*views, replace(QUICK, n_sketched=149), Cores())
    many.few_factors = False
    assert len(many.families) == 1


def test_the_longest_rows_are_paired_once(monkeypatch):
    views, calls = [search_view(X) for X in shuffled_pair(80, (5, 5))[:2]], []
    monkeypatch.setattr(starts, "from_extremes", lambda *_: calls.append(_) or [_])
    families = families_of(*views, QUICK, True)
    once, again = (find_starts(families, rng(seed), Cores()) for seed in range(2))
    assert len(calls) == 1
    assert once[1] == again[1]
    assert any((a != b).any() for a, b in zip(once[0], again[0], strict=True))


def test_a_family_that_finds_nothing_is_left_out():
    families = [lambda _: [], lambda _: [np.eye(2)]]
    ((found,),) = find_starts(families, rng(), Cores())
    np.testing.assert_array_equal(found, np.eye(2))


def test_few_factors_hold_the_variance_of_few_factors_and_noise():
    draw = rng()
    loadings = draw.normal(size=(5, 40))
    X = draw.normal(size=(300, 5)) @ loadings + 0.3 * draw.normal(size=(300, 40))
    one = search_view(X)
    assert have_few_factors(one, one)
    wide = search_view(draw.normal(size=(300, 40)))
    assert not have_few_factors(one, wide)
    assert not have_few_factors(wide, one)
    bare = replace(one, geometry=one.geometry._replace(lengths=np.empty(0)))
    assert not have_few_factors(one, bare)


def test_a_prepared_view_is_whitened_and_sketched():
    geometry = search_view(measured_views(60)[0]).geometry
    view = prepare_view(geometry, QUICK, rng())
    np.testing.assert_array_equal(view.whitened, whiten(geometry.points, QUICK.ridge))
    assert view.whitened.dtype == np.float32
    np.testing.assert_array_equal(view.sketch.rows, np.arange(60))


def test_crosses_are_sums_over_anchors():
    view = search_view(measured_views(60)[0])
    crosses = from_centres(view, view, QUICK, rng())
    assert 1 <= len(crosses) <= QUICK.n_candidates
    draw = rng(1)

    class Side:
        def __init__(self, means):
            self.means = means

    left, right = Side(draw.normal(size=(4, 2))), Side(draw.normal(size=(5, 3)))
    plans = draw.uniform(size=(2, 4, 5))
    for plan, found in zip(plans, crosses_of(plans, left, right), strict=True):
        expected = np.einsum("kl,ka,lb->ab", plan, left.means, right.means)
        np.testing.assert_allclose(found, expected)
