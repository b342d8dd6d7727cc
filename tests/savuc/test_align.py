"""``align`` as a user meets it."""

import numpy as np
import pytest
from related_views import (
    FEW_RIVALS,
    QUICK,
    measured_views,
    shuffled_columns,
    shuffled_pair,
)
from scipy import sparse

from unaligned import align
from unaligned.alignment import TRUSTED
from unaligned.datasets import load, load_digits_views, unalign
from unaligned.known_pairs import check_aligned
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    instance_alignment_rate,
)
from unaligned.savuc.align import as_alignment, memory_need, only_known
from unaligned.savuc.groups import Group
from unaligned.views import check_views


@pytest.fixture(scope="module")
def digits():
    data = load_digits_views()
    chosen = np.arange(250)
    return [data.Xs[i][chosen] for i in (0, 1, 3)], data.y[chosen]


def quick(Xs, **options):
    return align(Xs, **{"effort": FEW_RIVALS, "random_state": 0, **options})


def exact(alignment, shuffled, i):
    t = alignment.template
    return instance_alignment_rate(
        shuffled.order[i], shuffled.order[t], alignment.permutations[i]
    )


def test_views_of_the_digits_without_a_single_known_pair(digits):
    shuffled = unalign(*digits, random_state=0)
    found = quick(shuffled.Xs)
    assert found.template == 0
    others = [i for i in found.matched() if i != found.template]
    assert others
    for i in others:
        assert exact(found, shuffled, i) > 0.9
        assert np.mean(found.permutations[i] >= 0) == 1
        assert found.verdict[i] == "objects"
        assert found.trust[i] >= TRUSTED
    assert found.basis == ["structure"] * 3
    np.testing.assert_array_equal(found.known, [1, 0, 0])


def test_views_that_have_nothing_to_do_with_each_other_are_refused():
    X, Y, _ = shuffled_pair(150)
    found = quick([X, shuffled_columns(Y)])
    assert found.verdict == ["objects", "none"]
    assert found.trust[1] < TRUSTED
    assert (found.permutations[1] == -1).all()
    assert (found.confidence[1] == 0).all()
    assert found.trust[found.template] == 1
    assert found.others == []


def test_known_pairs_are_kept_and_help(digits):
    Xs, y = digits
    shuffled = unalign([Xs[0], Xs[1]], y, 0.3, random_state=1)
    p = shuffled.n_aligned
    found = quick(shuffled.Xs, aligned=p)
    other = 1 - found.template
    np.testing.assert_array_equal(found.permutations[other][:p], np.arange(p))
    np.testing.assert_array_equal(found.confidence[other][:p], np.ones(p))
    assert found.known[other] == pytest.approx(p / 250)
    assert exact(found, shuffled, other) > 0.8


def test_more_known_pairs_do_not_make_it_worse(digits):
    Xs, y = digits
    rates = []
    for ratio in (0, 0.2, 1):
        shuffled = unalign([Xs[0], Xs[2]], y, ratio, random_state=0)
        found = quick(shuffled.Xs, aligned=shuffled.n_aligned or None)
        rates.append(exact(found, shuffled, 1 - found.template))
    # Two standard errors of a rate of 0.98 among 250 rows.
    assert (np.diff(rates) > -0.018).all()
    assert rates[-1] == 1


def test_known_pairs_are_kept_where_a_view_is_refused():
    X, _, _ = shuffled_pair(120)
    noise = np.random.RandomState(0).normal(size=(120, 22))
    known = {(0, 1): [(3, 5), (7, 1)]}
    found = quick([X, noise], aligned=known, effort=QUICK)  # few rows need all rivals
    other = 1 - found.template
    assert found.verdict[other] == "none"
    assert sorted(map(tuple, found.pairs(0, 1))) == [(3, 5), (7, 1)]
    assert found.confidence[other].sum() == 2
    assert found.known[other] == pytest.approx(2 / 120)


def test_everything_known_is_everything_found():
    X, Y, _ = shuffled_pair(100)
    found = quick([X, Y], aligned="all")
    for rows in found.permutations:
        np.testing.assert_array_equal(rows, np.arange(100))
    np.testing.assert_array_equal(found.trust, [1, 1])
    np.testing.assert_array_equal(found.known, [1, 1])
    assert found.basis == ["structure", "known pairs"]


