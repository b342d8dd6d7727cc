import numpy as np
import ot
import pytest

from unaligned.datasets import load_digits_views
from unaligned.kernels.devices import Cores
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc import polish
from unaligned.savuc.couplings import Effort
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.pairs_of_views import (
    Bench,
    align_pair,
    distinct_fits,
    null_score,
    sample_rows,
    together,
)
from unaligned.savuc.trust import agreement


def two_views(n=120, d=10, noise=0.3, seed=0):
    """Whitened views that share all directions, and the order of the second."""
    rng = np.random.RandomState(seed)
    shared = rng.normal(size=(n, d))
    order = rng.permutation(n)
    one = shared + noise * rng.normal(size=(n, d))
    other = (shared @ np.linalg.qr(rng.normal(size=(d, d)))[0])[order]
    other = other + noise * rng.normal(size=(n, d))
    return one.astype(np.float32), other.astype(np.float32), order


def true_cross(one, other, order):
    return one[order].T @ other / len(order)


def test_the_plan_is_that_of_pot():
    rng = np.random.RandomState(0)
    A, B = unit_rows(rng.normal(size=(9, 3))), unit_rows(rng.normal(size=(7, 3)))
    plan = polish.plan_rows(A, B, 0.2, 1000)
    found = plan.u[:, None] * plan.kernel * plan.v
    a, b = np.full(9, 1 / 9), np.full(7, 1 / 7)
    np.testing.assert_allclose(found, ot.sinkhorn(a, b, 1 - A @ B.T, 0.2), atol=1e-5)


def test_a_sparse_plan_is_near_the_dense_one(monkeypatch):
    one, other, order = two_views(n=200)
    rows = polish.join_rows(one, other)
    A, B = polish.rows_along(true_cross(one, other, order), rows, 10)
    dense = polish.correlate(polish.plan_rows(A, B, 0.05, 20), rows)
    monkeypatch.setattr(polish, "MOST_DENSE", 100)
    thin = polish.plan_rows(A, B, 0.05, 20)
    assert thin.kernel.nnz < 0.5 * 200 * 200
    np.testing.assert_allclose(polish.correlate(thin, rows), dense, atol=0.02)
    picked, partners = polish.mutual_best(thin)
    assert np.mean(order[partners] == picked) > 0.9


def test_the_score_is_the_sum_of_the_singular_values():
    cross = np.random.RandomState(0).normal(size=(5, 7))
    np.testing.assert_allclose(polish.score(cross), np.linalg.norm(cross, "nuc"))


def test_a_climb_from_half_the_truth_finds_all_of_it():
    one, other, order = two_views()
    wrong = order.copy()
    wrong[:60] = np.random.RandomState(1).permutation(wrong[:60])
    rows = polish.join_rows(one, other)
    cross, value = polish.climb(one[wrong].T @ other / 120, lambda _: rows)
    assert value >= polish.score(true_cross(one, other, order)) - 0.3
    A, B = polish.rows_along(cross, rows, 10)
    assert np.mean((A @ B.T).argmax(axis=0) == order) > 0.9


def test_known_pairs_are_no_free_rows_but_count():
    one, other, order = two_views()
    known = order[:40], np.arange(40)
    rows = polish.join_rows(one, other, known)
    assert len(rows.one) == len(rows.other) == 80
    assert rows.share == pytest.approx(2 / 3)
    expected = one[order[:40]].T @ other[:40] / 120
    np.testing.assert_allclose(rows.fixed, expected, rtol=1e-4)


def test_nobody_is_free_where_all_rows_of_a_view_are_known():
    one, other, order = two_views()
    rows = polish.join_rows(one, other[:40], (order[:40], np.arange(40)))
    assert rows.share == 0
    expected = one[order[:40]].T @ other[:40] / 40
    np.testing.assert_allclose(rows.fixed, expected, rtol=1e-4)


def test_samples_meet_their_partners():
    one, other, order = two_views(n=600)
    everyone = polish.join_rows(one, other)
    rng = np.random.RandomState(0)
    rows = sample_rows(everyone, 100, rng)
    assert len(rows.one) == len(rows.other) == 100
    beside = together(true_cross(one, other, order), rows, everyone, rng)
    assert len(beside.other) == 100
    # Rows of the second view are told by their values.
    place = {row.tobytes(): order[j] for j, row in enumerate(other)}
    objects = {place[row.tobytes()] for row in beside.other}
    sampled = {i for i in range(600) if (one[i] == rows.one).all(axis=1).any()}
    assert len(objects & sampled) > 60


def test_a_right_pair_exceeds_the_null_and_a_wrong_one_does_not():
    rng = np.random.RandomState(0)
    digits = load_digits_views()
    one, other = digits.Xs[0][:300], digits.Xs[3][rng.permutation(300)]
    unrelated = np.column_stack([rng.permutation(column) for column in other.T])
    effort = Effort(2, 40, 2, 40, 3, 0)
    geometries = [read_geometry(X, rng) for X in (one, other, unrelated)]
    gains = []
    for geometry in geometries[1:]:
        pair = geometries[0], geometry
        null = null_score(*(view.fine for view in pair), rng, Cores())
        gains.append(align_pair(*pair, null, effort, rng, Cores()).gain)
    assert gains[0] > 0.2
    assert gains[1] < 0.06


def test_crossing_two_half_truths_finds_the_whole():
    rng = np.random.RandomState(0)
    digits = load_digits_views()
    order = rng.permutation(300)
    views = digits.Xs[0][:300], digits.Xs[3][order]
    one, other = (read_geometry(X, rng) for X in views)
    A, B = one.fine, other.fine
    pairs = A[order].T @ B / 300
    wrong = [A[rng.permutation(300)].T @ B / 300 for _ in range(3)]
    halves = [0.5 * pairs + noise for noise in wrong]
    bench = Bench(one, other, None, rng, Cores())
    best = bench.cross([(half, polish.score(half)) for half in halves], 3, np.inf)[0]
    assert agreement(best[0], pairs) > 0.9
    assert len(distinct_fits([best, best, (wrong[0], 0.0)])) == 2
