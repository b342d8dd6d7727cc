from dataclasses import replace

import numpy as np
import pytest
from related_views import (
    FEW_RIVALS,
    QUICK,
    measured_views,
    search_view,
    shuffled_columns,
    shuffled_pair,
    true_cross,
)

from unaligned.kernels.devices import Cores
from unaligned.savuc import search as module
from unaligned.savuc import starts
from unaligned.savuc.assign import match_rows
from unaligned.savuc.refine import score
from unaligned.savuc.rivals import fit_against_rivals
from unaligned.savuc.search import PairSearch, search_pair
from unaligned.savuc.trust import (
    FEWEST_DIRECTIONS,
    UNTESTED,
    agreement,
    held_out_evidence,
)


def rng(seed=0):
    return np.random.RandomState(seed)


def search(X, Y, settings=QUICK, seed=0, **options):
    views = search_view(X, settings), search_view(Y, settings)
    fit = search_pair(*views, settings, rng(seed), Cores(), **options)
    return fit, views


def exact(fit, views, order, known=None):
    rows = views[0].whitened, views[1].whitened
    partner = match_rows(fit.cross, *rows, QUICK, known).partner
    return np.mean(order[partner] == np.arange(len(order)))


@pytest.mark.parametrize("seed", range(3))
def test_related_views_are_found_and_trusted(seed):
    X, Y, order = shuffled_pair(200, seed=seed)
    fit, views = search(X, Y)
    assert fit.trust > 0.9
    assert exact(fit, views, order) >= 0.9
    assert fit.score == pytest.approx(score(fit.cross, QUICK), rel=1e-5)
    assert fit.evidence.lower > 0
    assert fit.excess > 0


@pytest.mark.parametrize("seed", range(3))
def test_unrelated_views_are_not_trusted(seed):
    X, Y, _ = shuffled_pair(200, seed=seed)
    other = measured_views(200, seed=seed + 30)[1]
    noise = rng(seed).normal(size=(200, 30))
    for unrelated in (shuffled_columns(Y, seed), other, noise):
        fit, _ = search(X, unrelated)
        assert fit.trust < 0.5


def test_narrow_views_are_found_or_refused_too():
    X, Y, order = shuffled_pair(250, (12, 9))
    fit, views = search(X, Y, FEW_RIVALS)
    assert fit.trust > 0.5
    assert exact(fit, views, order) >= 0.9
    fit, _ = search(X, shuffled_columns(Y), FEW_RIVALS)
    assert fit.trust < 0.5


def with_categories(seed):
    """Two tables of common factors, and categories that either table alone has."""
    draw = rng(seed)
    factors, order = draw.normal(size=(400, 6)), draw.permutation(400)
    X, Y = (factors @ draw.normal(size=(6, d)) for d in (12, 9))
    tables = [V + 0.2 * draw.normal(size=V.shape) for V in (X, Y[order])]
    one, other = (np.hstack([V, np.eye(4)[draw.randint(4, size=400)]]) for V in tables)
    return one, other, order


def test_categories_that_one_table_has_do_not_hide_relations(monkeypatch):
    X, Y, order = with_categories(0)
    fit, views = search(X, Y, FEW_RIVALS)
    full = tuple(view.full_rows() for view in views)
    whitened = tuple(view.whitened for view in views)
    partner = match_rows(fit.cross, *whitened, QUICK, full=full).partner
    assert fit.trust > 0.9
    assert np.mean(order[partner] == np.arange(400)) > 0.9
    # C is that of the views as they are, whichever columns led to it.
    assert agreement(fit.cross, true_cross(*whitened, order)) > 0.95
    assert fit.score == pytest.approx(score(fit.cross, QUICK), rel=1e-5)
    # It takes the second search.
    monkeypatch.setattr(starts, "by_communality", lambda geometry: None)
    assert search(X, Y, FEW_RIVALS)[0].excess < fit.excess


def test_unrelated_tables_with_categories_are_not_trusted():
    X, Y = with_categories(1)[0], with_categories(2)[1]
    assert search(X, Y, FEW_RIVALS)[0].trust < 0.5


