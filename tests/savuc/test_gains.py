import numpy as np
import pytest

from unaligned.savuc import gains as module
from unaligned.savuc.gains import gains_of_split, splits_of


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def slow_slope(tables):
    """Least squares of y on x about the means of either, table by table."""
    x = np.concatenate([x - x.mean() for x, _ in tables])
    y = np.concatenate([y - y.mean() for _, y in tables])
    return np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]


def slow_neighbors(X, finding, among, i, n_neighbors):
    """Rows by closeness to row i of their own view, itself left out."""
    order = sorted(among, key=lambda j: -cosine(X[i, finding], X[j, finding]))
    return [j for j in order if j != i][:n_neighbors]


def slow_gains(A, B, finding, n_tested, n_runners_up, among=None):
    """Row by row: partner, runners-up, their likeness, and what closeness explains."""
    among = among or (range(len(A)), range(len(B)))
    cos = np.array([[cosine(a[finding], b[finding]) for b in B] for a in A])

    def beyond(X, i, rows):
        near = slow_neighbors(X, finding, rows, i, n_runners_up)
        return X[i, ~finding] - X[near][:, ~finding].mean(axis=0)

    found, within = {}, []
    candidates = set()
    for i in range(n_tested):
        order = sorted(range(len(B)), key=lambda j: -cos[i, j])
        if np.argmax(cos[:, order[0]]) != i:
            continue
        ranked = order[: n_runners_up + 1]
        seen = beyond(A, i, among[0])
        alike = [cosine(seen, beyond(B, j, among[1])) for j in ranked]
        found[i] = cos[i, ranked], np.array(alike)
        candidates |= {*ranked}
    for X, asked, rows in ((A, found, among[0]), (B, candidates, among[1])):
        for i in asked:
            others = slow_neighbors(X, finding, rows, i, n_runners_up)
            near = [cosine(X[i, finding], X[j, finding]) for j in others]
            alike = [cosine(X[i, ~finding], X[j, ~finding]) for j in others]
            within.append((np.array(near), np.array(alike)))
    runners_up = [(near[1:], alike[1:]) for near, alike in found.values()]
    slope = max(slow_slope(runners_up), slow_slope(within), 0)
    gains = {}
    for i, (near, alike) in found.items():
        more_alike = alike[0] - alike[1:].mean()
        gains[i] = more_alike - slope * (near[0] - near[1:].mean())
    return gains


FINDING = np.array([True, False, True, False, False, True])


def two_views(seed, n=25, noise=0.7):
    rng = np.random.RandomState(seed)
    A = rng.normal(size=(n, 6))
    return A, A + noise * rng.normal(size=(n, 6))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_runners_up", [2, 5])
def test_gains_are_those_of_a_loop_over_rows(seed, n_runners_up):
    A, B = two_views(seed)
    A, B = A[:23], B[:24]  # rows behind those that are tested are candidates
    tested, gains = gains_of_split((A, B), ~FINDING, 20, n_runners_up)
    expected = slow_gains(A, B, FINDING, 20, n_runners_up)
    np.testing.assert_array_equal(tested, list(expected))
    np.testing.assert_allclose(gains, list(expected.values()), atol=1e-10)
    assert len(tested) > 5


def test_the_steeper_slope_counts(monkeypatch):
    slopes = []

    def spy(x, y):
        slopes.append(slope(x, y))
        return slopes[-1]

    slope = module.slope_within_rows
    monkeypatch.setattr(module, "slope_within_rows", spy)
    steeper = []
    for seed in range(8):
        A, B = two_views(seed, 40)
        found = dict(zip(*gains_of_split((A, B), ~FINDING, 40, 5), strict=True))
        assert found == pytest.approx(slow_gains(A, B, FINDING, 40, 5))
        steeper.append(np.argmax(slopes[-2:]))
    assert {*steeper} == {0, 1}  # either was the steeper one in some


def test_neighbours_may_be_looked_for_among_some_rows():
    A, B = two_views(0, 60)
    # All that is tested or a candidate is there, so that it is its own nearest row.
    among = np.arange(0, 50), np.arange(60)
    of_split = (A, B), ~FINDING, 20, 3
    tested, gains = gains_of_split(*of_split, surroundings=among)
    expected = slow_gains(A, B, FINDING, 20, 3, among)
    np.testing.assert_array_equal(tested, list(expected))
    np.testing.assert_allclose(gains, list(expected.values()), atol=1e-10)
    everywhere = gains_of_split(*of_split)[1]
    assert np.abs(gains - everywhere).max() > 1e-3


def test_finders_say_who_is_a_partner_and_not_how_near_it_is():
    A, B = two_views(0, 40)
    finders = A[:, FINDING], B[:, FINDING]
    of_split = (A, B), ~FINDING, 30, 5
    tested, gains = gains_of_split(*of_split, finders)
    longer = gains_of_split(*of_split, (1e-3 * finders[0], 1e3 * finders[1]))
    np.testing.assert_array_equal(tested, longer[0])
    np.testing.assert_allclose(gains, longer[1])
    # Of products at full length, others are largest than of unit vectors.
    assert not np.array_equal(tested, gains_of_split(*of_split)[0])


def test_too_few_mutual_pairs_have_no_gains():
    A = np.ones((20, 4))
    judging = np.array([False, True, False, True])
    tested, gains = gains_of_split((A, A), judging, 20, 5)
    assert tested.size == gains.size == 0


def curve(places):
    """A closed curve in six dimensions, each half of which says where a row is."""
    turns = np.outer(places, [1, 2, 3]) * 2 * np.pi
    return np.hstack([np.cos(turns), np.sin(turns)])


@pytest.mark.parametrize("seed", range(3))
def test_other_rows_of_the_same_shape_have_no_gains(seed):
    rng = np.random.RandomState(seed)
    places, others = rng.uniform(size=(2, 400))
    judging = np.arange(6) % 3 == 1
    one, other = curve(places), curve(others)
    _, wrong = gains_of_split((one, other), judging, 400, 5)
    assert len(wrong) > 100
    assert wrong.mean() < 0.02
    # The same rows, with what is of an object alone in all directions.
    own = 0.3 * rng.normal(size=(400, 6))
    one, other = curve(places) + own, curve(places) + own
    other += 0.05 * rng.normal(size=(400, 6))
    _, right = gains_of_split((one, other), judging, 400, 5)
    assert right.mean() > 0.1


def test_every_direction_judges_once_in_three_turns():
    rng = np.random.RandomState(0)
    for n in (4, 9, 40):
        for turns in zip(*[iter(splits_of(n, 5, rng))] * 3, strict=True):
            assert (np.sum([~finding for finding in turns], axis=0) == 1).all()
