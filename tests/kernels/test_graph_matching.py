"""The matching of graphs against the literal formulas, brute force and SciPy."""

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, minimize

from unaligned.kernels.graph_matching import (
    match_graphs,
    match_softly,
    round_matching,
)
from unaligned.kernels.graph_matching_loops import blend, make_doubly_stochastic


def graph(seed, n):
    edges = np.random.RandomState(seed).uniform(size=(n, n)) ** 3
    return edges + edges.T


def literal_rounds(Y, n_rounds):
    """Alternate the two projections, with the matrices of ones written out."""
    N = len(Y)
    ones = np.ones((N, N))
    for _ in range(n_rounds):
        level = 1 / N + Y.sum() / N**2
        Y = np.maximum(Y + level * ones - Y @ ones / N - ones @ Y / N, 0)
    return Y


def literal(A, B, K, c, start, max_iter=50, tol=1e-6):
    n1, n2 = len(A), len(B)
    X, Y = np.full((n1, n2), start), np.zeros((max(n1, n2),) * 2)
    changes = []
    while len(changes) < max_iter and not (changes and changes[-1] < tol):
        Y[:n1, :n2] = A @ X @ B + c * K
        Y = literal_rounds(Y, 30)
        before, X = X, 0.5 * X + 0.5 * Y[:n1, :n2]
        X = X / X.max()
        changes.append(np.abs(X - before).max())
    return X, len(changes)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n1", "n2"), [(9, 9), (1, 1), (7, 12), (12, 7), (1, 5)])
def test_soft_matching_is_the_literal_one(n1, n2, seed):
    A, B = graph(seed, n1), graph(seed + 10, n2)
    K = np.random.RandomState(seed).uniform(size=(n1, n2))
    for weight in (0.0, 0.3, 50.0):
        soft = match_softly(A, B, K, weight=weight, start=1 / (n1 * n2))
        expected, _ = literal(A, B, K, weight, 1 / (n1 * n2))
        np.testing.assert_allclose(soft, expected, atol=1e-9)
    alone = match_softly(A, B, start=1 / n1)
    np.testing.assert_allclose(alone, literal(A, B, 0 * K, 0, 1 / n1)[0], atol=1e-9)


def test_it_stops_when_nothing_changes_any_more():
    A, B, K = graph(0, 8), graph(1, 8), np.eye(8)
    _, n_needed = literal(A, B, K, 1e4, 1 / 64, max_iter=500)
    assert n_needed < 50
    for max_iter in (n_needed - 1, n_needed, 500):
        soft = match_softly(A, B, K, weight=1e4, start=1 / 64, max_iter=max_iter)
        expected, _ = literal(A, B, K, 1e4, 1 / 64, max_iter=max_iter)
        np.testing.assert_allclose(soft, expected, atol=1e-9)


