from dataclasses import replace

import numpy as np
from related_views import QUICK, measured_views, search_view, shuffled_pair

from unaligned.kernels.devices import Cores
from unaligned.savuc.geometry import whiten
from unaligned.savuc.starts import (
    are_narrow,
    crosses_of,
    find_starts,
    from_centres,
    prepare_view,
)


def rng(seed=0):
    return np.random.RandomState(seed)


def test_starts_are_of_the_families_that_views_allow():
    X, Y, _ = shuffled_pair(150, (7, 6))
    views = search_view(X), search_view(Y)
    few = replace(QUICK, n_singles=20, n_leading=6)  # many rows, many directions
    cases = {
        "plain": few,
        "singles": replace(few, n_singles=75),
        "narrow": replace(few, n_leading=7),
    }
    counts = {}
    for name, settings in cases.items():
        starts = find_starts(*views, settings, rng(), Cores())
        counts[name] = len(starts)
        assert all(start.shape == (7, 6) for start in starts)
    assert counts["singles"] == counts["plain"] + 1
    assert counts["narrow"] == counts["plain"] + QUICK.n_candidates


def test_views_are_narrow_where_they_have_few_directions_and_lengths():
    one, other = map(search_view, measured_views(60))  # of 24 and 30 columns
    for views, n_leading, expected in (
        ((one, other), 30, True),
        ((one, other), 29, False),
        ((one, one), 24, True),
    ):
        settings = replace(QUICK, n_leading=n_leading)
        assert are_narrow(*views, settings) == expected
    bare = replace(one, geometry=one.geometry._replace(lengths=np.empty(0)))
    assert not are_narrow(one, bare, settings)


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
