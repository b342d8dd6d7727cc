"""Quadratic assignment against all permutations, and swaps against the literal sum."""

from itertools import combinations, permutations

import numpy as np
import pytest

from unaligned.kernels.quadratic_assignment import improve_by_swaps, match_nodes


def graph(seed, n):
    edges = np.random.RandomState(seed).normal(size=(n, n))
    return edges + edges.T


def total(A, B, matched):
    return sum(
        A[i, j] * B[matched[i], matched[j]]
        for i in range(len(A))
        for j in range(len(A))
    )


def swapped(matched, r, s):
    other = np.array(matched)
    other[[r, s]] = other[[s, r]]
    return other


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_permutations_is_found(seed):
    A, B = graph(seed, 6), graph(seed + 50, 6)
    found = match_nodes(A, B, np.random.RandomState(0), n_starts=20)
    best = max(total(A, B, order) for order in permutations(range(6)))
    assert total(A, B, found) == pytest.approx(best)


def test_no_swap_improves_what_comes_back():
    A, B = graph(1, 9), graph(2, 9)
    start = np.random.RandomState(3).permutation(9)
    found = improve_by_swaps(A, B, start)
    assert total(A, B, found) > total(A, B, start)
    for r, s in combinations(range(9), 2):
        assert total(A, B, swapped(found, r, s)) <= total(A, B, found) + 1e-9


def test_the_best_swap_comes_first():
    """From where one swap leads to the optimum, exactly that one is made."""
    A = graph(4, 8)
    np.testing.assert_array_equal(
        improve_by_swaps(A, A, swapped(np.arange(8), 2, 5)), np.arange(8)
    )


def test_a_renamed_graph_is_found_again():
    A, order = graph(5, 30), np.random.RandomState(6).permutation(30)
    found = match_nodes(A, A[np.ix_(order, order)], np.random.RandomState(0))
    np.testing.assert_array_equal(order[found], np.arange(30))


def test_swaps_end_where_nothing_but_rounding_is_gained():
    """Two kinds of nodes, and sums that no computer takes exactly."""
    kind = np.arange(24) % 2
    A = np.where(kind[:, None] == kind, 0.1, -0.3)
    for seed in range(5):
        order = np.random.RandomState(seed).permutation(24)
        found = improve_by_swaps(A, A * 1.1, order)
        assert total(A, A, found) == pytest.approx(total(A, A, range(24)))


def test_graphs_without_edges_are_matched_somehow():
    nothing = np.zeros((4, 4))
    found = match_nodes(nothing, nothing, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(found), range(4))
