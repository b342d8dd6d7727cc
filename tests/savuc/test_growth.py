from copy import deepcopy
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from related_views import (
    FEW_RIVALS,
    QUICK,
    measured_views,
    search_view,
    shuffled_columns,
)

from unaligned.alignment import TRUSTED
from unaligned.checkpoints import Milestone
from unaligned.deadline import NEVER, Deadline
from unaligned.kernels.devices import result_of
from unaligned.known_pairs import check_aligned
from unaligned.progress import Pace
from unaligned.savuc import growth
from unaligned.savuc.groups import Group, alone, join_views
from unaligned.savuc.growth import (
    SHARE_OF_SEARCH,
    Problem,
    State,
    complete_groups,
    first_state,
    grow_groups,
    n_searches_left,
    next_pair,
    plain_state,
    restore_state,
)
from unaligned.views import check_views


def rng(seed=0):
    return np.random.RandomState(seed)


def problem_of(Xs, aligned=None, settings=QUICK, **options):
    views = check_views(Xs)
    return Problem(views, check_aligned(aligned, views), settings, **options)


def made_state(*members):
    """A state of groups that are nothing but their views."""
    groups = [Group(views, {}, {}, {}, None) for views in members]
    n_views = sum(map(len, members))
    return State(groups, rng(), best=np.zeros(n_views))


def run_through(state):
    """Pairs of views in their order, where no search is ever trusted."""
    while (pair := next_pair(state)) is not None:
        state.tried.append((pair[0].views, pair[1].views))
        assert len(state.tried) < 100
    return state.tried


def test_a_view_has_two_rows_at_least():
    X = rng().normal(size=(30, 5))
    assert problem_of([X, X[:2]]).verbose == 0
    with pytest.raises(ValueError, match="n_samples=1"):
        problem_of([X, X[:1]])


def test_every_pair_is_searched_once():
    found = run_through(made_state((0,), (1,), (2,), (3,)))
    pairs = [(one[0], other[0]) for one, other in found]
    assert sorted(pairs) == list(combinations(range(4), 2))
    assert pairs[0] == (0, 1)


def test_large_groups_come_first():
    found = run_through(made_state((0,), (2,), (1, 3, 4), (5, 6)))
    assert found[0] == ((1, 3, 4), (5, 6))
    assert found[1] == ((1, 3, 4), (0,))
    assert len(found) == 6
    assert found[-1] == ((0,), (2,))


def test_nothing_is_left_of_one_group():
    assert next_pair(made_state((0, 1, 2))) is None


def test_a_pair_of_groups_is_searched_anew_when_one_has_grown():
    state = made_state((0,), (1,), (2,))
    state.tried = [((0,), (1,)), ((0,), (2,)), ((1,), (2,))]
    state.groups = [Group((0, 1), {}, {}, {}, None), state.groups[2]]
    assert [group.views for group in next_pair(state)] == [(0, 1), (2,)]


@pytest.fixture(scope="module")
def views():
    return [search_view(X) for X in measured_views(60, (24, 30, 26))]


def test_a_state_comes_back_from_what_is_plain(views):
    rows = {0: np.arange(60), 2: rng().permutation(60)}
    sure = {i: rng(i).uniform(size=60) for i in rows}
    joined = join_views((0, 2), rows, views, QUICK)
    group = Group((0, 2), rows, sure, {0: 1.0, 2: 0.8}, joined)
    state = State(
        [alone(1, views[1]), group],
        rng(5),
        [((0,), (1,)), ((0,), (2,)), ((0, 2), (1,))],
        np.array([0.8, 0.3, 0.8]),
    )

    def as_lists(value):
        """Files know no tuples."""
        if isinstance(value, list | tuple):
            return [as_lists(part) for part in value]
        return value

    plain = plain_state(state)
    read = {
        name: part if name == "groups" else as_lists(part)
        for name, part in plain.items()
    }
    again = restore_state(read, views, QUICK)
    assert again.tried == state.tried
    assert again.rng is state.rng
    np.testing.assert_array_equal(again.best, state.best)
    assert [g.views for g in again.groups] == [(1,), (0, 2)]
    for ours, theirs in zip(again.groups, state.groups, strict=True):
        whitened = ours.search_view.whitened, theirs.search_view.whitened
        np.testing.assert_array_equal(*whitened)
        for i in theirs.views:
            np.testing.assert_array_equal(ours.rows[i], theirs.rows[i])
            np.testing.assert_array_equal(ours.confidence[i], theirs.confidence[i])
    assert next_pair(again) is next_pair(state) is None


