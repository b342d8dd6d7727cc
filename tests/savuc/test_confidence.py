from itertools import combinations, permutations

import numpy as np
import pytest
from related_views import QUICK, true_cross, whitened_pair
from scipy import sparse

from benchmarks.data.shared_rows import make_views
from unaligned.savuc import confidence
from unaligned.savuc.absence import NOTHING
from unaligned.savuc.assign import match_rows
from unaligned.savuc.confidence import (
    candidate_probabilities,
    match_confidence,
    match_probabilities,
    propagate,
)
from unaligned.savuc.likelihood import canonical_directions, log_ratios


def all_pairs(n, m):
    return np.repeat(np.arange(n), m), np.tile(np.arange(m), n)


def shares_of_matchings(weights):
    """Share of all one-to-one matchings, by weight, that have each pair."""
    n, m = weights.shape
    shares, total = np.zeros((n, m)), 0.0
    for size in range(min(n, m) + 1):
        for rows in combinations(range(n), size):
            for columns in permutations(range(m), size):
                weight = np.prod(weights[list(rows), list(columns)])
                total += weight
                shares[list(rows), list(columns)] += weight
    return shares / total


def test_probabilities_are_exact_where_pairs_close_no_loop():
    rows, columns = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 1, 2])
    ratios = np.random.RandomState(0).normal(size=5)
    weights = np.zeros((3, 4))
    weights[rows, columns] = np.exp(ratios + 0.7)
    found = match_probabilities(ratios, rows, columns, (3, 4), log_odds=0.7)
    np.testing.assert_allclose(found, shares_of_matchings(weights)[rows, columns])


@pytest.mark.parametrize(("n", "m"), [(4, 4), (3, 5), (5, 3)])
def test_probabilities_are_near_the_shares_of_all_matchings(n, m):
    ratios = np.random.RandomState(n).normal(scale=1.5, size=(n, m))
    found = match_probabilities(ratios.ravel(), *all_pairs(n, m), (n, m), log_odds=0.0)
    expected = shares_of_matchings(np.exp(ratios)).ravel()
    np.testing.assert_allclose(found, expected, atol=0.06)


def test_a_swap_costs_both_rows():
    # Sinkhorn's plan would say 1 / (1 + x) of a pair that a swap makes x² as likely.
    ratios = np.log([[1.0, 0.1], [0.1, 1.0]]) + 20
    found = match_probabilities(ratios.ravel(), *all_pairs(2, 2), (2, 2), log_odds=0)
    assert found[0] > 0.99


def test_the_share_of_rows_with_a_partner_is_estimated():
    n, n_common = 60, 40
    ratios = np.full((n, n), -8.0)
    ratios[np.arange(n_common), np.arange(n_common)] = 8.0
    found = match_probabilities(ratios.ravel(), *all_pairs(n, n), (n, n))
    assert found.sum() == pytest.approx(n_common, abs=1)


@pytest.mark.parametrize("noise", [0.2, 0.4, 0.5])
def test_the_mean_of_confidence_is_the_share_that_is_right(noise):
    one, other, order = whitened_pair(n=600, noise=noise, seed=1)
    found = match_rows(true_cross(one, other, order), one, other, QUICK)
    right = order[found.partner] == np.arange(len(order))
    assert found.confidence.mean() == pytest.approx(right.mean(), abs=0.1)
    assert (found.confidence < 1).all()


def whitened(X):
    """Leading principal components, of unit variance."""
    vectors = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0]
    return vectors[:, :32] * len(X) ** 0.5


@pytest.mark.parametrize("unmatched", [0.0, 0.3])
def test_confidence_allows_for_rows_without_a_partner(unmatched):
    views = make_views(1500, unmatched=unmatched)
    one, other = map(whitened, views.Xs)
    partners = views.partners()
    has_one = partners >= 0
    cross = one[has_one].T @ other[partners[has_one]] / has_one.sum()
    found = match_rows(cross, one, other, QUICK)
    right = found.partner == partners
    assert right.mean() == pytest.approx(1 - unmatched, abs=0.01)
    assert found.confidence.mean() == pytest.approx(right.mean(), abs=0.03)
    assert right[found.confidence >= 0.5].mean() > 0.95


