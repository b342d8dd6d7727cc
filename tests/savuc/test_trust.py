from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from related_views import QUICK, search_view

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc import trust as module
from unaligned.savuc.assign import match_rows
from unaligned.savuc.config import EFFORTS
from unaligned.savuc.refine import cycle, join_rows, refine
from unaligned.savuc.trust import (
    UNTESTED,
    Evidence,
    agreement,
    distinct_pairs,
    excess_over,
    held_out_evidence,
    learn_again,
    trust_in,
    weighted_mean,
)

numbers = st.floats(-10, 10)
evidences = st.builds(Evidence, numbers, st.floats(0, 10))


def linear_maps(n=300, d=20, noise=0.1, seed=0):
    """Two noisy linear maps of the same skewed rows, whitened, in one order."""
    rng = np.random.RandomState(seed)
    latent = rng.gamma(1, size=(n, d))
    turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2)]
    Xs = [latent @ turn + noise * rng.normal(size=(n, d)) for turn in turns]
    return [search_view(X).whitened for X in Xs]


@pytest.fixture(scope="module")
def maps():
    return linear_maps()


def refined_at_random(one, other, seed):
    """A matching of rows that was refined from nothing at all."""
    order = np.random.RandomState(seed).permutation(len(other))
    rows = join_rows(one, other)
    start = cycle(one.T @ other[order] / len(one), rows, QUICK)
    cross, _ = refine(start, lambda _: rows, QUICK)
    return match_rows(cross, one, other, QUICK).partner


def test_a_right_matching_has_evidence(maps):
    rng = np.random.RandomState(0)
    found = held_out_evidence(*maps, np.arange(300), QUICK, rng)
    assert found.lower > 0.1
    assert 0 < found.error < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_matching_has_none_however_refined(maps, seed):
    rng = np.random.RandomState(seed)
    one, other = linear_maps(seed=seed)[0], linear_maps(seed=seed + 50)[1]
    partner = refined_at_random(one, other, seed)
    assert (partner >= 0).sum() > 60
    wrong = held_out_evidence(one, other, partner, QUICK, rng)
    right = held_out_evidence(*maps, np.arange(300), QUICK, rng)
    assert wrong.lower < 0.1  # less what its rivals have
    assert wrong.mean < right.mean / 2


def test_rows_without_partner_and_few_directions(maps):
    one, other = maps
    rng = np.random.RandomState(0)
    partner = np.where(np.arange(300) % 3, np.arange(300), -1)
    assert held_out_evidence(one, other, partner, QUICK, rng).lower > 0.05
    nobody = np.full(300, -1)
    assert held_out_evidence(one, other, nobody, QUICK, rng) == UNTESTED
    few = nobody.copy()
    few[:8] = np.arange(8)
    assert held_out_evidence(one, other, few, QUICK, rng) == UNTESTED
    for width in range(1, module.FEWEST_DIRECTIONS):
        narrow = one[:, :width], other
        for views in (narrow, narrow[::-1]):
            found = held_out_evidence(*views, np.arange(300), QUICK, rng)
            assert found == UNTESTED


def test_the_order_of_the_second_view_makes_no_difference(maps):
    one, other = maps
    order = np.random.RandomState(3).permutation(300)
    partner = np.argsort(order)
    found = held_out_evidence(
        one, other[order], partner, QUICK, np.random.RandomState(0)
    )
    expected = held_out_evidence(
        one, other, np.arange(300), QUICK, np.random.RandomState(0)
    )
    assert found.mean == pytest.approx(expected.mean, rel=1e-4)


def test_rows_that_are_there_twice_count_once(maps):
    one, other = maps
    twice = np.vstack([one, one[:100]]), np.vstack([other, other[:100]])
    rows = distinct_pairs(*twice, np.arange(400))
    np.testing.assert_array_equal(rows, np.arange(300))
    found = held_out_evidence(*twice, np.arange(400), QUICK, np.random.RandomState(0))
    expected = held_out_evidence(*maps, np.arange(300), QUICK, np.random.RandomState(0))
    assert found == expected


