"""Blocks scored in float32 give the literal answer in float64, or stop in time."""

import tracemalloc

import numpy as np
import pytest

from benchmarks.data.problems import KINDS, fused_scores, literal, problem
from unaligned.kernels import matching, matching_blocks
from unaligned.kernels.matching import match_greedy
from unaligned.kernels.matching_blocks import match_by_blocks


def by_blocks(rows, columns, order):
    taken = np.zeros(len(columns), dtype=np.bool_)
    column_of_row = np.full(len(rows), -1)
    n_matched = match_by_blocks(rows, columns, order, taken, column_of_row)
    assert np.count_nonzero(taken) == np.count_nonzero(column_of_row >= 0) == n_matched
    return column_of_row, n_matched


@pytest.fixture
def patient(monkeypatch):
    """Go on however many columns have to be scored again, in small blocks."""
    monkeypatch.setattr(matching_blocks, "MOST_RIVALS", 10**9)
    monkeypatch.setattr(matching_blocks, "MOST_ROWS", 16)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_literal_loop(seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        rows, columns, order = problem(rng, largest=90)
        rows, columns = rows.astype(np.float64), columns.astype(np.float64)
        if rng.random() < 0.3:
            rows, columns = rows - rng.random(), columns - rng.random()
        found, n_matched = by_blocks(rows, columns, order)
        assert n_matched == len(rows)
        expected = literal(fused_scores(rows, columns), order)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kind", KINDS)
def test_many_blocks_of_every_kind(kind):
    rng = np.random.default_rng(5)
    rows, columns = KINDS[kind](rng, 400, 30), KINDS[kind](rng, 500, 30)
    found, _ = by_blocks(rows, columns, np.arange(400))
    expected = literal(fused_scores(rows, columns), np.arange(400))
    np.testing.assert_array_equal(found, expected)


def test_stops_where_too_many_columns_are_as_good():
    rng = np.random.default_rng(6)
    columns = np.repeat(rng.dirichlet(np.ones(20), size=2), 1000, axis=0)
    rows = rng.dirichlet(np.ones(20), size=2000)
    found, n_matched = by_blocks(rows, columns, np.arange(2000))
    assert 0 < n_matched < 1000
    expected = literal(fused_scores(rows, columns), np.arange(n_matched))
    np.testing.assert_array_equal(found[:n_matched], expected[:n_matched])


@pytest.mark.parametrize("shift", [0.0, 0.01])
def test_match_greedy_uses_blocks_for_dense_points(monkeypatch, shift):
    """The tree gives up on them, and does not try where entries are negative."""
    used = []

    def spy(rows, columns, order, *answer):
        used.append(match_by_blocks(rows, columns, order, *answer))
        return used[-1]

    monkeypatch.setattr(matching_blocks, "match_by_blocks", spy)
    rng = np.random.default_rng(7)
    n = matching.FEWEST_ROWS_FOR_TREE
    rows, columns = rng.dirichlet(np.ones(40), size=(2, n)) - shift
    expected = literal(fused_scores(rows, columns), np.arange(n))
    np.testing.assert_array_equal(match_greedy(rows, columns), expected)
    assert sum(used) > n / 2


def test_memory_is_linear():
    """The table of all scores would take 144 MB in float32; we allow 20."""
    rng = np.random.default_rng(8)
    rows, columns = rng.dirichlet(np.ones(12), size=(2, 6000))
    by_blocks(rows[:200], columns[:200], np.arange(200))  # compile first
    tracemalloc.start()
    by_blocks(rows, columns, np.arange(6000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
