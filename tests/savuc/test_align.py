"""``align`` as a user meets it."""

import json

import numpy as np
import pytest
from conftest import ROOT
from scipy import sparse

from unaligned import SAVuC, align
from unaligned.alignment import Alignment
from unaligned.datasets import load, load_digits_views, unalign
from unaligned.known_pairs import check_aligned
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    instance_alignment_rate,
)
from unaligned.savuc.align import told_through
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.groups import alone, known_between, merge
from unaligned.savuc.joint import compare, judge
from unaligned.savuc.pairs_of_views import PairFit
from unaligned.savuc.row_matching import Matching
from unaligned.savuc.trust import agreement, trust_in
from unaligned.views import check_views


@pytest.fixture(scope="module")
def digits():
    data = load_digits_views()
    chosen = np.arange(400)
    return [data.Xs[i][chosen] for i in (0, 1, 3)], data.y[chosen]


def exact(alignment, shuffled, i):
    t = alignment.template
    return instance_alignment_rate(
        shuffled.order[i], shuffled.order[t], alignment.permutations[i]
    )


def test_three_views_of_the_digits_without_a_single_known_pair(digits):
    shuffled = unalign(*digits, random_state=0)
    found = align(shuffled.Xs, effort="quick", random_state=0)
    trusted = [i for i in range(3) if found.trust[i] > 0.5 and i != found.template]
    assert trusted
    for i in trusted:
        assert exact(found, shuffled, i) > 0.9
        assert np.mean(found.permutations[i] >= 0) == 1


def test_views_that_have_nothing_to_do_with_each_other_are_refused(digits):
    (pixels, *_), _ = digits
    rng = np.random.RandomState(0)
    shuffled_columns = np.column_stack([rng.permutation(c) for c in pixels.T])
    found = align([pixels, shuffled_columns], effort="quick", random_state=0)
    assert found.trust[1] < 0.5
    assert (found.permutations[1] == -1).all()
    assert (found.confidence[1] == 0).all()
    assert found.trust[found.template] == 1


def test_known_pairs_are_kept_and_help(digits):
    Xs, y = digits
    shuffled = unalign([Xs[0], Xs[1]], y, 0.3, random_state=1)
    p = shuffled.n_aligned
    found = align(shuffled.Xs, aligned=p, effort="quick", random_state=0)
    other = 1 - found.template
    np.testing.assert_array_equal(found.permutations[other][:p], np.arange(p))
    np.testing.assert_array_equal(found.confidence[other][:p], np.ones(p))
    assert exact(found, shuffled, other) > 0.8


def test_more_known_pairs_never_make_it_worse(digits):
    Xs, y = digits
    rates = []
    for ratio in (0, 0.01, 0.1, 0.5, 1):
        shuffled = unalign([Xs[0], Xs[2]], y, ratio, random_state=0)
        p = shuffled.n_aligned
        found = align(shuffled.Xs, aligned=p or None, effort="quick", random_state=0)
        rates.append(exact(found, shuffled, 1 - found.template))
    assert (np.diff(rates) > -0.01).all()
    assert rates[-1] == 1


def test_known_pairs_are_kept_where_a_view_is_refused(digits):
    (pixels, *_), _ = digits
    noise = np.random.RandomState(0).normal(size=(400, 20))
    known = {(0, 1): [(3, 5), (7, 1)]}
    for fit in (
        lambda Xs: align(Xs, aligned=known, effort="quick", random_state=0),
        lambda Xs: (
            SAVuC(3, effort="quick", random_state=0).fit(Xs, aligned=known).alignment_
        ),
    ):
        found = fit([pixels, noise])
        other = 1 - found.template
        assert found.trust[other] < 0.1
        assert sorted(map(tuple, found.pairs(0, 1))) == [(3, 5), (7, 1)]
        assert found.confidence[other].sum() == 2


def test_everything_known_is_everything_found(digits):
    Xs, _ = digits
    found = align(Xs[:2], aligned="all", effort="quick", random_state=0)
    for rows in found.permutations:
        np.testing.assert_array_equal(rows, np.arange(400))


def test_views_of_different_length(digits):
    Xs, y = digits
    shuffled = unalign([Xs[0], Xs[2]], y, random_state=0)
    found = align(
        [shuffled.Xs[0], shuffled.Xs[1][:330]], effort="quick", random_state=0
    )
    t, other = found.template, 1 - found.template
    matched = found.permutations[other][found.permutations[other] >= 0]
    assert len(found.permutations[other]) == (400, 330)[t]
    assert found.trust[other] > 0.5
    assert len(np.unique(matched)) == len(matched) == 330


def test_sparse_and_named_views_and_a_single_one(digits):
    Xs, y = digits
    shuffled = unalign([Xs[0], Xs[2]], y, random_state=0)
    named = {"a": sparse.csr_array(shuffled.Xs[0]), "b": shuffled.Xs[1]}
    found = align(named, effort="quick", random_state=0)
    assert found.view_names == ["a", "b"]
    assert found.trust[1] > 0.5
    alone_view = align(Xs[0])
    np.testing.assert_array_equal(alone_view.permutations[0], np.arange(400))