def test_first_every_view_is_a_group_of_its_own(views):
    state = first_state(views, rng())
    assert [group.views for group in state.groups] == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(state.best, np.zeros(3))


def shuffled_three(n=120):
    one, other, third = measured_views(n, (24, 30, 26))
    orders = [rng(i).permutation(n) for i in range(2)]
    unrelated = shuffled_columns(third)
    return [one, unrelated, other[orders[0]], third[orders[1]]], orders


def test_groups_grow_of_what_belongs_together():
    Xs, orders = shuffled_three()
    problem = problem_of(Xs, settings=FEW_RIVALS)
    steps = grow_groups(problem, rng())
    milestones = []
    while True:
        try:
            milestones.append(next(steps))
        except StopIteration as end:
            grown = end.value
            break
    assert all(isinstance(milestone, Milestone) for milestone in milestones)
    assert 3 <= len(milestones) <= 8
    assert [{*group.views} for group in grown.groups] == [{0, 2, 3}, {1}]
    group = grown.groups[0]
    rows = {i: group.rows[i] for i in group.views}
    for i, order in ((2, orders[0]), (3, orders[1])):
        assert np.mean(order[rows[i]] == rows[0]) > 0.9
    assert grown.best[1] < TRUSTED
    assert (grown.best[[0, 2, 3]] >= TRUSTED).all()
    assert [len(geometry.points) for geometry in grown.geometries] == [120] * 4


def test_growth_goes_on_from_every_milestone_to_the_same_end():
    Xs, _ = shuffled_three(60)
    problem = problem_of(Xs, settings=replace(FEW_RIVALS, n_sketched=40))
    expected = result_of(grow_groups(problem, rng(4)))
    milestones = [deepcopy(m.state) for m in grow_groups(problem, rng(4))]
    assert len(milestones) > 2
    for reached in milestones:
        again = result_of(grow_groups(problem, reached["rng"], reached))
        np.testing.assert_array_equal(again.best, expected.best)
        for ours, theirs in zip(again.groups, expected.groups, strict=True):
            assert ours.views == theirs.views
            for i in ours.views:
                np.testing.assert_array_equal(ours.rows[i], theirs.rows[i])
                np.testing.assert_array_equal(ours.confidence[i], theirs.confidence[i])


@pytest.mark.parametrize("n_pairs", [0, 1, 2])
def test_a_deadline_ends_the_search(n_pairs, capsys):
    """The time is up after so many pairs, by a clock that counts them."""
    Xs, _ = shuffled_three(60)
    milestones = []
    deadline = Deadline(n_pairs / SHARE_OF_SEARCH, lambda: len(milestones))
    problem = problem_of(Xs, settings=FEW_RIVALS, deadline=deadline, verbose=1)
    for milestone in grow_groups(problem, rng()):
        milestones.append(milestone)
    assert len(milestones) == n_pairs
    lines = capsys.readouterr().out.splitlines()
    searched = [line for line in lines if line.startswith("[align] views")]
    assert len({line.split(":")[0] for line in searched}) == n_pairs


def test_a_pair_that_is_not_finished_in_time_counts_for_nothing():
    Xs, _ = shuffled_three(60)
    calls = []
    deadline = Deadline(6 / SHARE_OF_SEARCH, lambda: calls.append(1) or len(calls))
    grown = result_of(grow_groups(problem_of(Xs, deadline=deadline), rng()))
    assert len(calls) > 6  # in the midst of the first search
    assert {len(group.views) for group in grown.groups} == {1}
    assert (grown.best == 0).all()