def test_where_nothing_is_clipped_a_round_finds_the_nearest_matrix():
    rng = np.random.RandomState(0)
    Y = np.full((4, 4), 0.25) + rng.normal(scale=0.03, size=(4, 4))
    sums = [np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))]
    nearest = minimize(
        lambda P: np.sum((P - Y.ravel()) ** 2),
        np.full(16, 0.25),
        bounds=[(0, 1)] * 16,
        constraints={"type": "eq", "fun": lambda P: np.vstack(sums)[:-1] @ P - 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    make_doubly_stochastic(Y, 1)
    np.testing.assert_allclose(Y, nearest.x.reshape(4, 4), atol=1e-6)


def test_many_rounds_end_among_the_doubly_stochastic_matrices():
    Y = np.random.RandomState(0).normal(size=(30, 30))
    make_doubly_stochastic(Y, 5000)
    assert Y.min() == 0
    np.testing.assert_allclose(Y.sum(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(Y.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_rounds_are_the_literal_ones_in_both_precisions(dtype, atol):
    Y = np.random.RandomState(0).normal(size=(40, 40))
    expected = literal_rounds(Y, 30)
    Y = Y.astype(dtype)
    make_doubly_stochastic(Y, 30)
    assert Y.dtype == dtype
    np.testing.assert_allclose(Y, expected, atol=atol)


def test_blending_with_nothing_changes_nothing():
    X = np.zeros((2, 3))
    assert blend(X, np.zeros((2, 3))) == 0
    np.testing.assert_array_equal(X, 0)


@pytest.mark.parametrize("discretise", ["argmax", "greedy", "optimal"])
@pytest.mark.parametrize("seed", range(5))
def test_a_graph_is_matched_to_its_shuffled_self(seed, discretise):
    A = graph(seed, 12)
    order = np.random.RandomState(seed).permutation(12)
    matched = match_graphs(
        A, A[np.ix_(order, order)], start=1 / 12, discretise=discretise
    )
    np.testing.assert_array_equal(matched, order)


def test_renaming_the_nodes_renames_the_matching():
    A, B = graph(0, 10), graph(1, 10)
    order = np.random.RandomState(2).permutation(10)
    matched = match_graphs(A, B, start=0.1)
    renamed = match_graphs(A, B[np.ix_(order, order)], start=0.1)
    np.testing.assert_array_equal(renamed, matched[order])


def test_a_heavy_affinity_decides():
    K = np.random.RandomState(3).uniform(size=(8, 8))
    matched = match_graphs(
        graph(0, 8), graph(1, 8), K, weight=1e6, start=1 / 64, discretise="optimal"
    )
    rows, columns = linear_sum_assignment(K, maximize=True)
    np.testing.assert_array_equal(matched[columns], rows)


def test_single_precision_stays_and_agrees():
    A, B = graph(0, 60), graph(1, 60)
    exact = match_softly(A, B, start=1 / 60, max_iter=5)
    soft = match_softly(
        A.astype(np.float32), B.astype(np.float32), start=1 / 60, max_iter=5
    )
    assert soft.dtype == np.float32
    np.testing.assert_allclose(soft, exact, atol=1e-4)


def literal_greedy(soft):
    soft, matched = soft.copy(), np.full(soft.shape[1], -1)
    for _ in range(min(soft.shape)):
        row, column = np.unravel_index(soft.argmax(), soft.shape)
        matched[column] = row
        soft[row], soft[:, column] = -1, -1
    return matched


@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (4, 6), (6, 4), (30, 50)])
def test_greedy_takes_the_heaviest_free_pair(shape):
    for seed in range(10):
        soft = np.random.RandomState(seed).uniform(size=shape)
        np.testing.assert_array_equal(
            round_matching(soft, "greedy"), literal_greedy(soft)
        )


@pytest.mark.parametrize("shape", [(5, 5), (4, 5), (5, 4)])
def test_optimal_equals_brute_force(shape):
    soft = np.random.RandomState(0).uniform(size=shape)
    matched = round_matching(soft, "optimal")
    columns = np.flatnonzero(matched >= 0)
    total = soft[matched[columns], columns].sum()
    wide = soft if shape[0] <= shape[1] else soft.T
    each = np.arange(len(wide))
    best = max(
        wide[each, list(p)].sum() for p in permutations(range(wide.shape[1]), len(wide))
    )
    assert len(columns) == len(np.unique(matched[columns])) == min(shape)
    np.testing.assert_allclose(total, best)


def test_argmax_shares_rows_and_takes_the_first_of_equals():
    soft = np.array([[0.5, 0.2, 0.9], [0.5, 0.1, 0.3]])
    np.testing.assert_array_equal(round_matching(soft, "argmax"), [0, 0, 0])


@pytest.mark.parametrize("discretise", ["argmax", "greedy", "optimal"])
def test_graphs_without_nodes(discretise):
    none, some = np.zeros((0, 0)), np.ones((3, 3))
    for first, second in ((none, some), (some, none), (none, none)):
        matched = match_graphs(first, second, start=1.0, discretise=discretise)
        np.testing.assert_array_equal(matched, np.full(len(second), -1))


def test_graphs_without_edges():
    matched = match_graphs(np.zeros((3, 3)), np.zeros((3, 3)), start=1 / 3)
    np.testing.assert_array_equal(matched, [0, 0, 0])


def test_input_stays_as_it_was():
    A, B, K = graph(0, 6), graph(1, 6), graph(2, 6)
    before = A.copy(), B.copy(), K.copy()
    match_graphs(A, B, K, start=1 / 6)
    for now, then in zip((A, B, K), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_what_is_refused():
    A = graph(0, 3)
    with pytest.raises(ValueError, match=r"square array of edge weights, not .*\(3, 2"):
        match_graphs(A, np.ones((3, 2)), start=1.0)
    with pytest.raises(ValueError, match=r"affinity has the shape \(3, 2\).*3 and 3"):
        match_graphs(A, A, np.ones((3, 2)), start=1.0)
    with pytest.raises(ValueError, match="finite"):
        match_graphs(A, np.where(np.eye(3), np.nan, A), start=1.0)
    with pytest.raises(ValueError, match="how='best' is not known"):
        match_graphs(A, A, start=1.0, discretise="best")


def test_numba_waits_for_the_first_matching():
    script = (
        "import sys, unaligned.kernels.graph_matching; print('numba' in sys.modules)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
