"""Matchings in limited memory: exact in instalments, nearly so in buckets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment, linprog

from unaligned.distributed import matching
from unaligned.distributed.matching import Budget, Side
from unaligned.kernels.devices import result_of
from unaligned.kernels.simplex import project_simplex
from unaligned.pavuc.updates import alignment_gain, match_rows

pytest.importorskip("dask", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy

NOBODY = matching.NOBODY


def graph(seed, n, m, sharpness=0.6):
    """Rows on the simplex, some of them equal."""
    rng = np.random.RandomState(seed)
    points = sharpness * rng.normal(size=(n, m))
    points[np.arange(n), rng.randint(m, size=n)] += 0.7
    rows = project_simplex(points).astype(np.float32)
    rows[rng.rand(n) < 0.2] = rows[0]
    return rows


def now(tasks):
    """Compute tasks one by one."""
    import dask

    return (dask.compute(task, scheduler="synchronous")[0] for task in tasks)


def everyone(points):
    return Side(points, np.arange(len(points)))


def permutation_of(pairs, n):
    found = np.full(n, -1)
    for rows, columns in pairs:
        found[columns] = rows
    return found


@settings(max_examples=20)
@given(seed=st.integers(0, 2**16), n=st.integers(1, 200), m=st.integers(1, 5))
def test_instalments_are_exact(seed, n, m):
    G, T = graph(seed, n, m), graph(seed + 1, n, m)
    order = np.random.RandomState(seed).permutation(n)
    pairs = matching.match_in_instalments(Side(G, order), everyone(T))
    exact = result_of(match_rows(G, T, order, NOBODY, "greedy"))
    assert_array_equal(permutation_of(pairs, n), exact)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 300),
    m=st.integers(1, 6),
    largest=st.floats(1, 400),
)
def test_everybody_is_dealt_once_into_buckets_of_limited_size(seed, n, m, largest):
    sides = Side(graph(seed, n, m), np.arange(n)), everyone(graph(seed + 1, n, m))
    buckets = matching.deal(*sides, largest)
    for side in (0, 1):
        assert_array_equal(
            np.sort(np.concatenate([b[side] for b in buckets])), range(n)
        )
    for rows, columns in buckets:
        assert len(rows) == len(columns) <= np.ceil(largest)
        assert (np.diff(rows) > 0).all()
        assert (np.diff(columns) > 0).all()


def test_shares_of_anchors_are_the_best_transport():
    rng = np.random.RandomState(0)
    rows, columns = rng.randint(4, size=50), rng.randint(1, 4, size=50)
    gains = rng.rand(4, 4)
    shares = matching.transport(rows, columns, gains)
    supply, demand = np.bincount(rows, minlength=4), np.bincount(columns, minlength=4)
    assert_array_equal(shares.sum(axis=1), supply)
    assert_array_equal(shares.sum(axis=0), demand)
    sums = [np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))]
    best = linprog(
        -gains.ravel(), A_eq=np.vstack(sums), b_eq=np.concatenate([supply, demand])
    )
    assert_allclose((shares * gains).sum(), -best.fun)


def test_within_the_budget_the_answer_is_the_one_in_memory():
    G, T = graph(0, 300, 4), graph(1, 300, 4)
    order, known = np.random.RandomState(0).permutation(300), NOBODY
    exact = result_of(match_rows(G, T, order, known, "greedy"))
    at_once, in_instalments = 36 * 300 * 4, 22 * 300 * 4
    for memory in (np.inf, at_once, at_once - 1, in_instalments):
        budget = Budget(memory, 1)
        found = matching.match_within(budget, G, T, order, known, "greedy", None)
        assert_array_equal(found.permutation, exact)
        assert found.gain_lost == 0


@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_buckets_keep_known_pairs_and_lose_little(method):
    n, m = 2000, 6
    G, T = graph(0, n, m), graph(1, n, m)
    order = np.random.RandomState(0).permutation(n)
    known = np.arange(50), np.arange(50)[::-1]
    budget = Budget(1000, 36 * m * 150 if method == "greedy" else 16 * 150**2)
    found = matching.match_within(budget, G, T, order, known, method, now)
    assert_array_equal(np.sort(found.permutation), np.arange(n))
    assert_array_equal(found.permutation[known[1]], known[0])
    exact = result_of(match_rows(G, T, order, known, method))
    best, reached = (alignment_gain(G, T, p) for p in (exact, found.permutation))
    at_random = alignment_gain(G, T, np.random.RandomState(1).permutation(n))
    assert best - reached < 0.1 * (best - at_random)


@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_the_loss_on_a_sample_of_everyone_is_the_loss(method, monkeypatch):
    n, m, largest = 400, 5, 90.0
    G, T = graph(2, n, m), graph(3, n, m)
    monkeypatch.setattr(matching, "most_sampled", lambda n, _: n)
    estimate = matching.gain_lost(everyone(G), everyone(T), largest, method)
    pairs = matching.match_in_buckets(everyone(G), everyone(T), largest, method, now)
    reached = alignment_gain(G, T, permutation_of(pairs, n))
    exact = result_of(match_rows(G, T, np.arange(n), NOBODY, method))
    assert_allclose(estimate, alignment_gain(G, T, exact) - reached, rtol=1e-6)
    if method == "optimal":
        assert_allclose(
            alignment_gain(G, T, exact),
            (G @ T.T)[linear_sum_assignment(G @ T.T, maximize=True)].sum(),
            rtol=1e-5,
        )
        assert estimate >= 0


def test_the_loss_is_estimated_well_from_fewer_rows():
    n, m = 12_000, 6
    G, T = graph(4, n, m), graph(5, n, m)
    largest = 700.0
    pairs = matching.match_in_buckets(everyone(G), everyone(T), largest, "greedy", now)
    reached = alignment_gain(G, T, permutation_of(pairs, n))
    exact = result_of(match_rows(G, T, np.arange(n), NOBODY, "greedy"))
    lost = alignment_gain(G, T, exact) - reached
    estimate = matching.gain_lost(everyone(G), everyone(T), largest, "greedy")
    assert abs(estimate - lost) < 0.02 * alignment_gain(G, T, exact)