def test_a_deadline_that_is_met_changes_nothing():
    Xs = measured_views(60, (24, 30))
    grown = [
        result_of(grow_groups(problem_of(Xs, None, FEW_RIVALS, deadline=at), rng()))
        for at in (Deadline(1e9), NEVER)
    ]
    np.testing.assert_array_equal(*(found.best for found in grown))
    for one, other in zip(*(found.groups for found in grown), strict=True):
        assert one.views == other.views
        for i in one.views:
            np.testing.assert_array_equal(one.rows[i], other.rows[i])


def test_groups_that_cannot_be_completed_in_time_stay_as_they_are(monkeypatch):
    Xs = measured_views(80, (24, 30, 26))
    search_views = [search_view(X) for X in Xs]
    drawn = np.arange(0, 80, 2)
    rows = dict.fromkeys(range(3), drawn)
    joined = join_views((0, 1, 2), rows, search_views, QUICK)
    sure = {i: np.full(40, 0.5) for i in range(3)}
    group = Group((0, 1, 2), rows, sure, dict.fromkeys(range(3), 0.9), joined)
    state = State([group], rng(), best=np.zeros(3))
    (found,) = complete_groups(
        state, problem_of(Xs, deadline=Deadline(0)), search_views
    )
    np.testing.assert_array_equal(found.rows[0], np.arange(80))
    for i in (1, 2):
        np.testing.assert_array_equal(found.rows[i][drawn], drawn)
        assert (found.rows[i][1::2] == -1).all()
        np.testing.assert_array_equal(found.confidence[i], np.tile([0.5, 0], 40))


def test_lines_name_the_views_of_groups(capsys):
    one, other, third = measured_views(100, (24, 30, 26))
    problem = problem_of({"a": one, "b": other, "c": third}, "all", verbose=1)
    (group,) = result_of(grow_groups(problem, rng())).groups
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("[align] views a + b and c: ") for line in lines)
    assert group.trust == {0: 1.0, 1: 1.0, 2: 1.0}
    for rows in group.rows.values():
        np.testing.assert_array_equal(rows, np.arange(100))


@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_searches_that_are_left_are_counted(n_views):
    state = made_state(*((i,) for i in range(n_views)))
    counted = []
    while (pair := next_pair(state)) is not None:
        counted.append(n_searches_left(state))
        state.tried.append((pair[0].views, pair[1].views))
    assert counted == list(range(len(counted), 0, -1))
    assert n_searches_left(state) == 0


@pytest.mark.parametrize(("n_views", "expected"), [(2, 4), (3, 2)])
def test_all_pairs_of_views_share_the_searches(monkeypatch, n_views, expected):
    given, search_pair = [], growth.search_pair

    def spy(one, other, settings, *rest):
        given.append(settings.n_searches)
        return search_pair(one, other, FEW_RIVALS, *rest)

    monkeypatch.setattr(growth, "search_pair", spy)
    Xs, _ = shuffled_three(60)
    settings = replace(FEW_RIVALS, n_searches=4)
    result_of(grow_groups(problem_of(Xs[:n_views], settings=settings), rng()))
    assert set(given) == {expected}


def test_lines_say_the_best_trust_so_far_and_the_time_left(capsys):
    Xs, _ = shuffled_three(60)
    seconds = iter(range(0, 1000, 10))
    problem = problem_of(
        [shuffled_columns(X, i) for i, X in enumerate(Xs)],
        settings=FEW_RIVALS,
        verbose=1,
        pace=Pace(lambda: next(seconds)),
    )
    result_of(grow_groups(problem, rng()))
    lines = capsys.readouterr().out.splitlines()
    searching = [line for line in lines if "searching" in line]
    assert "so far" not in searching[0]
    # Ten seconds a search, of which those of the second are over: of every look.
    n_left = 10 * (len([*combinations(Xs, 2)]) - 1) - 10
    assert f"best trust so far 0.00, about {n_left} s left" in searching[1]


def test_a_view_of_one_row_is_named():
    X = rng().normal(size=(60, 5))
    with pytest.raises(ValueError, match="view 'b' has n_samples=1"):
        problem_of({"a": X, "b": X[:1]})
