import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from related_views import QUICK, measured_views, search_view

from unaligned.kernels.devices import Cores
from unaligned.kernels.scaling import unit_rows
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.savuc import groups as module
from unaligned.savuc.assign import match_rows
from unaligned.savuc.groups import (
    Group,
    alone,
    complete_group,
    join_views,
    known_between,
    match_again,
    merge,
    places_of,
    plain,
    restore,
    thinned,
)
from unaligned.savuc.trust import Evidence, PairFit
from unaligned.views import check_views

EVIDENCE = Evidence(0.5, 0.01)


def rng(seed=0):
    return np.random.RandomState(seed)


@pytest.fixture(scope="module")
def three():
    """Three related views in orders of their own, what is searched, and the orders."""
    Xs = measured_views(150, (24, 30, 26))
    orders = [rng(i).permutation(150) for i in range(3)]
    return [search_view(X[order]) for X, order in zip(Xs, orders, strict=True)], orders


def nothing_known(*sizes):
    return KnownPairs([np.full(n, -1) for n in sizes])


def fit_of(one, other, partner, trust=0.9):
    """The fit whose cross-correlation is that of the partners."""
    there = np.flatnonzero(partner >= 0)
    cross = one.whitened[there].T @ other.whitened[partner[there]] / len(there)
    return PairFit(cross, 1.0, EVIDENCE, 0.5, trust)


def true_partner(orders, i, j):
    return np.argsort(orders[j])[orders[i]]


def merged(three, known=None, trust=0.9):
    views, orders = three
    fit = fit_of(views[0], views[1], true_partner(orders, 0, 1), trust)
    return merge(alone(0, views[0]), alone(1, views[1]), fit, known, views, QUICK)


def test_a_view_alone_is_beside_itself(three):
    group = alone(2, three[0][2])
    assert group.views == (2,)
    assert group.n_rows == 150
    np.testing.assert_array_equal(group.rows[2], np.arange(150))
    np.testing.assert_array_equal(group.confidence[2], np.ones(150))
    assert group.trust == {2: 1.0}


def test_merging_two_views_puts_partners_beside_each_other(three):
    views, orders = three
    group = merged(three, trust=0.7)
    assert group.views == (0, 1)
    assert group.trust == {0: 1.0, 1: 0.7}
    np.testing.assert_array_equal(group.rows[0], np.arange(150))
    assert np.mean(group.rows[1] == true_partner(orders, 0, 1)) > 0.95
    cross = fit_of(views[0], views[1], true_partner(orders, 0, 1)).cross
    matching = match_rows(cross, views[0].whitened, views[1].whitened, QUICK)
    np.testing.assert_array_equal(group.rows[1], matching.partner)
    np.testing.assert_allclose(group.confidence[1], matching.confidence)


def test_merging_groups_composes_what_each_of_them_says(three):
    views, orders = three
    pair, third = merged(three, trust=0.6), alone(2, views[2])
    # Some rows of the group have no partner in its second view.
    pair.rows[1][:20], pair.confidence[1][:20] = -1, 0
    fit = fit_of(third.search_view, pair.search_view, true_partner(orders, 2, 0), 0.8)
    group = merge(third, pair, fit, None, views, QUICK)
    assert group.views == (2, 0, 1)
    assert group.trust == {2: 1.0, 0: 0.8, 1: 0.6}
    rows = third.search_view.whitened, pair.search_view.whitened
    matching = match_rows(fit.cross, *rows, QUICK)
    for j in (0, 1):
        for row, (partner, sure) in enumerate(zip(*matching, strict=True)):
            there = partner >= 0 and pair.rows[j][partner] >= 0
            assert group.rows[j][row] == (pair.rows[j][partner] if there else -1)
            expected = sure * pair.confidence[j][partner] if there else 0
            assert group.confidence[j][row] == pytest.approx(expected)
    assert (group.rows[1] == -1).sum() == 20