def test_the_same_seed_gives_the_same_alignment_and_lines_tell_of_it(digits, capsys):
    Xs = [X[:150] for X in digits[0][:2]]
    one = align(Xs, effort="quick", random_state=3, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[align] views 0 and 1: best score ")
    other = align(Xs, effort="quick", random_state=3)
    np.testing.assert_array_equal(one.permutations[1], other.permutations[1])
    np.testing.assert_array_equal(one.trust, other.trust)


def test_a_time_limit_ends_the_search_after_the_first_pair(digits, capsys):
    Xs = [X[:100] for X in digits[0]]
    align(Xs, effort="quick", time_limit=1e-9, random_state=0, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_handful_of_rows_is_no_reason_to_fail(n):
    rng = np.random.RandomState(0)
    found = align([rng.normal(size=(n, 3)), rng.normal(size=(n, 1))], random_state=0)
    assert found.trust.min() >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effort": "lazy"}, "'effort' .*'quick'.* Got 'lazy'"),
        ({"time_limit": 0}, "'time_limit' .* Got 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        align([np.eye(3), np.eye(3)], **arguments)


def test_trust_grows_with_the_gain_and_asks_more_of_few_rows():
    gains = np.linspace(-0.1, 0.5, 30)
    for n in (100, 500, 5000):
        trust = [trust_in(gain, n) for gain in gains]
        assert (np.diff(trust) >= 0).all()
        assert trust[0] < 0.01
        assert trust[-1] > 0.99
    assert trust_in(0.115, 400) > 0.5 > trust_in(0.115, 200)


def test_an_unclear_gain_needs_a_second_search_that_agrees():
    draw = np.random.RandomState(0)
    cross = draw.normal(size=(50, 50))
    unclear = PairFit(cross, 1.15, 1.0)
    like_it = PairFit(cross + 0.5 * draw.normal(size=(50, 50)), 1.1, 1.0)
    unlike_it = PairFit(draw.normal(size=(50, 50)), 1.14, 1.0)
    assert judge([unclear], 2000) == (unclear, pytest.approx(0.3), False, None)
    assert judge([unlike_it, unclear], 2000).trust == pytest.approx(0.3)
    verdict = judge([like_it, unclear, unlike_it], 2000)
    assert verdict.best is unclear
    assert verdict.witness is like_it
    assert verdict.trust > 0.9
    clear = judge([unclear._replace(score=1.3), like_it], 2000)
    assert clear.trust > 0.99
    assert clear.witness is None


def test_searches_that_have_little_in_common_must_be_three():
    draw = np.random.RandomState(0)
    classes = draw.normal(size=(50, 50))
    noise = 1.2 * draw.normal(size=(3, 50, 50))
    best, *others = [PairFit(classes + part, 1.15, 1.0) for part in noise]
    assert 0.3 < agreement(best.cross, others[0].cross) < 0.5
    assert judge([best, others[0]], 2000).trust == pytest.approx(0.3)
    assert judge([best, *others], 2000).trust > 0.9
    stranger = PairFit(draw.normal(size=(50, 50)), 1.15, 1.0)
    assert judge([best, others[0], stranger], 2000).trust == pytest.approx(0.3)


def test_no_recorded_pair_is_trusted_without_reason():
    from benchmarks.trust import trust_of

    # What benchmarks/trust.py measured: the constants of trust must go with it.
    lines = (ROOT / "benchmarks" / "results" / "trust.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    unrelated = [r for r in results if r["kind"] in ("cross", "columns")]
    assert len(unrelated) >= 75
    assert not [r for r in unrelated if trust_of(r) >= 0.5]
    for r in results:
        if r["kind"] == "true" and trust_of(r) >= 0.5:
            assert r["same class"] >= 3 * r["chance"]
        if r.get("same object", 0) > 0.5:
            assert trust_of(r) > 0.5


def test_pairs_known_between_members_hold_between_groups():
    rng = np.random.RandomState(0)
    Xs = [rng.normal(size=(20, 4)) for _ in range(3)]
    geometries = [read_geometry(X, rng) for X in Xs]
    order = rng.permutation(20)
    group = merge(
        alone(0, geometries[0]),
        alone(1, geometries[1]),
        order,
        np.ones(20),
        1.0,
        geometries,
    )
    pairs = check_aligned({(1, 2): [(7, 3), (9, 4)]}, check_views(Xs))
    left, right = known_between(group, alone(2, geometries[2]), pairs)
    # Row 7 of view 1 stands beside the row of view 0 that it was matched to.
    np.testing.assert_array_equal(order[left], [7, 9])
    np.testing.assert_array_equal(right, [3, 4])


def test_reuters_in_five_languages(shared):
    reuters = load("Reuters-1200", shared)
    shuffled = unalign(reuters.Xs[:3], reuters.y, random_state=0)
    found = align(shuffled.Xs, random_state=0)
    assert (found.trust > 0.9).all()
    t = found.template
    for i in range(3):
        y_i, y_t = shuffled.ys[i], shuffled.ys[t]
        assert category_alignment_rate(y_i, y_t, found.permutations[i]) > 0.98
        assert category_alignment_chance(y_i, y_t) < 0.2
        assert exact(found, shuffled, i) > 0.95


def test_matches_that_a_second_search_does_not_repeat_are_doubted():
    found = Matching(np.array([0, 1, 2, 3]), np.full(4, 0.8))
    again = Matching(np.array([0, 2, 1, 3]), np.full(4, 0.8))
    sure = compare(found, again).confidence
    np.testing.assert_allclose(sure, [0.8, 0.4, 0.4, 0.8])


def test_views_without_any_spread_are_refused_in_silence():
    X = np.random.RandomState(0).normal(size=(60, 5))
    for other in (np.ones((60, 4)), np.repeat(X[:1], 60, axis=0), X[:, :1] > 0):
        found = align([X, other.astype(float)], effort="quick", random_state=0)
        assert found.trust[1] < 0.5


def test_known_pairs_tie_views_that_say_nothing():
    X = np.random.RandomState(0).normal(size=(20, 5))
    nothing = np.ones((20, 3))
    found = align([X, nothing, X[:, :2]], aligned="all", effort="quick", random_state=0)
    for rows in found.permutations:
        np.testing.assert_array_equal(rows, np.arange(20))


def test_a_view_of_one_row_is_named():
    X = np.random.RandomState(0).normal(size=(60, 5))
    with pytest.raises(ValueError, match="view 'b' has n_samples=1"):
        align({"a": X, "b": X[:1]})


@pytest.fixture(scope="module")
def two_groups(digits):
    """Two views of the digits, and two of something else."""
    (pixels, _, profiles), _ = digits
    rng = np.random.RandomState(0)
    kind = rng.choice(5, 350, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    latent = 2 * rng.normal(size=(5, 10))[kind] + rng.gamma(0.5, size=(350, 10))
    measured = [latent @ rng.normal(size=(10, d)) for d in (12, 15)]
    order = rng.permutation(400), rng.permutation(350)
    Xs = [pixels, measured[0], profiles[order[0]], measured[1][order[1]]]
    return Xs, order


def test_views_that_belong_together_apart_from_the_largest_group(two_groups):
    Xs, order = two_groups
    found = align(Xs, effort="quick", random_state=0)
    assert (found.template, found.trusted()) == (0, [0, 2])
    (apart,) = found.others
    assert (apart.template, apart.trusted()) == (1, [1, 3])
    assert not apart.others
    assert (found.permutations[3] == -1).all()
    for (i, j), moved in zip(((0, 2), (1, 3)), order, strict=True):
        pairs = found.pairs(i, j)
        assert np.mean(moved[pairs[:, 1]] == pairs[:, 0]) > 0.9
        np.testing.assert_array_equal(found.trusted_pairs()[i, j], pairs)
    assert "apart from it: views 1, 3" in repr(found)
    assert "rows of view 1" in found._repr_html_()


def test_views_that_belong_together_are_labelled_together(two_groups):
    model = SAVuC(5, effort="quick", random_state=0).fit(two_groups[0])
    assert model.fused_views_ == (0, 2)
    (apart,) = model.alignment_.others
    one, other = apart.pairs(1, 3)[apart.confidence[3] > 0.1].T
    labels = model.view_labels_
    np.testing.assert_array_equal(labels[1][one], labels[3][other])
    assert len(one) > 300


@pytest.mark.parametrize("seed", range(5))
def test_an_alignment_is_the_same_through_another_view(seed):
    rng = np.random.RandomState(seed)
    sizes = [9, 8, 7, 6]
    views = check_views([rng.normal(size=(n, 2)) for n in sizes])
    rows = [np.arange(9)]
    for n in sizes[1:]:
        matched = rng.permutation(np.r_[rng.permutation(n), -np.ones(9 - n, int)])
        rows.append(matched)
    # Row 0 of view 1 is known to be row 3 of view 2, whoever was beside them.
    known = check_aligned({(1, 2): [(0, 3)]}, views)
    sure = [np.where(at >= 0, rng.uniform(size=9), 0.0) for at in rows]
    sure[0][:] = 1
    trust = np.array([1, 0.9, 0.7, 0.2])
    found = Alignment(0, rows, sure, trust, views.names)
    told = told_through(1, found, views, known)
    assert told.template == 1
    np.testing.assert_array_equal(told.trust, [0.9, 1, 0.7, 0.2])
    assert [len(at) for at in told.permutations] == [8] * 4
    assert (told.permutations[3] == -1).all()  # it is not trusted
    assert told.permutations[2][0] == 3
    assert told.confidence[2][0] == 1
    before = {tuple(pair) for pair in found.pairs(1, 2) if pair[0] != 0}
    before -= {pair for pair in before if pair[1] == 3}
    assert {tuple(pair) for pair in told.pairs(1, 2)} == before | {(0, 3)}
    assert {tuple(pair) for pair in told.pairs(0, 1)} == {
        tuple(pair) for pair in found.pairs(0, 1)
    }
    for at, old in enumerate(told.permutations[0]):
        if old >= 0:
            assert told.confidence[0][at] == sure[1][old]
