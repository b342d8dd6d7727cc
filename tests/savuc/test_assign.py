from dataclasses import replace

import numpy as np
import pytest
from related_views import QUICK, true_cross, whitened_pair
from scipy import sparse, stats
from scipy.optimize import linear_sum_assignment

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc import assign
from unaligned.savuc.assign import (
    assign_rest,
    entries_of,
    likelihood_weights,
    match_likely,
    match_rows,
    match_views,
    mutual_partners,
    with_known,
)
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.likelihood import canonical_rows, ratio_factors
from unaligned.savuc.refine import (
    along_directions,
    join_rows,
    mutual_best,
    plan_rows,
)
from unaligned.savuc.starts import prepare_view

SPARSE = replace(QUICK, n_dense=50)


@pytest.fixture
def views():
    return whitened_pair(noise=0.1)


def test_all_rows_find_the_right_partner_and_are_sure(views):
    one, other, order = views
    found = match_rows(true_cross(*views), one, other, QUICK)
    np.testing.assert_array_equal(found.partner[order], np.arange(len(order)))
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    assert found.confidence.mean() > 0.5


def test_the_matching_is_the_optimal_one_on_easy_data(views):
    one, other, order = views
    # The best of all one-to-one matchings, with the rotation that joins the views.
    U, _, Vt = np.linalg.svd(true_cross(one, other, order))
    _, expected = linear_sum_assignment(-(unit_rows(one @ U @ Vt) @ unit_rows(other).T))
    found = match_rows(true_cross(*views), one, other, QUICK)
    np.testing.assert_array_equal(found.partner, expected)


def test_wrong_matches_are_less_sure():
    one, other, order = whitened_pair(noise=0.6, seed=3)
    found = match_rows(true_cross(one, other, order), one, other, QUICK)
    right = order[found.partner] == np.arange(len(order))
    assert 0 < right.mean() < 1
    assert found.confidence[right].mean() > found.confidence[~right].mean()


def all_pairs(n):
    return sparse.csr_array(np.ones((n, n)))


def test_likelihood_makes_matches_better():
    one, other, order = whitened_pair(n=400, d=6, noise=0.2, seed=2)
    partner = np.argsort(order)
    wrong = np.random.RandomState(0).permutation(400)[:200]
    start = partner.copy()
    start[wrong] = np.roll(start[wrong], 1)
    found = match_likely(one, other, start, all_pairs(400))
    mutual = found.partner >= 0
    assert np.mean(found.partner[mutual] == partner[mutual]) > np.mean(start == partner)
    matched = assign_rest(found.partner, *found.factors)
    # With the directions of the truth, nothing does better than the best matching.
    A, B, c = canonical_rows(one, other, partner)
    left, right = ratio_factors(A, B, c)
    _, best = linear_sum_assignment(-(left @ right.T))
    assert np.mean(matched == partner) > np.mean(best == partner) - 0.05
    assert np.mean(matched == partner) > np.mean(start == partner)


def test_rows_that_look_alike_do_no_harm():
    kinds = np.random.RandomState(0).randint(3, size=(200, 2))
    one, other = np.eye(3)[kinds[:, 0]], np.eye(3)[kinds[:, 1]]
    for view in (other, np.zeros((200, 2))):
        found = match_likely(one, view, np.arange(200), all_pairs(200))
        matched = assign_rest(found.partner, *found.factors)
        np.testing.assert_array_equal(np.sort(matched), np.arange(200))
        assert ((found.probable.data >= 0) & (found.probable.data <= 1)).all()


def test_entries_of_partners():
    table = sparse.random(30, 40, density=0.2, random_state=0, format="csr")
    partner = np.random.RandomState(0).permutation(40)[:30]
    partner[::7] = -1
    expected = np.where(partner < 0, 0, table.toarray()[np.arange(30), partner])
    np.testing.assert_array_equal(entries_of(table, partner), expected)