def test_candidates_equal_no_row_that_is_tested_and_no_other():
    rng = np.random.RandomState(0)
    rows = rng.randint(3, size=(80, 3)).astype(np.float32)
    tested = rng.permutation(80)[:9]
    found = module.distinct_others(rows, tested)
    assert (np.diff(found) > 0).all()
    every, taken = ({tuple(row) for row in rows[at]} for at in (slice(None), tested))
    left = [tuple(row) for row in rows[found]]
    assert len({*left}) == len(left)
    assert {*left} == every - taken


def test_pairs_that_are_not_tested_are_learned_from(maps, monkeypatch):
    learned, shown = [], []

    def learn(one, other, settings):
        learned.append((one, other))
        return learn_again(one, other, settings)

    def gains(cross, one, other, n_tested, *_):
        shown.append((n_tested, one, other))
        return [(np.arange(n_tested), np.ones(n_tested))]

    monkeypatch.setattr(module, "learn_again", learn)
    monkeypatch.setattr(module, "tested_gains", gains)
    settings = replace(QUICK, n_tested=100, n_refined=150)
    held_out_evidence(*maps, np.arange(300), settings, np.random.RandomState(0))
    assert len(learned) == len(shown) == 5
    names = [{row.tobytes(): i for i, row in enumerate(rows)} for rows in maps]
    tested, always = set(), set(range(300))
    for (one, other), (n_tested, *sides) in zip(learned, shown, strict=True):
        assert len(one) == 80 + 50
        rows, partners = (
            [name[row.tobytes()] for row in side]
            for name, side in zip(names, (one, other), strict=True)
        )
        assert rows == partners
        candidates = {names[0][row.tobytes()] for row in sides[0]}
        fold = {names[0][row.tobytes()] for row in sides[0][:n_tested]}
        # What is tested was not learned from; all rows that are never tested compete.
        assert n_tested == len(fold) == 20
        assert not fold & {*rows}
        assert len(candidates) == 20 + 200
        tested |= fold
        always &= {*rows}
    assert len(tested) == 100
    assert len(always) == 50
    assert not always & tested


@pytest.mark.parametrize(
    ("gains", "n_tested"), [((1, -9, -9, -9), 4), ((-1, 9, 9, 9), 1), ((0, 1, 1, 1), 1)]
)
def test_only_the_first_fold_ends_the_test(gains, n_tested, maps, monkeypatch):
    settings, asked = replace(QUICK, n_folds=4), []

    def told(cross, A, B, n, *_):
        asked.append(n)
        return [(np.arange(n), np.full(n, float(gains[len(asked) - 1])))]

    monkeypatch.setattr(module, "tested_gains", told)
    rng = np.random.RandomState(0)
    found = held_out_evidence(*maps, np.arange(300), settings, rng)
    assert len(asked) == n_tested
    expected = np.repeat(gains[:n_tested], asked)
    assert found.mean == pytest.approx(expected.mean())


def test_distinct_pairs_differ_on_both_sides():
    rng = np.random.RandomState(0)
    one, other = (rng.randint(3, size=(60, 2)).astype(float) for _ in range(2))
    partner = rng.permutation(np.r_[rng.permutation(60)[:50], np.full(10, -1)])
    rows = distinct_pairs(one, other, partner)
    assert (partner[rows] >= 0).all()
    assert (np.diff(rows) > 0).all()
    for values in (one[rows], other[partner[rows]]):
        assert len(np.unique(values, axis=0)) == len(values)


def test_copies_of_few_rows_are_untested(maps):
    few = [X[np.arange(300) % 10] for X in maps]
    found = held_out_evidence(*few, np.arange(300), QUICK, np.random.RandomState(0))
    assert found == UNTESTED


def test_every_part_of_a_split_judges(maps):
    one, other = maps
    cross = one.T @ other / 300
    settings = replace(QUICK, n_splits=3)
    rng = np.random.RandomState(0)
    found = module.tested_gains(cross, one, other, 200, settings, rng)
    assert len(found) == 9
    for tested, gain in found:
        assert len(tested) == len(gain) <= 200
        assert gain.mean() > 0.05