def test_rows_of_the_longer_view_have_no_partner(three):
    views, _ = three
    short = search_view(measured_views(150, (24, 30, 26))[1][:90])
    cross = views[0].whitened[:90].T @ short.whitened / 90
    fit = PairFit(cross, 1.0, EVIDENCE, 0.5, 0.9)
    for one, other in ((views[0], short), (short, views[0])):
        turned = fit._replace(cross=cross if one is views[0] else cross.T)
        group = merge(alone(0, one), alone(1, other), turned, None, [one, other], QUICK)
        n = len(one.whitened)
        assert group.n_rows == n
        there = group.rows[1] >= 0
        assert there.sum() == 90
        assert len(np.unique(group.rows[1][there])) == 90
        assert (group.confidence[1][~there] == 0).all()


def test_known_pairs_are_beside_each_other_after_a_merger(three):
    wrong = np.arange(10), np.arange(10)[::-1].copy()
    group = merged(three, wrong)
    np.testing.assert_array_equal(group.rows[1][:10], np.arange(10)[::-1])
    np.testing.assert_array_equal(group.confidence[1][:10], np.ones(10))


def test_a_group_has_principal_coordinates_of_its_members_side_by_side(three):
    views, _ = three
    rows = {0: np.arange(150), 2: rng().permutation(150)}
    rows[2][:30] = -1
    found = join_views((0, 2), rows, views, QUICK).geometry.points
    parts = [unit_rows(views[i].geometry.points) for i in (0, 2)]
    stacked = np.zeros((150, 24 + 26))
    for row in range(150):
        stacked[row, :24] = parts[0][row]
        if rows[2][row] >= 0:
            stacked[row, 24:] = parts[1][rows[2][row]]
    stacked -= stacked.mean(axis=0)
    U, s, _ = np.linalg.svd(stacked, full_matrices=False)
    k = min(QUICK.n_directions, 50)
    expected = U[:, :k] * s[:k]
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-3)
    assert found.dtype == np.float32


def test_a_group_is_restored_to_the_last_bit(three):
    views, _ = three
    for group in (merged(three), alone(1, views[1])):
        again = restore(plain(group), views, QUICK)
        assert again.views == group.views
        assert again.trust == group.trust
        for i in group.views:
            np.testing.assert_array_equal(again.rows[i], group.rows[i])
            np.testing.assert_array_equal(again.confidence[i], group.confidence[i])
        ours, theirs = again.search_view, group.search_view
        np.testing.assert_array_equal(ours.whitened, theirs.whitened)
        for mine, other in zip(ours.sketch, theirs.sketch, strict=True):
            np.testing.assert_array_equal(mine, other)


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            st.permutations(range(n)),
            arrays(bool, n),
            arrays(np.intp, st.integers(0, 9), elements=st.integers(0, 15)),
        )
    )
)
def test_places_are_those_of_brute_force(case):
    order, there, wanted = case
    rows = np.where(there, np.array(order), -1)
    found = places_of(rows, wanted)
    listed = rows.tolist()
    expected = [listed.index(w) if w in listed else -1 for w in wanted]
    np.testing.assert_array_equal(found, expected)


def test_pairs_known_between_members_hold_between_groups(three):
    views, _ = three
    group = merged(three)
    Xs = [np.zeros((150, 1))] * 3
    pairs = check_aligned({(1, 2): [(7, 3), (9, 4)]}, check_views(Xs))
    left, right = known_between(group, alone(2, views[2]), pairs)
    # Row 7 of view 1 stands beside the row of view 0 that it was matched to.
    np.testing.assert_array_equal(group.rows[1][left], [7, 9])
    np.testing.assert_array_equal(right, [3, 4])
    assert known_between(group, alone(2, views[2]), nothing_known(150, 150, 150)) is (
        None
    )


