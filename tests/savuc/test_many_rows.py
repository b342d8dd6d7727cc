from dataclasses import replace

import numpy as np
import pytest
from related_views import QUICK, search_view, shuffled_columns, true_cross

from unaligned.kernels.devices import Cores
from unaligned.savuc import many_rows as module
from unaligned.savuc.many_rows import (
    are_many,
    evidence_of_many,
    learn_likely,
)
from unaligned.savuc.refine import join_rows
from unaligned.savuc.rivals import evidence_of, random_start
from unaligned.savuc.search import PairSearch
from unaligned.savuc.trust import UNTESTED, agreement, first_of_equal

# Samples of some hundred rows of a thousand, as of some thousands of many.
MANY = replace(QUICK, n_dense=400, n_refined=250, n_tested=100)


def rng(seed=0):
    return np.random.RandomState(seed)


def narrow_tables(n=1200, m=1000, noise=0.15, seed=0):
    """Two tables of six common Gaussian factors, which lengths tell apart."""
    draw = rng(seed)
    factors, order = draw.normal(size=(n, 6)), draw.permutation(n)[:m]
    one = factors @ draw.normal(size=(6, 12)) + noise * draw.normal(size=(n, 12))
    other = factors @ draw.normal(size=(6, 9)) + noise * draw.normal(size=(n, 9))
    return one, other[order], order


def search_of(X, Y):
    return PairSearch(search_view(X, MANY), search_view(Y, MANY), MANY, Cores())


def test_right_directions_have_evidence_on_rows_that_were_held_out():
    X, Y, order = narrow_tables()
    search, turned = search_of(X, Y), search_of(Y, X)
    right = true_cross(*search.whitened, order)
    for views, cross in ((search, right), (turned, right.T)):
        assert views.are_held_out_for_good
        assert evidence_of_many(views, cross, rng()).lower > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_wrong_directions_have_none_however_refined(seed):
    X, Y, _ = narrow_tables(seed=seed)
    for other in (Y, shuffled_columns(Y, seed)):
        search = search_of(X, other)
        cross, _ = search.refine(random_start(search, rng(seed + 5)), rng(seed))
        assert evidence_of_many(search, cross, rng(seed)).lower < MANY.turning_point


def test_rows_that_are_tested_are_not_learned_from(monkeypatch):
    X, Y, order = narrow_tables()
    search, learned, shown = search_of(X, Y), [], []
    one, other = search.whitened

    def learn(cross, rows, full, *args):
        learned.append((rows, full))
        return learn_likely(cross, rows, full, *args)

    def gains(A, B, correlations, finding, n_tested, around, settings):
        shown.append((len(A), len(B), n_tested))
        return np.arange(n_tested), np.ones(n_tested)

    monkeypatch.setattr(module, "learn_likely", learn)
    monkeypatch.setattr(module, "likely_gains", gains)
    evidence_of_many(search, true_cross(one, other, order), rng())
    ((rows, full),) = learned
    # A quarter of the shorter view is held out; all rows of the other are candidates.
    assert (len(rows.one), len(rows.other)) == (750, 1200)
    assert {*shown} == {(1000, 1200, 250)}
    kept = {row.tobytes() for row in rows.one}
    assert len(kept) == 750
    assert kept < {row.tobytes() for row in other}
    lengths = np.linalg.norm(full.other, axis=1)
    expected = np.linalg.norm(search.views[0].full_rows(), axis=1)
    np.testing.assert_allclose(np.sort(lengths), np.sort(expected))


def test_one_split_is_enough_where_it_speaks_against_a_matching(monkeypatch):
    search = search_of(*narrow_tables()[:2])
    calls = []

    def gains(A, B, correlations, finding, n_tested, around, settings):
        calls.append(finding)
        return np.arange(n_tested), np.full(n_tested, sign)

    monkeypatch.setattr(module, "likely_gains", gains)
    for sign, n_calls in ((-1.0, 3), (1.0, 3 * 4)):
        calls.clear()
        found = evidence_of_many(search, np.eye(12, 9), rng())
        assert found.mean == pytest.approx(sign)
        assert len(calls) == n_calls


@pytest.mark.parametrize(("n_found", "tested"), [(24, False), (25, True)])
def test_few_rows_that_find_a_partner_are_no_evidence(n_found, tested, monkeypatch):
    search = search_of(*narrow_tables()[:2])

    def gains(*args):
        return np.arange(n_found), np.ones(n_found)

    monkeypatch.setattr(module, "likely_gains", gains)
    found = evidence_of_many(search, np.eye(12, 9), rng())
    assert (found != UNTESTED) is tested


def test_likelihood_mends_directions_that_are_nearly_right():
    X, Y, order = narrow_tables()
    search = search_of(X, Y)
    truth = true_cross(*search.whitened, order)
    # Two thirds of the pairs are right, and directions are turned a little.
    moved = np.where(np.arange(1000) % 3 > 0, order, rng().permutation(order))
    rough = true_cross(*search.whitened, moved)
    turned = rough @ (np.eye(9) + 0.1 * rng(1).normal(size=(9, 9)))
    found, canonical = learn_likely(
        turned, search.all_rows, search.full_rows, MANY, rng()
    )
    assert agreement(found, truth) > max(0.98, agreement(turned, truth))
    # The canonical directions of true pairs, of six factors.
    assert (canonical.correlations > 0.8).sum() == 6


def test_few_distinct_rows_are_tested_in_turn():
    rows = rng().normal(size=(1000, 5))
    found = first_of_equal(rows[np.arange(3000) % 1000])
    np.testing.assert_array_equal(found, np.arange(1000))
    enough = np.arange(401), np.arange(300)
    assert are_many(enough, MANY)
    assert not are_many((enough[0], np.arange(299)), MANY)
    assert not are_many((np.arange(400), np.arange(400)), MANY)
    X, Y, _ = narrow_tables()
    copies = X[np.arange(1200) % 90]
    search = search_of(copies, Y)
    assert search.many_rows
    assert not search.are_held_out_for_good


def test_the_test_for_many_rows_counts_no_matches(monkeypatch):
    X, Y, order = narrow_tables()
    search = search_of(X, Y)
    truth = true_cross(*search.whitened, order)
    expected = evidence_of_many(search, truth, rng())
    assert evidence_of(search, truth, rng()) == (expected, MANY.n_refined)


def test_known_pairs_keep_their_part_of_what_is_learned():
    X, Y, order = narrow_tables()
    views = search_view(X, MANY), search_view(Y, MANY)
    known = order[:200], np.arange(200)
    search = PairSearch(*views, MANY, Cores(), known)
    one, other = search.whitened
    truth = true_cross(one, other, order)
    free = join_rows(*search.whitened, known)
    found, _ = learn_likely(truth, free, search.full_rows, MANY, rng())
    rest = found - free.fixed
    expected = free.share * true_cross(one, other[200:], order[200:])
    assert agreement(rest, expected) > 0.98
    assert np.linalg.norm(rest) == pytest.approx(np.linalg.norm(expected), rel=0.1)