def test_candidates_are_all_rows_that_were_not_learned_from(maps, monkeypatch):
    sizes, tested_gains = [], module.tested_gains

    def spy(cross, one, other, n_tested, *args):
        sizes.append((len(one), len(other), n_tested))
        return tested_gains(cross, one, other, n_tested, *args)

    monkeypatch.setattr(module, "tested_gains", spy)
    settings = replace(QUICK, n_tested=100, n_folds=5, n_splits=1)
    one, other = maps[0], maps[1][:280]
    partner = np.where(np.arange(300) < 280, np.arange(300), -1)
    held_out_evidence(one, other, partner, settings, np.random.RandomState(0))
    # Of 100 rows that are tested, four folds of 20 are learned from.
    assert sizes == [(300 - 80, 280 - 80, 20)] * 5


def test_what_is_learned_again_is_the_truth_where_it_was(maps):
    one, other = maps
    truth = one.T @ other / 300
    assert agreement(learn_again(one, other, QUICK), truth) > 0.9


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 8)), min_size=1, max_size=30)
)
def test_the_weighted_mean_is_that_of_numpy(rows):
    means, counts = (
        np.array(column, dtype=float) for column in zip(*rows, strict=True)
    )
    found = weighted_mean(means * counts, counts)
    if (counts > 0).sum() < module.FEWEST_TESTED:
        assert found == UNTESTED
        return
    expected = np.average(means, weights=counts)
    assert found.mean == pytest.approx(expected, abs=1e-9)
    # By the definition of the error of a weighted mean of independent rows.
    squares = np.sum(counts**2 * (means - expected) ** 2)
    assert found.error == pytest.approx(np.sqrt(squares) / counts.sum(), abs=1e-9)


def test_the_error_of_an_even_mean_is_the_standard_one():
    values = np.random.RandomState(0).normal(size=200)
    found = weighted_mean(2 * values, np.full(200, 2.0))
    assert found.error == pytest.approx(values.std() / np.sqrt(200))


several = st.lists(evidences, min_size=1, max_size=4)


@given(evidences, several)
def test_the_excess_is_over_the_best_rival(evidence, rivals):
    expected = evidence.mean - 3 * evidence.error
    for rival in rivals:
        if rival.mean <= 0:
            continue  # nothing speaks for it
        error = np.sqrt(evidence.error**2 + rival.error**2)  # of a difference
        expected = min(expected, evidence.mean - rival.mean - 3 * error)
    assert excess_over(evidence, rivals) == pytest.approx(expected)


@given(evidences, several, evidences)
def test_a_rival_more_never_helps(evidence, rivals, one_more):
    before = excess_over(evidence, rivals)
    assert excess_over(evidence, [*rivals, one_more]) <= before


@given(evidences, several, *[st.floats(0, 5)] * 2)
def test_more_evidence_and_less_error_never_hurt(evidence, rivals, more, less):
    better = Evidence(evidence.mean + more, max(evidence.error - less, 0))
    assert excess_over(better, rivals) >= excess_over(evidence, rivals)


def test_without_a_rival_the_evidence_alone_counts():
    evidence = Evidence(0.3, 0.01)
    assert excess_over(evidence, []) == pytest.approx(evidence.lower)


@given(numbers, numbers)
def test_trust_grows_with_the_excess(one, other):
    assume(one <= other)
    for settings in EFFORTS.values():
        assert 0 <= trust_in(one, settings) <= trust_in(other, settings) <= 1


@pytest.mark.parametrize("settings", EFFORTS.values())
def test_trust_is_even_at_its_turning_point_and_certain_far_from_it(settings):
    at = settings.turning_point
    assert trust_in(at, settings) == 0.5
    # The odds change by e where the excess changes by the sharpness.
    trust = trust_in(at + settings.sharpness, settings)
    assert trust / (1 - trust) == pytest.approx(np.e)
    assert trust_in(np.inf, settings) == 1
    assert trust_in(-np.inf, settings) == 0


def test_what_is_untested_is_not_trusted():
    excess = excess_over(UNTESTED, [Evidence(0.0, 0.0)])
    assert excess == UNTESTED.lower == -np.inf
    assert trust_in(excess, QUICK) == 0


def test_agreement_is_a_cosine():
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(2, 4, 5))
    expected = unit_rows(one.reshape(1, -1)) @ unit_rows(other.reshape(1, -1)).T
    assert agreement(one, other) == pytest.approx(expected.item())
    assert agreement(one, 3 * one) == pytest.approx(1)
    assert agreement(one, -one) == pytest.approx(-1)
    assert agreement(one, 0 * one) == 0