@pytest.mark.parametrize("seed", range(8))
def test_known_pairs_of_groups_are_those_of_a_loop(seed):
    draw = rng(seed)
    groups, n = [], 12
    for views in ((0, 1), (2, 3)):
        rows = {views[0]: np.arange(n), views[1]: draw.permutation(n)}
        rows[views[1]][draw.permutation(n)[:4]] = -1
        groups.append(Group(views, rows, {}, {}, None))
    known = draw.uniform(size=(4, n)) < 0.6
    ids = [np.where(some, draw.permutation(n), -1) for some in known]
    expected = []
    for i in groups[0].views:
        for j in groups[1].views:
            for number in range(n):
                if number in ids[i] and number in ids[j]:
                    row_i = groups[0].rows[i].tolist()
                    row_j = groups[1].rows[j].tolist()
                    one = ids[i].tolist().index(number)
                    other = ids[j].tolist().index(number)
                    if one in row_i and other in row_j:
                        expected.append((row_i.index(one), row_j.index(other)))
    # Of pairs that contradict each other the first wins, on one side, then the other.
    for side in (0, 1):
        seen, kept = set(), []
        for pair in expected:
            if pair[side] not in seen:
                kept.append(pair)
                seen.add(pair[side])
        expected = kept
    found = known_between(*groups, KnownPairs(ids))
    assert list(zip(*found, strict=True)) == expected
    for side in found:
        assert len(np.unique(side)) == len(side) > 0


def test_a_small_group_is_not_thinned(three):
    group = merged(three)
    assert thinned(group, None, three[0], QUICK, rng()) is group


def test_a_large_group_keeps_known_partners_in_half_of_its_sample(three, monkeypatch):
    monkeypatch.setattr(module, "N_THIN", 40)
    group = merged(three)
    known = np.arange(100, 150), np.arange(50)
    thin = thinned(group, known, three[0], QUICK, rng())
    assert thin.n_rows == 40
    base = thin.rows[0]
    assert len(np.unique(base)) == 40
    assert np.isin(base, known[0]).sum() >= 20
    np.testing.assert_array_equal(thin.rows[1], group.rows[1][base])
    np.testing.assert_array_equal(thin.confidence[1], group.confidence[1][base])
    assert len(thinned(group, None, three[0], QUICK, rng()).rows[0]) == 40


def test_a_thinned_group_is_completed_with_all_rows(three, monkeypatch):
    views, orders = three
    monkeypatch.setattr(module, "N_THIN", 60)
    thin = thinned(merged(three), None, views, QUICK, rng())
    pairs = nothing_known(150, 150, 150)
    whole = complete_group(thin, views, pairs, QUICK, rng(), Cores())
    assert whole.n_rows == 150
    np.testing.assert_array_equal(whole.rows[0], np.arange(150))
    assert np.mean(whole.rows[1] == true_partner(orders, 0, 1)) > 0.95


def test_a_completed_group_mends_members_that_were_matched_badly(three):
    views, orders = three
    rows = {i: true_partner(orders, 0, i) for i in range(3)}
    rows[1][:50] = rng().permutation(rows[1][:50])
    sure = {i: np.ones(150) for i in range(3)}
    trust = dict.fromkeys(range(3), 0.9)
    joined = join_views((0, 1, 2), rows, views, QUICK)
    group = Group((0, 1, 2), rows, sure, trust, joined)
    known = np.full(150, -1)
    known[0] = 5
    identities = [known, np.full(150, -1), np.full(150, -1)]
    identities[2][33] = 5  # row 0 of the first view is row 33 of the third, they say
    found = complete_group(group, views, KnownPairs(identities), QUICK, rng(), Cores())
    for i in (1, 2):
        assert np.mean(found.rows[i] == true_partner(orders, 0, i)) > 0.95
        assert len(np.unique(found.rows[i])) == 150
    assert found.rows[2][0] == 33
    assert found.trust == trust
    # Two views, or one, are left as they are.
    pair = merged(three)
    pairs = nothing_known(150, 150, 150)
    assert complete_group(pair, views, pairs, QUICK, rng(), Cores()) is pair
    single = alone(0, views[0])
    assert complete_group(single, views, pairs, QUICK, rng(), Cores()) is single


def test_matching_again_from_few_partners_finds_all(three):
    views, orders = three
    partner = true_partner(orders, 0, 1)
    some = np.where(np.arange(150) < 100, partner, -1)
    found = match_again(views[0], views[1], some, None, QUICK, rng(), Cores())
    assert np.mean(found.partner == partner) > 0.95
    nobody = np.full(150, -1)
    assert match_again(*views[:2], nobody, None, QUICK, rng(), Cores()) is None
    everything = np.arange(150), partner
    found = match_again(*views[:2], partner, everything, QUICK, rng(), Cores())
    np.testing.assert_array_equal(found.partner, partner)