@pytest.mark.parametrize("first", [0, 1])
def test_views_of_different_length(first):
    X, Y, order = shuffled_pair(200)
    Xs = [X, Y[:150]] if first == 0 else [Y[:150], X]
    found = quick(Xs)
    rows = found.permutations[1]
    assert len(rows) == (200, 150)[first]
    assert found.trust[1] > TRUSTED
    assert (rows >= 0).sum() == len(np.unique(rows[rows >= 0])) == 150
    there = np.flatnonzero(rows >= 0)
    right = order[rows[there]] == there if first == 0 else order[:150] == rows
    assert right.mean() > 0.85


@pytest.mark.parametrize("kind", [sparse.csr_array, np.float32])
def test_named_views_of_any_kind(kind):
    X, Y, order = shuffled_pair(150)
    found = quick({"a": kind(X), "b": kind(Y)})
    assert found.view_names == ["a", "b"]
    assert found.trust[1] > TRUSTED
    assert np.mean(order[found.permutations[1]] == np.arange(150)) > 0.9


def test_a_single_view_is_its_own_template():
    found = align(shuffled_pair(50)[0])
    np.testing.assert_array_equal(found.permutations[0], np.arange(50))
    assert found.verdict == ["objects"]


def test_the_same_seed_gives_the_same_alignment_and_lines_say_what_is_done(capsys):
    X, Y, _ = shuffled_pair(100)
    one = quick([X, Y], random_state=3, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[align] reading 2 views"
    assert lines[1].startswith("[align] views 0 and 1: searching")
    assert "trust" in lines[-2]
    other = quick([X, Y], random_state=3)
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(one.permutations[1], other.permutations[1])
    np.testing.assert_array_equal(one.confidence[1], other.confidence[1])
    np.testing.assert_array_equal(one.trust, other.trust)


def test_settings_of_ones_own_are_an_effort():
    X, Y, _ = shuffled_pair(100)
    one, other = (quick([X, Y], effort=effort) for effort in (QUICK, "quick"))
    np.testing.assert_array_equal(one.permutations[1], other.permutations[1])


def test_a_time_limit_that_is_over_leaves_views_unmatched(capsys):
    Xs = measured_views(60, (24,) * 3)
    found = quick(Xs, time_limit=1e-9, verbose=1)
    assert found.verdict == ["objects", "none", "none"]
    assert "searching" not in capsys.readouterr().out
    known = quick(Xs, aligned=10, time_limit=1e-9)
    np.testing.assert_array_equal(known.pairs(0, 2), np.arange(10)[:, None] * [1, 1])


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_handful_of_rows_is_no_reason_to_fail(n):
    rng = np.random.RandomState(0)
    for width in (1, 6):
        found = quick([rng.normal(size=(n, 6)), rng.normal(size=(n, width))])
        assert found.verdict[1] == "none"
        assert (found.trust >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effort": "lazy"}, r"'effort' .*'quick'.* Got 'lazy'"),
        ({"time_limit": 0}, r"'time_limit' .* Got 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        align([np.eye(3), np.eye(3)], **arguments)


def test_reuters_in_two_languages(shared):
    reuters = load("Reuters-1200", shared)
    shuffled = unalign(reuters.Xs[:2], reuters.y, random_state=0)
    found = quick(shuffled.Xs)
    assert (found.trust > 0.9).all()
    t = found.template
    for i in range(2):
        y_i, y_t = shuffled.ys[i], shuffled.ys[t]
        assert category_alignment_rate(y_i, y_t, found.permutations[i]) > 0.9
        assert category_alignment_chance(y_i, y_t) < 0.2
        assert exact(found, shuffled, i) > 0.9


def test_views_without_any_spread_are_refused_in_silence():
    X, _, _ = shuffled_pair(60)
    for other in (np.ones((60, 6)), np.repeat(X[:1], 60, axis=0), X[:, :1] > 0):
        found = quick([X, other.astype(float)])
        assert found.verdict[1] == "none"
        assert found.trust[1] < TRUSTED


def test_copies_of_few_rows_are_refused():
    X, Y, _ = shuffled_pair(100)
    copies = np.arange(100) % 5
    assert quick([X[copies], Y[copies]]).verdict[1] == "none"


def test_known_pairs_tie_views_that_say_nothing():
    X = np.random.RandomState(0).normal(size=(20, 5))
    nothing = np.ones((20, 3))
    found = quick([X, nothing, X[:, :2]], aligned="all")
    for rows in found.permutations:
        np.testing.assert_array_equal(rows, np.arange(20))


def test_a_view_of_one_row_is_named():
    X = np.random.RandomState(0).normal(size=(60, 5))
    with pytest.raises(ValueError, match="view 'b' has n_samples=1"):
        align({"a": X, "b": X[:1]})


def test_views_that_belong_together_apart_from_the_largest_group():
    one, other, order = shuffled_pair(110)
    X, Y, moved = shuffled_pair(100, seed=5)
    # Of a hundred rows chance finds much, and four rivals are too few to show it.
    found = quick([one, X, other, Y], effort=QUICK)
    assert (found.template, found.trusted()) == (0, [0, 2])
    assert found.verdict == ["objects", "none", "objects", "none"]
    (apart,) = found.others
    assert (apart.template, apart.trusted()) == (1, [1, 3])
    assert not apart.others
    assert (found.permutations[3] == -1).all()
    for (i, j), objects in (((0, 2), order), ((1, 3), moved)):
        pairs = found.pairs(i, j)
        assert np.mean(objects[pairs[:, 1]] == pairs[:, 0]) > 0.9
        np.testing.assert_array_equal(found.trusted_pairs()[i, j], pairs)
    assert "views 1, 3" in repr(found)


def views_of(*sizes):
    return check_views([np.random.RandomState(n).normal(size=(n, 2)) for n in sizes])


def test_only_known_pairs_are_an_alignment():
    views = views_of(5, 4, 6)
    pairs = check_aligned({(0, 1): [(1, 3), (4, 0)], (1, 2): [(3, 5)]}, views)
    found = only_known(0, np.array([0.3, 0.2, 0.1]), views, pairs)
    np.testing.assert_array_equal(found.permutations[0], np.arange(5))
    np.testing.assert_array_equal(found.permutations[1], [-1, 3, -1, -1, 0])
    np.testing.assert_array_equal(found.permutations[2], [-1, 5, -1, -1, -1])
    for rows, sure in zip(found.permutations, found.confidence, strict=True):
        np.testing.assert_array_equal(sure, rows >= 0)
    np.testing.assert_array_equal(found.trust, [1, 0.2, 0.1])
    np.testing.assert_allclose(found.known, [1, 0.4, 0.2])
    assert found.verdict == ["objects", "none", "none"]


def test_a_group_is_an_alignment_and_other_views_are_refused():
    views = views_of(4, 4, 4, 4)
    pairs = check_aligned({(1, 0): [(2, 2)]}, views)
    rows = {1: np.arange(4), 2: np.array([3, -1, 0, 1]), 3: np.full(4, -1)}
    sure = {1: np.ones(4), 2: np.array([0.5, 0, 0.4, 0.3]), 3: np.zeros(4)}
    group = Group((1, 2, 3), rows, sure, {1: 1.0, 2: 0.8, 3: 0.7}, None)
    found = as_alignment(group, np.array([0.9, 0.8, 0.8, 0.7]), views, pairs)
    assert found.template == 1
    assert found.verdict == ["none", "objects", "objects", "none"]
    np.testing.assert_array_equal(found.permutations[2], rows[2])
    np.testing.assert_array_equal(found.confidence[2], sure[2])
    np.testing.assert_array_equal(found.permutations[0], [-1, -1, 2, -1])
    # Trust that was no reason to match a view stays below what is trusted.
    assert found.trust[0] == pytest.approx(TRUSTED)
    assert found.trust[0] < TRUSTED
    np.testing.assert_array_equal(found.trust[1:], [1, 0.8, 0])
    assert found.trusted() == found.matched() == [1, 2]


def test_memory_grows_with_rows_and_columns():
    needs = [
        memory_need(check_views([np.zeros(shape), np.zeros((50, 5))]))
        for shape in ((100, 20), (1000, 20), (1000, 500), (1000, 5000))
    ]
    assert needs == sorted(needs)
    wide = sparse.csr_array((1000, 50_000))
    assert memory_need(check_views([wide], accept_sparse=True)) < 8 * 1000 * 50_000