def test_lengths_tell_rows_of_narrow_tables_apart():
    rng = np.random.RandomState(0)
    factors = rng.normal(size=(300, 3))
    one, other = (
        factors @ rng.normal(size=(3, 5)) + 0.2 * rng.normal(size=(300, 5))
        for _ in range(2)
    )
    views = [
        prepare_view(read_geometry(X, QUICK.n_directions, rng), QUICK, rng)
        for X in (one, other)
    ]
    rows = [view.whitened for view in views]
    cross = rows[0].T @ rows[1] / 300
    of_unit_length = match_rows(cross, *rows, QUICK).partner
    found = match_views(cross, *views, QUICK).partner
    right = [np.mean(p == np.arange(300)) for p in (of_unit_length, found)]
    assert right[1] > right[0] + 0.1


@pytest.mark.parametrize("settings", [QUICK, SPARSE])
def test_the_longer_view_leaves_rows_without_partner(views, settings):
    one, other, order = views
    for a, b in ((one, other[:70]), (one[:70], other)):
        found = match_rows(true_cross(*views), a, b, settings)
        matched = found.partner[found.partner >= 0]
        assert len(found.partner) == len(a)
        assert len(matched) == len(np.unique(matched)) == 70
        assert (found.confidence[found.partner < 0] == 0).all()
        shared = np.flatnonzero(np.isin(np.arange(len(a)), order[: len(b)]))
        assert np.mean(order[found.partner[shared]] == shared) > 0.9


@pytest.mark.parametrize("settings", [QUICK, SPARSE])
def test_known_pairs_stay_whatever_the_directions_say(views, settings):
    one, other, _ = views
    wrong = np.arange(10), np.arange(10)[::-1].copy()
    found = match_rows(true_cross(*views), one, other, settings, wrong)
    np.testing.assert_array_equal(found.partner[:10], np.arange(10)[::-1])
    np.testing.assert_array_equal(found.confidence[:10], np.ones(10))
    np.testing.assert_array_equal(np.sort(found.partner), np.arange(120))


def test_everything_known_leaves_nothing_to_match(views):
    one, other, order = views
    found = match_rows(true_cross(*views), one, other, QUICK, (order, np.arange(120)))
    np.testing.assert_array_equal(found.partner[order], np.arange(120))
    np.testing.assert_array_equal(found.confidence, np.ones(120))


def test_all_rows_of_the_shorter_view_known_leave_the_others_without(views):
    one, other, order = views
    known = order[:30], np.arange(30)
    found = match_rows(true_cross(*views), one, other[:30], QUICK, known)
    expected = np.full(120, -1)
    expected[order[:30]] = np.arange(30)
    np.testing.assert_array_equal(found.partner, expected)
    np.testing.assert_array_equal(found.confidence, (expected >= 0).astype(float))


def test_many_rows_go_through_sparse_plans(monkeypatch, views):
    one, other, order = views
    monkeypatch.setattr(assign, "MOST_ASSIGNED", 0)
    found = match_rows(true_cross(*views), one, other, SPARSE)
    assert np.mean(found.partner[order] == np.arange(120)) > 0.95
    dense = match_rows(true_cross(*views), one, other, QUICK)
    np.testing.assert_allclose(found.confidence, dense.confidence, atol=0.05)


@pytest.mark.parametrize("n_known", [0, 30])
def test_directions_are_learned_again_from_the_first_matching(
    n_known, views, monkeypatch
):
    one, other, order = views
    known = order[:n_known], np.arange(n_known)
    given, planned = [], assign.planned

    def spy(cross, rows, settings):
        given.append(cross)
        return planned(cross, rows, settings)

    monkeypatch.setattr(assign, "planned", spy)
    rows = join_rows(one, other, known)
    match_rows(true_cross(*views), one, other, QUICK, known)
    first, second = given
    partner = mutual_partners(first, rows, QUICK)
    assert 0 in partner
    products = [np.outer(rows.one[i], rows.other[j]) for i, j in enumerate(partner)]
    of_free = np.mean([p for p, j in zip(products, partner, strict=True) if j >= 0], 0)
    of_known = [np.outer(one[i], other[j]) for i, j in zip(*known, strict=True)]
    share = n_known / 120
    expected = (1 - share) * of_free + sum(of_known) / 120
    np.testing.assert_allclose(second, expected, atol=1e-5)