def test_of_two_searches_that_of_larger_excess_is_taken(monkeypatch):
    X, Y, _ = with_categories(3)
    views = search_view(X), search_view(Y)
    fits = [
        module.PairFit(np.full((16, 13), i), 1.0, UNTESTED, excess, 0.5)
        for i, excess in enumerate((0.2, 0.1))
    ]
    given = iter(fits)
    searched = []

    def once(search, *rest):
        searched.append(search.views)
        return next(given)

    monkeypatch.setattr(module, "search_until_trusted", once)
    assert search_pair(*views, QUICK, rng(), Cores()) is fits[0]
    assert searched[0] == views
    assert searched[1][0] is not views[0]
    assert searched[1][1] is not views[1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_same_random_numbers_give_the_same_fit(kind):
    X, Y, _ = shuffled_pair(100)
    views = X.astype(kind), Y.astype(kind)
    one, other = (search(*views, FEW_RIVALS, seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one.cross, other.cross)
    assert one[1:] == other[1:]


def test_views_of_different_length_in_either_order():
    X, Y, order = shuffled_pair(240)
    Y, order = Y[:180], order[:180]
    for swapped in (False, True):
        pair = (Y, X) if swapped else (X, Y)
        fit, (one, other) = search(*pair, FEW_RIVALS)
        assert fit.trust > 0.5
        partner = match_rows(fit.cross, one.whitened, other.whitened, QUICK).partner
        matched = np.flatnonzero(partner >= 0)
        assert len(matched) == 180
        right = order == partner if swapped else order[partner[matched]] == matched
        assert right.mean() > 0.85


def test_known_pairs_are_enough_where_all_are_known():
    X, Y, order = shuffled_pair(100)
    told = []
    fit, (one, other) = search(X, Y, known=(order, np.arange(100)), report=told.append)
    assert (fit.trust, fit.excess, fit.evidence) == (1.0, np.inf, UNTESTED)
    expected = one.whitened[order].T @ other.whitened / 100
    np.testing.assert_allclose(fit.cross, expected, rtol=1e-4)
    assert told == []


def test_known_pairs_help_where_structure_does_not_tell():
    # Gaussian rows look the same from all sides, up to what pairs say.
    draw = rng()
    latent = draw.normal(size=(150, 8))
    X, Y = (latent @ draw.normal(size=(8, 10)) for _ in range(2))
    order = draw.permutation(150)
    known = order[:60], np.arange(60)
    fit, views = search(X, Y[order], known=known)
    assert exact(fit, views, order, known) > 0.9


@pytest.fixture
def spied(monkeypatch):
    """What searches found, and what was tested, one after the other."""
    found, tested, matchings = [], [], PairSearch.matchings

    def spy_on_search(self, rng):
        found.append(matchings(self, rng))
        return found[-1]

    def spy_on_test(search, fit, refined, others, rng):
        tested.append(fit_against_rivals(search, fit, refined, others, rng))
        (leading, *rest), starts = found[-1]
        assert fit is leading
        assert refined == [cross for cross, _ in rest]
        assert others == [cross for cross, _ in starts]
        return tested[-1]

    monkeypatch.setattr(PairSearch, "matchings", spy_on_search)
    monkeypatch.setattr(module, "fit_against_rivals", spy_on_test)
    return found, tested


def test_what_is_not_trusted_is_searched_again(spied):
    X, Y, _ = shuffled_pair(100)
    told = []
    settings = replace(FEW_RIVALS, n_searches=4)
    fit, _ = search(X, shuffled_columns(Y), settings, report=told.append)
    found, tested = spied
    assert len(found) == told.count("searching") == 4
    assert len(tested) == told.count("testing") > 1
    assert fit is max(tested, key=lambda fit: fit.excess)
    assert fit.trust < 0.5


def test_a_search_that_is_trusted_is_the_last(spied):
    X, Y, _ = shuffled_pair(200)
    told = []
    fit, _ = search(X, Y, replace(FEW_RIVALS, n_searches=4), report=told.append)
    assert told == ["searching", "testing"]
    assert fit.trust > 0.95


@pytest.mark.parametrize("few_factors", [False, True])
def test_the_first_test_of_a_matching_counts(monkeypatch, few_factors):
    X, Y, _ = shuffled_pair(100)
    views = search_view(X), search_view(shuffled_columns(Y))
    pair = PairSearch(*views, replace(FEW_RIVALS, n_searches=3), Cores())
    pair.few_factors = few_factors
    (leading, *_), others = pair.matchings(rng())
    monkeypatch.setattr(pair, "matchings", lambda rng: ([leading], others))
    excesses = iter((-0.3, -0.1, 0.5))

    def tested(search, fit, *_):
        return module.PairFit(*fit, UNTESTED, next(excesses), 0.4)

    monkeypatch.setattr(module, "fit_against_rivals", tested)
    told = []
    fit = module.search_until_trusted(pair, rng(), told.append)
    assert fit.excess == -0.3
    assert told.count("searching") == 3
    # Where factors are few, the test chooses the matching that leads.
    assert told.count("testing") == (3 if few_factors else 1)


def test_many_rows_are_searched_more_than_once(spied):
    X, Y, _ = shuffled_pair(200)
    settings = replace(FEW_RIVALS, n_dense=150)
    search(X, shuffled_columns(Y), settings)
    found, _ = spied
    assert len(found) == module.N_SEARCHES_OF_MANY
    fit, _ = search(X, Y, settings)
    assert fit.trust > 0.95


def test_the_best_start_is_refined():
    X, Y, order = shuffled_pair(200)
    views = search_view(X), search_view(Y)
    search = PairSearch(*views, QUICK, Cores())
    ((cross, value), *leading), others = search.matchings(rng())
    assert others
    assert max(found for _, found in leading + others) <= value
    assert value == pytest.approx(score(cross, QUICK), rel=1e-5)
    truth = true_cross(*(view.whitened for view in views), order)
    assert agreement(cross, truth) > 0.95
    assert value > 0.9 * score(truth, QUICK)


@pytest.mark.parametrize("width", range(1, FEWEST_DIRECTIONS))
def test_what_cannot_be_tested_is_not_searched(width):
    X, Y, order = shuffled_pair(60)
    told = []
    for known in (None, (order[:20], np.arange(20))):
        fit, _ = search(X[:, :width], Y, known=known, report=told.append)
        assert (fit.trust, fit.evidence) == (0, UNTESTED)
        assert fit.cross.shape == (width, 30)
    assert told == []


def test_known_pairs_are_tested_like_those_that_were_found():
    X, Y, order = shuffled_pair(200)
    views = search_view(X), search_view(Y)
    known = order[:50], np.arange(50)
    one, other = (view.whitened for view in views)
    search = PairSearch(*views, QUICK, Cores(), known)
    cross = true_cross(one, other, order)
    partner = search.matching(cross, rng())
    matched = np.flatnonzero(partner >= 0)
    assert len({*partner[matched]}) == len(matched)
    np.testing.assert_array_equal(partner[order[:50]], np.arange(50))
    assert np.mean(order[partner[matched]] == matched) > 0.9
    found = held_out_evidence(*search.whitened, partner, QUICK, rng())
    assert found.lower > 0.1


def test_samples_meet_their_partners():
    X, Y, order = shuffled_pair(600)
    views = search_view(X), search_view(Y)
    one, other = (view.whitened for view in views)
    search = PairSearch(*views, replace(QUICK, n_refined=100), Cores())
    truth = true_cross(one, other, order)
    drawn = search.draw_rows(truth, rng())
    assert len(drawn.one) == len(drawn.other) == 100
    # Rows of the second view are told by their values.
    place = {row.tobytes(): order[j] for j, row in enumerate(other)}
    objects = {place[row.tobytes()] for row in drawn.other}
    assert len(objects) == 100
    sampled = {i for i in range(600) if (one[i] == drawn.one).all(axis=1).any()}
    assert len(objects & sampled) > 60
    whole = PairSearch(*views, replace(QUICK, n_refined=400), Cores())
    rows = whole.draw_rows(truth, rng())
    np.testing.assert_array_equal(rows.one, one)
    np.testing.assert_array_equal(rows.other, other)


def test_every_cycle_has_rows_of_its_own(monkeypatch):
    X, Y, order = shuffled_pair(600)
    views = search_view(X), search_view(Y)
    drawn = []
    search = PairSearch(*views, replace(QUICK, n_refined=100), Cores())
    draw_rows = search.draw_rows
    monkeypatch.setattr(
        search, "draw_rows", lambda *args: drawn.append(draw_rows(*args)) or drawn[-1]
    )
    truth = true_cross(*(view.whitened for view in views), order)
    search.refine(truth, rng())
    assert len(drawn) > 2
    assert len({rows.one.tobytes() for rows in drawn}) == len(drawn)


def test_a_search_on_samples_finds_the_same():
    X, Y, order = shuffled_pair(400)
    settings = replace(FEW_RIVALS, n_refined=150, n_sketched=250, n_tested=150)
    fit, views = search(X, Y, settings)
    assert fit.trust > 0.5
    assert exact(fit, views, order) >= 0.9


def test_known_pairs_are_no_evidence_for_rivals():
    X, Y, order = shuffled_pair(100)
    views = search_view(X), search_view(Y)
    search = PairSearch(*views, QUICK, Cores(), (order[:40], np.arange(40)))
    truth = true_cross(*(view.whitened for view in views), order)
    whole = search.matching(truth, rng())
    free = search.matching(truth, rng(), with_known=False)
    np.testing.assert_array_equal(order[whole], np.arange(100))
    assert (free[order[:40]] == -1).all()
    np.testing.assert_array_equal(free[order[40:]], np.arange(40, 100))


def test_a_matching_that_is_there_is_refined():
    X, Y, order = shuffled_pair(200)
    one, other = search_view(X), search_view(Y)
    truth = true_cross(one.whitened, other.whitened, order)
    moved = np.where(np.arange(200) < 100, order, rng().permutation(order))
    half = one.whitened[moved].T @ other.whitened / 200
    search = PairSearch(one, other, QUICK, Cores())
    cross, value = search.refine(half, rng())
    assert value >= score(half, QUICK)
    assert agreement(cross, truth) > max(0.95, agreement(half, truth))


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_a_handful_of_rows_is_no_reason_to_fail(n):
    draw = rng()
    fit, _ = search(draw.normal(size=(n, 3)), draw.normal(size=(n, 1)))
    assert fit.trust < 0.5
    assert np.isfinite(fit.cross).all()


def test_copies_of_one_row_and_of_few_rows_are_not_trusted():
    X, _, _ = shuffled_pair(100)
    for n_distinct in (1, 2, 7):
        copies = X[np.arange(100) % n_distinct]
        fit, _ = search(copies, copies[::-1], FEW_RIVALS)
        assert fit.trust < 0.5
