from dataclasses import replace

import numpy as np
import ot
import pytest
from related_views import QUICK, true_cross, whitened_pair
from scipy import sparse

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc import refine as module
from unaligned.savuc.refine import (
    Plan,
    along_directions,
    correlate,
    cycle,
    dense_kernel,
    directions_of,
    join_rows,
    mutual_best,
    near_pairs,
    plan_rows,
    refine,
    row_maxima,
    sample,
    sample_rows,
    score,
    sparse_kernel,
)

SPARSE = replace(QUICK, n_dense=10)


def unit_pair(n=30, m=30, d=4, seed=0):
    rng = np.random.RandomState(seed)
    rows = (rng.normal(size=(size, d)).astype(np.float32) for size in (n, m))
    return tuple(map(unit_rows, rows))


def as_matrix(plan):
    dense = isinstance(plan.kernel, np.ndarray)
    kernel = plan.kernel if dense else plan.kernel.toarray()
    return plan.u[:, None] * kernel * plan.v


def test_the_plan_is_that_of_pot():
    A, B = unit_pair(9, 9)
    even = np.full(9, 1 / 9)
    cost = 1 - A.astype(float) @ B.T
    found = as_matrix(plan_rows(A, B, 0.2, 1000, QUICK))
    np.testing.assert_allclose(found, ot.sinkhorn(even, even, cost, 0.2), atol=1e-5)


@pytest.mark.parametrize("settings", [QUICK, SPARSE])
def test_the_longer_view_may_come_first_or_second(settings):
    A, B = unit_pair(20, 33)
    plan = plan_rows(A, B, 0.1, 300, settings)
    turned = plan_rows(B, A, 0.1, 300, settings)
    np.testing.assert_allclose(as_matrix(plan), as_matrix(turned).T, atol=1e-6)
    table = as_matrix(plan)
    np.testing.assert_allclose(table.sum(axis=1), 1 / 20, rtol=0.05)
    assert (table.sum(axis=0) < 1 / 20 * 1.001).all()
    for ours, theirs in zip(mutual_best(plan), mutual_best(turned)[::-1], strict=True):
        assert {*ours} == {*theirs}


def test_the_sparse_kernel_keeps_the_near_pairs_of_the_dense_one():
    A, B = unit_pair(40, 55)
    settings = replace(QUICK, n_near=6)
    dense = dense_kernel(A, B, 0.1)
    found = sparse_kernel(A, B, 0.1, settings).toarray()
    near = np.zeros(dense.shape, dtype=bool)
    for i in range(40):
        near[i, np.argsort(-dense[i])[:6]] = True
    for j in range(55):
        near[np.argsort(-dense[:, j])[:6], j] = True
    np.testing.assert_array_equal(found > 0, near)
    np.testing.assert_allclose(found[near], dense[near], rtol=1e-3)
    assert found.dtype == np.float32


def test_a_sparse_kernel_of_all_pairs_is_the_dense_one():
    A, B = unit_pair(12, 9)
    found = near_pairs(A, B, 0.1, replace(QUICK, n_near=99)).toarray()
    np.testing.assert_allclose(found, dense_kernel(A, B, 0.1), rtol=1e-3)
    np.testing.assert_allclose(
        dense_kernel(A, B, 0.1), np.exp((A @ B.T - 1) / 0.1), rtol=1e-4
    )


@pytest.mark.parametrize("m", [200, 150])
def test_a_sparse_plan_is_near_the_dense_one(m):
    one, other, order = whitened_pair(n=200)
    cross = true_cross(one, other, order)
    other, order = other[:m], order[:m]
    rows = join_rows(one, other)
    A, B = along_directions(cross, rows, 10)
    dense = correlate(plan_rows(A, B, 0.05, 20, QUICK), rows)
    thin = plan_rows(A, B, 0.05, 20, replace(QUICK, n_dense=100, n_near=20))
    assert thin.kernel.nnz < 0.5 * 200 * m
    np.testing.assert_allclose(correlate(thin, rows), dense, atol=0.02)
    picked, partners = mutual_best(thin)
    assert np.mean(order[partners] == picked) > 0.9


def test_largest_entries_of_sparse_rows_are_those_of_the_table():
    rng = np.random.RandomState(0)
    table = rng.randint(1, 4, size=(30, 8)) * (rng.uniform(size=(30, 8)) < 0.3)
    assert not table.any(axis=1).all()
    for sparse_table in (sparse.csr_array(table), sparse.csc_array(table)):
        found = row_maxima(sparse_table)
        np.testing.assert_array_equal(found, table.argmax(axis=1))