def test_the_likeliest_candidates_are_those_of_a_full_sort(monkeypatch):
    monkeypatch.setattr(confidence, "N_CANDIDATES", 3)
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(2, 40, 4))
    near = sparse.random_array((40, 40), density=0.1, rng=rng).tolil()
    near.setdiag(1)
    near = near.tocsr()
    found_in = canonical_directions(one, one + other, np.ones(40))
    columns = confidence.likeliest(found_in, one, other, near)
    ratios = confidence.ratios_of(found_in, one, other, columns)
    A, B = found_in.read(one, 0), found_in.read(other, 1)
    for i in range(40):
        there = near[[i]].indices
        expected = log_ratios(
            A, B, found_in.correlations, np.full(len(there), i), there
        )
        order = np.argsort(-expected)[:3]
        n_found = len(order)
        np.testing.assert_array_equal(columns[i, :n_found], there[order])
        np.testing.assert_allclose(ratios[i, :n_found], expected[order])
        assert np.all(columns[i, n_found:] == -1)
        assert np.all(ratios[i, n_found:] == NOTHING)


def test_rows_may_have_fewer_candidates_than_others():
    one, other, order = whitened_pair(noise=0.1)
    partner = np.argsort(order)
    near = np.eye(120)[partner]
    near[:60, :5] = 1.0
    found = match_confidence(one, other, partner, near)
    assert (found > 0.5).all()
    claimed = candidate_probabilities(
        np.array([[0, 1], [2, -1]]), np.array([[3.0, 1.0], [2.0, NOTHING]]), 3
    )
    assert claimed.probability[1, 1] == 0


def test_few_rows_are_matched_with_many():
    one, other, order = whitened_pair(noise=0.1)
    few = np.argsort(order)[:10]  # rows of the second view that belong to ten
    found = match_rows(true_cross(one, other, order), one[:10], other, QUICK)
    assert np.mean(found.partner == few) > 0.8
    assert np.isfinite(found.confidence).all()


def test_rows_that_are_not_asked_about_compete_all_the_same():
    columns = np.array([[0, 1], [0, 1], [2, 3]])
    ratios = np.array([[5.0, 0.0], [9.0, 0.0], [6.0, 0.0]])
    all_rows = candidate_probabilities(columns, ratios, 4)
    some = candidate_probabilities(columns, ratios, 4, np.array([0, 2]))
    assert some.probability.shape == (2, 2)
    alone = candidate_probabilities(columns[[0, 2]], ratios[[0, 2]], 4)
    assert some.probability[0, 0] < alone.probability[0, 0]
    assert all_rows.present.shape == (3,)


def test_one_candidate_each_leaves_nothing_to_compare_with():
    rows = np.arange(5)
    found = candidate_probabilities(rows[:, None], np.full((5, 1), 3.0), 5)
    expected = match_probabilities(np.full(5, 3.0), rows, rows, (5, 5))
    np.testing.assert_allclose(found.probability[:, 0], expected)
    np.testing.assert_allclose(found.present, expected)


def test_support_is_the_ratio_less_what_others_claim():
    rows, columns = np.array([0, 1, 1]), np.array([0, 0, 1])
    ratios = np.array([1.0, 3.0, 0.5])
    support = propagate(ratios, rows, columns, (2, 2), log_odds=0.0).support
    # Row 1 has column 1 to go to; nobody else wants that one.
    claim = np.exp(3.0) / (1 + np.exp(0.5))
    np.testing.assert_allclose(support[0], 1.0 - np.log1p(claim))
    np.testing.assert_allclose(support[1], 3.0 - np.log1p(np.exp(1.0)))
    np.testing.assert_allclose(support[2], 0.5)
