import numpy as np
import pytest
from scipy import stats
from test_polish import true_cross, two_views

from unaligned.savuc import polish, row_matching
from unaligned.savuc.row_matching import (
    assign_rest,
    likelihood_weights,
    match_rows,
)


@pytest.fixture
def views():
    return two_views(noise=0.1)


def test_all_rows_find_the_right_partner_and_are_sure(views):
    one, other, order = views
    found = match_rows(true_cross(*views), one, other)
    np.testing.assert_array_equal(found.partner[order], np.arange(len(order)))
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    assert found.confidence.mean() > 0.5


def test_wrong_matches_are_less_sure():
    one, other, order = two_views(noise=0.6, seed=3)
    found = match_rows(true_cross(one, other, order), one, other)
    right = order[found.partner] == np.arange(len(order))
    assert 0 < right.mean() < 1
    assert found.confidence[right].mean() > found.confidence[~right].mean()


def test_the_longer_view_leaves_rows_without_partner(views):
    one, other, _ = views
    for a, b in ((one, other[:70]), (one[:70], other)):
        found = match_rows(true_cross(*views), a, b)
        matched = found.partner[found.partner >= 0]
        assert len(matched) == len(np.unique(matched)) == 70
        assert (found.confidence[found.partner < 0] == 0).all()


def test_known_pairs_stay_whatever_the_directions_say(views):
    one, other, _ = views
    wrong = np.arange(10), np.arange(10)[::-1].copy()
    found = match_rows(true_cross(*views), one, other, wrong)
    np.testing.assert_array_equal(found.partner[:10], np.arange(10)[::-1])
    np.testing.assert_array_equal(found.confidence[:10], np.ones(10))
    np.testing.assert_array_equal(np.sort(found.partner), np.arange(120))


def test_everything_known_leaves_nothing_to_match(views):
    one, other, order = views
    found = match_rows(true_cross(*views), one, other, (order, np.arange(120)))
    np.testing.assert_array_equal(found.partner[order], np.arange(120))


def test_many_rows_go_through_sparse_plans(monkeypatch, views):
    one, other, order = views
    monkeypatch.setattr(polish, "MOST_DENSE", 50)
    monkeypatch.setattr(row_matching, "MOST_DENSE", 50)
    monkeypatch.setattr(row_matching, "MOST_ASSIGNED", 0)
    found = match_rows(true_cross(*views), one, other)
    assert np.mean(found.partner[order] == np.arange(120)) > 0.95


@pytest.mark.parametrize("most", [0, 3000])
@pytest.mark.parametrize(("left", "right"), [(5, 9), (9, 5), (6, 6)])
def test_leftovers_are_matched_one_to_one(monkeypatch, most, left, right):
    monkeypatch.setattr(row_matching, "MOST_ASSIGNED", most)
    rng = np.random.RandomState(0)
    A, B = rng.normal(size=(left, 3)), rng.normal(size=(right, 3))
    partner = assign_rest(np.full(left, -1), A, B)
    matched = partner[partner >= 0]
    assert len(np.unique(matched)) == len(matched) == min(left, right)


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
