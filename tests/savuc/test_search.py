from dataclasses import replace

import numpy as np
import pytest
from related_views import (
    QUICK,
    measured_views,
    search_view,
    shuffled_columns,
    shuffled_pair,
    true_cross,
    whitened_pair,
)

from unaligned.kernels.devices import Cores
from unaligned.savuc import search as module
from unaligned.savuc.assign import match_rows
from unaligned.savuc.geometry import whiten
from unaligned.savuc.refine import join_rows, score
from unaligned.savuc.search import (
    PairSearch,
    crosses_of,
    prepare_view,
    sample_rows,
    search_pair,
)
from unaligned.savuc.trust import (
    FEWEST_DIRECTIONS,
    UNTESTED,
    Evidence,
    agreement,
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
    X, Y, order = shuffled_pair(150, (12, 9))
    fit, views = search(X, Y)
    assert fit.trust > 0.5
    assert exact(fit, views, order) >= 0.9
    fit, _ = search(X, shuffled_columns(Y))
    assert fit.trust < 0.5


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_same_random_numbers_give_the_same_fit(kind):
    X, Y, _ = shuffled_pair(100)
    one, other = (search(X.astype(kind), Y.astype(kind), seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(one.cross, other.cross)
    assert one[1:] == other[1:]


def test_views_of_different_length_in_either_order():
    X, Y, order = shuffled_pair(240)
    Y, order = Y[:180], order[:180]
    for swapped in (False, True):
        fit, (one, other) = search(*((Y, X) if swapped else (X, Y)))
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


def test_what_is_being_done_is_reported_as_often_as_it_is_done():
    X, Y, _ = shuffled_pair(100)
    told = []
    settings = replace(QUICK, n_searches=3)
    search(X, shuffled_columns(Y), settings, report=told.append)
    assert told.count("searching") == 3
    assert 1 <= told.count("testing") <= 3
    assert told[:2] == ["searching", "testing"]
    told.clear()
    # A search that is certain is not repeated.
    X, Y, _ = shuffled_pair(200)
    certain, _ = search(X, Y, settings, report=told.append)
    assert certain.trust > 0.95
    assert told == ["searching", "testing"]


def test_of_several_searches_the_one_of_largest_score_is_given(monkeypatch):
    X, Y, _ = shuffled_pair(100)
    found, best_matching = [], PairSearch.best_matching

    def spy(self, rng):
        found.append(best_matching(self, rng))
        return found[-1]

    monkeypatch.setattr(PairSearch, "best_matching", spy)
    settings = replace(QUICK, n_searches=4)
    fit, _ = search(X, shuffled_columns(Y), settings)
    scores = [value for _, value in found]
    assert len(scores) == 4
    assert fit.score in scores
    # A gain too small to go on for is too small to be tested.
    assert fit.score * (1 + settings.least_gain) >= max(scores)


def test_the_best_start_is_refined():
    X, Y, order = shuffled_pair(200)
    views = search_view(X), search_view(Y)
    cross, value = PairSearch(*views, QUICK, Cores()).best_matching(rng())
    assert value == pytest.approx(score(cross, QUICK), rel=1e-5)
    truth = true_cross(*(view.whitened for view in views), order)
    assert agreement(cross, truth) > 0.95
    assert value > 0.9 * score(truth, QUICK)


def test_starts_are_of_the_families_that_views_allow():
    X, Y, order = shuffled_pair(150)
    views = [search_view(X), search_view(Y)]
    few = replace(QUICK, n_singles=20)  # many rows, many directions
    plain = PairSearch(*views, few, Cores())
    singles = PairSearch(*views, replace(few, n_singles=75), Cores())
    narrow = PairSearch(*views, replace(few, n_leading=30), Cores())
    known = PairSearch(*views, few, Cores(), (order[:9], np.arange(9)))
    counts = {}
    for name, case in {"plain": plain, "singles": singles, "known": known}.items():
        starts = case.starts(case.all_rows, rng())
        counts[name] = len(starts)
        assert all(start.shape == (24, 30) for start in starts)
    assert counts["singles"] == counts["plain"] + 1
    assert counts["known"] == counts["plain"] + 1
    np.testing.assert_array_equal(starts[-1], known.all_rows.fixed)
    assert len(narrow.starts(narrow.all_rows, rng())) > counts["plain"]


def test_views_are_narrow_where_they_have_few_directions_and_lengths():
    one, other = map(search_view, measured_views(60))  # of 24 and 30 columns
    for views, n_leading, expected in (
        ((one, other), 30, True),
        ((one, other), 29, False),
        ((one, one), 24, True),
    ):
        settings = replace(QUICK, n_leading=n_leading)
        assert PairSearch(*views, settings, Cores()).is_narrow() == expected
    bare = replace(one, geometry=one.geometry._replace(lengths=np.empty(0)))
    assert not PairSearch(one, bare, settings, Cores()).is_narrow()


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
    matched = search.matched_rows(true_cross(one, other, order), rng())
    place = {row.tobytes(): i for i, row in enumerate(one)}
    beside = {row.tobytes(): order[j] for j, row in enumerate(other)}
    objects = [
        (place[a.tobytes()], beside[b.tobytes()]) for a, b in zip(*matched, strict=True)
    ]
    assert len({*objects}) == len(objects)
    assert {(i, i) for i in order[:50]} <= {*objects}
    assert np.mean([i == j for i, j in objects]) > 0.9
    cross = true_cross(one, other, order)
    evidence, _ = search.test(cross, score(cross, QUICK), rng())
    assert evidence.lower > 0.1


def test_a_prepared_view_is_whitened_and_sketched():
    geometry = search_view(measured_views(60)[0]).geometry
    view = prepare_view(geometry, QUICK, rng())
    np.testing.assert_array_equal(view.whitened, whiten(geometry.points, QUICK.ridge))
    assert view.whitened.dtype == np.float32
    np.testing.assert_array_equal(view.sketch.rows, np.arange(60))


def test_crosses_are_sums_over_anchors():
    view = search_view(measured_views(60)[0])
    search = PairSearch(view, view, QUICK, Cores())
    crosses = search.from_centres(rng())
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


def test_samples_are_of_rows_and_small_views_are_taken_whole():
    one, other, _ = whitened_pair(n=150)
    rows = join_rows(one, other[:80])
    sampled = sample_rows(rows, 60, rng())
    assert sampled.one.shape == (60, 10)
    assert sampled.other is rows.other  # 80 are not many more than 60
    there = {row.tobytes() for row in one}
    assert len({row.tobytes() for row in sampled.one} & there) == 60


def test_samples_meet_their_partners():
    X, Y, order = shuffled_pair(600)
    views = search_view(X), search_view(Y)
    one, other = (view.whitened for view in views)
    search = PairSearch(*views, QUICK, Cores())
    rows = sample_rows(search.all_rows, 100, rng())
    beside = search.beside(true_cross(one, other, order), rows, rng())
    assert len(beside.one) == len(beside.other) == 100
    # Rows of the second view are told by their values.
    place = {row.tobytes(): order[j] for j, row in enumerate(other)}
    objects = {place[row.tobytes()] for row in beside.other}
    assert len(objects) == 100
    sampled = {i for i in range(600) if (one[i] == rows.one).all(axis=1).any()}
    assert len(objects & sampled) > 60
    assert search.beside(true_cross(one, other, order), search.all_rows, rng()) is (
        search.all_rows
    )


def test_a_search_on_samples_finds_the_same():
    X, Y, order = shuffled_pair(400)
    settings = replace(QUICK, n_refined=150, n_sketched=250, n_tested=150, n_singles=50)
    fit, views = search(X, Y, settings)
    assert fit.trust > 0.5
    assert exact(fit, views, order) >= 0.9


def rivals(X, Y, order):
    """A search, and the truth that its rivals are compared with."""
    views = search_view(X), search_view(Y)
    truth = true_cross(*(view.whitened for view in views), order)
    return PairSearch(*views, QUICK, Cores()), truth


def test_a_rival_of_what_it_finds_itself_is_none(monkeypatch):
    search, truth = rivals(*shuffled_pair(200))
    # Refinement that always ends at the truth: there is no other matching.
    monkeypatch.setattr(PairSearch, "refine", lambda *_: (truth, 1.0))
    assert search.rival(truth, rng()) is None
    # To any other matching it is a rival, as good as it is.
    rival = search.rival(-truth, rng())
    assert rival.score == 1.0
    assert rival.evidence > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_rivals_from_random_starts_are_not_as_good_as_the_truth(seed):
    search, truth = rivals(*shuffled_pair(200, seed=seed))
    value = score(truth, QUICK)
    evidence, excess = search.test(truth, value, rng(seed))
    rival = search.rival(truth, rng(seed))
    assert rival.evidence < evidence.lower
    assert rival.score < value
    assert excess > 0


def test_rivals_that_cannot_be_tested_have_no_evidence():
    X, Y, order = shuffled_pair(100)
    search, truth = rivals(X[:, :3], Y, order)
    assert search.rival(-truth, rng()).evidence == 0


def test_rivals_are_spared_where_there_is_no_evidence(monkeypatch):
    X, Y, order = shuffled_pair(100)
    search, truth = rivals(X, shuffled_columns(Y), order)
    nothing = Evidence(-0.1, 0.02)
    monkeypatch.setattr(module, "held_out_evidence", lambda *_: nothing)
    monkeypatch.setattr(PairSearch, "rival", lambda *_: pytest.fail("not spared"))
    assert search.test(truth, 1.0, rng()) == (nothing, nothing.lower)


def test_known_pairs_are_no_evidence_for_rivals():
    X, Y, order = shuffled_pair(100)
    views = search_view(X), search_view(Y)
    search = PairSearch(*views, QUICK, Cores(), (order[:40], np.arange(40)))
    truth = true_cross(*(view.whitened for view in views), order)
    whole = search.matched_rows(truth, rng())
    free = search.matched_rows(truth, rng(), with_known=False)
    assert (len(whole[0]), len(free[0])) == (100, 60)
    known = {row.tobytes() for row in views[0].whitened[order[:40]]}
    assert not known & {row.tobytes() for row in free[0]}


def test_a_matching_that_is_there_is_refined():
    X, Y, order = shuffled_pair(200)
    one, other = search_view(X), search_view(Y)
    truth = true_cross(one.whitened, other.whitened, order)
    moved = np.where(np.arange(200) < 100, order, rng().permutation(order))
    half = one.whitened[moved].T @ other.whitened / 200
    search = PairSearch(one, other, QUICK, Cores())
    cross, value = search.refine(half, search.all_rows, rng())
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
        fit, _ = search(copies, copies[::-1])
        assert fit.trust < 0.5