def test_every_match_has_some_confidence_and_nothing_else_has():
    # Nothing in common: many rows are left over, and matched to rows that are far away.
    rng = np.random.RandomState(0)
    one, other = (rng.normal(size=(n, 8)).astype(np.float32) for n in (300, 260))
    found = match_rows(rng.normal(size=(8, 8)), one, other, replace(QUICK, n_near=2))
    assert (found.partner >= 0).sum() == 260
    np.testing.assert_array_equal(found.confidence > 0, found.partner >= 0)
    assert found.confidence.min() == 0


def test_mutual_partners_are_the_mutual_best_ones_of_the_last_plan():
    one, other, order = whitened_pair(noise=0.6, seed=3)
    other, order = other[:100], order[:100]
    rows, cross = join_rows(one, other), true_cross(one, other, order)
    found = mutual_partners(cross, rows, QUICK)
    n_directions, temperature = QUICK.schedule[-1]
    A, B = along_directions(cross, rows, n_directions, likelihood_weights)
    plan = plan_rows(A, B, temperature, assign.N_PLANNED, QUICK)
    expected = np.full(120, -1)
    picked, partners = mutual_best(plan)
    expected[picked] = partners
    np.testing.assert_array_equal(found, expected)
    # They are right more often than those that are left to an assignment.
    everything = match_rows(cross, one, other, QUICK).partner
    matched = np.flatnonzero(everything >= 0)
    right = np.mean(order[partners] == picked)
    assert right > np.mean(order[everything[matched]] == matched)


@pytest.mark.parametrize("most", [0, 3000])
@pytest.mark.parametrize(("left", "right"), [(5, 9), (9, 5), (6, 6)])
def test_leftovers_are_matched_one_to_one(monkeypatch, most, left, right):
    monkeypatch.setattr(assign, "MOST_ASSIGNED", most)
    rng = np.random.RandomState(0)
    A, B = rng.normal(size=(left, 3)), rng.normal(size=(right, 3))
    partner = assign_rest(np.full(left, -1), A, B)
    matched = partner[partner >= 0]
    assert len(np.unique(matched)) == len(matched) == min(left, right)


def test_partners_that_are_there_are_not_touched_by_the_rest():
    rng = np.random.RandomState(0)
    A, B = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    partner = assign_rest(np.array([4, -1, -1, 0, -1, -1]), A, B)
    assert (partner[0], partner[3]) == (4, 0)
    np.testing.assert_array_equal(np.sort(partner), np.arange(6))
    left, right = [1, 2, 4, 5], [1, 2, 3, 5]
    _, best = linear_sum_assignment(-(A[left] @ B[right].T))
    np.testing.assert_array_equal(partner[left], np.array(right)[best])


def test_known_rows_are_put_back_where_they_were():
    one, other = np.zeros((5, 1)), np.zeros((4, 1))
    known = np.array([1, 3]), np.array([2, 0])
    # Free are rows 0, 2, 4 of the one, and rows 1, 3 of the other.
    free, sure = np.array([1, -1, 0]), np.array([0.4, 0.0, 0.6])
    found = with_known(free, sure, one, other, known)
    np.testing.assert_array_equal(found.partner, [3, 2, -1, 0, 1])
    np.testing.assert_array_equal(found.confidence, [0.4, 1, 0, 1, 0.6])


def test_weights_rank_matches_like_their_likelihood():
    # Of pairs of Gaussian rows, the likelihood ratio of a match, term by term.
    c = np.array([0.9, 0.5, 0.1])
    rng = np.random.RandomState(0)
    a, b = rng.normal(size=(2, 50, 3))
    both = stats.multivariate_normal
    joint = sum(
        both([0, 0], [[1, r], [r, 1]]).logpdf(np.column_stack([x, z]))
        for r, x, z in zip(c, a.T, b.T, strict=True)
    )
    alone = stats.norm.logpdf(a).sum(axis=1) + stats.norm.logpdf(b).sum(axis=1)
    w = likelihood_weights(c)
    lengths = ((a**2 + b**2) * c**2 / (1 - c**2)).sum(axis=1) / 2
    constant = -0.5 * np.log(1 - c**2).sum()
    expected = ((a * w) * (b * w)).sum(axis=1) - lengths + constant
    np.testing.assert_allclose(joint - alone, expected)


def test_weights_stay_finite_at_perfect_correlation():
    assert np.isfinite(likelihood_weights(np.array([0, 0.5, 1, 1.01]))).all()