@pytest.mark.parametrize("settings", [QUICK, SPARSE])
@pytest.mark.parametrize(("n", "m"), [(25, 25), (25, 40), (40, 25)])
def test_mutual_best_pairs_are_those_of_brute_force(settings, n, m):
    A, B = unit_pair(n, m)
    plan = plan_rows(A, B, 0.1, 30, settings)
    table = as_matrix(plan)
    expected = [
        (i, j)
        for i in range(n)
        for j in range(m)
        if table[i, j] == table[i].max() == table[:, j].max()
    ]
    rows, partners = mutual_best(plan)
    assert list(zip(rows, partners, strict=True)) == expected
    assert len(expected) > 5


@pytest.mark.parametrize("settings", [QUICK, SPARSE])
@pytest.mark.parametrize(("n", "m"), [(25, 25), (25, 40), (40, 25)])
def test_correlations_are_sums_over_pairs(settings, n, m):
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(n, 3)), rng.normal(size=(m, 5))
    A, B = unit_pair(n, m)
    plan = plan_rows(A, B, 0.1, 30, settings)
    found = correlate(plan, join_rows(one, other))
    table = as_matrix(plan)
    expected = sum(
        table[i, j] * np.outer(one[i], other[j]) for i in range(n) for j in range(m)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_score_is_the_sum_of_the_singular_values():
    cross = np.random.RandomState(0).normal(size=(5, 7))
    assert score(cross, QUICK) == pytest.approx(np.linalg.norm(cross, "nuc"))
    few = replace(QUICK, schedule=((2, 0.1),))
    values = np.linalg.svd(cross, compute_uv=False)
    assert score(cross, few) == pytest.approx(values[:2].sum())


@pytest.mark.parametrize("n_directions", [2, 99])
@pytest.mark.parametrize("shape", [(5, 7), (7, 5)])
@pytest.mark.parametrize("rank", [2, 5])
def test_directions_are_singular_vectors(n_directions, shape, rank):
    rng = np.random.RandomState(0)
    cross = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    one, other, correlations = directions_of(cross, n_directions)
    U, s, Vt = np.linalg.svd(cross, full_matrices=False)
    r = min(5, n_directions)
    np.testing.assert_allclose(correlations, s[:r], rtol=1e-5, atol=1e-6)
    expected = (U[:, :r] * s[:r]) @ Vt[:r]
    np.testing.assert_allclose(one * correlations @ other.T, expected, atol=1e-5)
    assert one.dtype == other.dtype == np.float32


def test_along_directions_partners_come_together():
    one, other, order = whitened_pair(noise=0.1)
    rows = join_rows(one, other)
    A, B = along_directions(true_cross(one, other, order), rows, 10)
    np.testing.assert_allclose(np.linalg.norm(A, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal((A @ B.T).argmax(axis=0), order)


def test_refinement_from_half_the_truth_finds_all_of_it():
    one, other, order = whitened_pair()
    wrong = order.copy()
    wrong[:60] = np.random.RandomState(1).permutation(wrong[:60])
    rows = join_rows(one, other)
    start = one[wrong].T @ other / 120
    cross, value = refine(start, lambda _: rows, QUICK)
    assert value == pytest.approx(score(cross, QUICK))
    assert value >= score(true_cross(one, other, order), QUICK) - 0.3
    A, B = along_directions(cross, rows, 10)
    assert np.mean((A @ B.T).argmax(axis=0) == order) > 0.9


def test_a_cycle_from_the_truth_stays_there():
    one, other, order = whitened_pair(noise=0.1)
    rows, truth = join_rows(one, other), true_cross(one, other, order)
    found = cycle(truth, rows, QUICK)
    cosine = np.vdot(found, truth) / np.linalg.norm(found) / np.linalg.norm(truth)
    assert cosine > 0.99


def test_refinement_gives_nothing_worse_than_it_was_given():
    one, other, order = whitened_pair(noise=0.1)
    rows = join_rows(one, other)
    for cross in (true_cross(one, other, order), 3 * true_cross(one, other, order)):
        found, value = refine(cross, lambda _: rows, QUICK)
        assert value >= score(cross, QUICK)
        assert score(found, QUICK) == pytest.approx(value)


def test_refinement_goes_on_while_the_score_rises(monkeypatch):
    little = 4 * (1 + QUICK.least_gain / 2)  # the best, but no gain that counts
    values = iter([2.0, 3.0, 1.0, 4.0, little, 3.0, 3.0, 9.0])
    monkeypatch.setattr(module, "cycle", lambda *_: np.full((1, 1), next(values)))
    monkeypatch.setattr(module, "score", lambda cross, _: float(cross[0, 0]))
    best, value = refine(np.ones((1, 1)), lambda _: None, QUICK)
    assert value == best[0, 0] == little
    assert next(values) == 9


@pytest.mark.parametrize("most", [54, 55])
def test_many_rows_are_compared_in_cells(most, monkeypatch):
    A, B = unit_pair(40, 55)
    asked, top_products = [], module.top_products
    monkeypatch.setattr(module, "N_COMPARED", most)
    monkeypatch.setattr(
        module,
        "likely_top_products",
        lambda *given: asked.append(given) or top_products(*given),
    )
    near_pairs(A, B, 0.1, QUICK)
    near_pairs(B, A, 0.1, QUICK)
    assert len(asked) == (2 if most < 55 else 0)


def test_the_rows_are_chosen_anew_for_every_cycle():
    one, other, order = whitened_pair()
    rows, asked = join_rows(one, other), []

    def choose(cross):
        asked.append(cross)
        return rows

    refine(true_cross(one, other, order), choose, QUICK)
    assert len(asked) >= module.N_STALLED
    assert not np.array_equal(asked[0], asked[1])


def test_refinement_ends_where_it_was_to_arrive():
    one, other, order = whitened_pair()
    rows, seen = join_rows(one, other), []

    def arrived(cross):
        seen.append(cross)
        return len(seen) == 2

    cross, value = refine(true_cross(one, other, order), lambda _: rows, QUICK, arrived)
    assert cross is seen[-1]
    assert len(seen) == 2
    assert value == pytest.approx(score(cross, QUICK))


def test_known_pairs_are_no_free_rows_but_count():
    one, other, order = whitened_pair()
    known = order[:40], np.arange(40)
    rows = join_rows(one, other, known)
    assert len(rows.one) == len(rows.other) == 80
    assert rows.share == pytest.approx(2 / 3)
    expected = one[order[:40]].T @ other[:40] / 120
    np.testing.assert_allclose(rows.fixed, expected, rtol=1e-4)
    # With the true partners of the free rows, it is the correlation of all rows.
    free = np.delete(np.arange(120), order[:40])
    place = np.empty(120, dtype=int)
    place[free] = np.arange(80)
    right = np.zeros((80, 80), dtype=np.float32)
    right[place[order[40:]], np.arange(80)] = 1 / 80
    ones = np.ones(80, dtype=np.float32)
    found = correlate(Plan(right, ones, ones), rows)
    np.testing.assert_allclose(found, true_cross(one, other, order), atol=1e-5)


@pytest.mark.parametrize("known", [None, (np.empty(0, int), np.empty(0, int))])
def test_all_rows_are_free_where_nothing_is_known(known):
    one, other, _ = whitened_pair()
    rows = join_rows(one, other, known)
    assert rows.one is one
    assert rows.other is other
    assert rows.share == 1
    assert not rows.fixed.any()


def test_no_row_is_free_where_all_rows_of_a_view_are_known():
    one, other, order = whitened_pair()
    rows = join_rows(one, other[:40], (order[:40], np.arange(40)))
    assert rows.share == 0
    expected = one[order[:40]].T @ other[:40] / 40
    np.testing.assert_allclose(rows.fixed, expected, rtol=1e-4)


@pytest.mark.parametrize("constant", [np.zeros, np.ones])
def test_rows_that_are_all_the_same_do_no_harm(constant):
    one, _, _ = whitened_pair(n=30)
    rows = join_rows(one, constant((30, 4), dtype=np.float32))
    cross = one.T @ rows.other / 30
    assert np.isfinite(cycle(cross, rows, QUICK)).all()


def test_samples_are_of_rows_and_small_views_are_taken_whole():
    one, other, _ = whitened_pair(n=150)
    rows, rng = join_rows(one, other[:80]), np.random.RandomState(0)
    sampled = sample_rows(rows, 60, rng)
    assert sampled.one.shape == (60, 10)
    np.testing.assert_array_equal(sampled.other, rows.other)  # not many more than 60
    np.testing.assert_array_equal(sample(90, 60, rng), np.arange(90))
    assert len(np.unique(sample(91, 60, rng))) == 60
    there = {row.tobytes() for row in one}
    assert len({row.tobytes() for row in sampled.one} & there) == 60
