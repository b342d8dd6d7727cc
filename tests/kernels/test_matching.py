"""The greedy matching is the literal one, bit for bit, whichever search finds it."""

import subprocess
import sys
import tracemalloc
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from benchmarks.data.problems import (
    KINDS,
    fused_scores,
    literal,
    literal_loop,
    mixed,
    normalised,
    problem,
)
from benchmarks.matching import count_differences
from unaligned.kernels import blocks, matching, matching_candidates, matching_tree
from unaligned.kernels.matching import (
    extend_matching,
    invert,
    match_greedy,
    match_optimal,
    matching_confidence,
)

NEVER = np.inf  # patience without end


def by_tree(rows, columns, order, patience=NEVER):
    """Match by the tree, and by the scan from where it gives up; and where that is."""
    taken = np.zeros(len(columns), dtype=np.bool_)
    column_of_row = np.full(len(rows), -1)
    arrangement = matching_tree.arrange(columns)
    n_matched = matching_tree.match_by_tree(
        rows, columns, order, arrangement, patience, taken, column_of_row
    )
    assert np.count_nonzero(taken) == np.count_nonzero(column_of_row >= 0) == n_matched
    rest = order[n_matched:]
    matching_tree.match_by_scan(rows, columns, rest, taken, column_of_row)
    return column_of_row, n_matched


def by_scan(rows, columns, order):
    taken = np.zeros(len(columns), dtype=np.bool_)
    column_of_row = np.full(len(rows), -1)
    matching_tree.match_by_scan(rows, columns, order, taken, column_of_row)
    return column_of_row


def test_the_reference_rounds_once_per_term():
    rng = np.random.default_rng(0)
    for kind in ("dirichlet", "nearly one hot", "one bit apart"):
        rows, columns = KINDS[kind](rng, 8, 6), KINDS[kind](rng, 8, 6)
        expected = np.zeros((8, 8))
        for row, column in np.ndindex(8, 8):
            for a, b in zip(rows[row], columns[column], strict=True):
                exact = Fraction(a) * Fraction(b) + Fraction(expected[row, column])
                expected[row, column] = float(exact)
        np.testing.assert_array_equal(fused_scores(rows, columns), expected)


@pytest.mark.parametrize("seed", range(8))
def test_both_searches_equal_the_literal_loop(seed):
    rng = np.random.default_rng(seed)
    for _ in range(400):
        rows, columns, order = problem(rng)
        rows, columns = rows.astype(np.float64), columns.astype(np.float64)
        expected = literal(fused_scores(rows, columns), order)
        np.testing.assert_array_equal(by_scan(rows, columns, order), expected)
        np.testing.assert_array_equal(by_tree(rows, columns, order)[0], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_larger_problems(kind):
    rng = np.random.default_rng(1)
    for n, m in ((400, 3), (400, 10), (300, 40), (1500, 10)):
        rows, columns = KINDS[kind](rng, n, m), KINDS[kind](rng, n + n // 4, m)
        order = rng.permutation(n)
        expected = literal(fused_scores(rows, columns), order)
        np.testing.assert_array_equal(by_scan(rows, columns, order), expected)
        np.testing.assert_array_equal(by_tree(rows, columns, order)[0], expected)


@pytest.mark.parametrize("kind", ["mixed", "one hot", "eighths", "dirichlet"])
def test_match_greedy_with_a_tree_of_four_levels(kind):
    rng = np.random.default_rng(2)
    n = matching.FEWEST_ROWS_FOR_TREE + 100
    rows, columns = KINDS[kind](rng, n, 10), KINDS[kind](rng, n, 10)
    order = np.argsort(-rows.var(axis=1), kind="stable")
    expected = literal(fused_scores(rows, columns), order)
    np.testing.assert_array_equal(match_greedy(rows, columns, order), expected)


def test_match_greedy_on_generated_problems(monkeypatch):
    monkeypatch.setattr(matching, "FEWEST_ROWS_FOR_TREE", 30)
    rng = np.random.default_rng(3)
    for _ in range(300):
        rows, columns, order = problem(rng, largest=100)
        scores = fused_scores(rows.astype(np.float64), columns.astype(np.float64))
        matched = match_greedy(rows, columns, order)
        np.testing.assert_array_equal(matched, literal(scores, order))
        assert len(np.unique(matched)) == len(rows)


def test_the_committed_command_finds_no_difference(monkeypatch):
    """``python -m benchmarks.matching`` does this with 10,000 problems."""
    monkeypatch.setattr(matching, "FEWEST_ROWS_FOR_TREE", 0)  # put back what it sets
    counted = count_differences(150, seed=10)
    assert counted["different"] == 0
    assert counted["rows"] > 150


def test_the_compiled_yardstick_is_the_literal_answer():
    rng = np.random.default_rng(11)
    for _ in range(50):
        rows, columns, order = problem(rng)
        rows, columns = rows.astype(np.float64), columns.astype(np.float64)
        expected = literal(fused_scores(rows, columns), order)
        np.testing.assert_array_equal(literal_loop(rows, columns, order), expected)


grid = npst.arrays(
    np.int64,
    st.tuples(st.integers(1, 40), st.just(3)),
    elements=st.integers(0, 4),
)


@settings(deadline=None, max_examples=150)
@given(grid, grid, st.randoms(use_true_random=False))
def test_exact_arithmetic_leaves_no_freedom(rows, columns, random):
    """In quarters nothing is rounded: plain NumPy integers give the only answer."""
    columns = np.vstack([columns, rows])  # enough of them
    order = np.array(random.sample(range(len(rows)), len(rows)))
    expected = literal((rows @ columns.T).astype(np.float64), order)
    for dtype in (np.float32, np.float64):
        quarters = (rows / 4).astype(dtype), (columns / 4).astype(dtype)
        np.testing.assert_array_equal(match_greedy(*quarters, order), expected)
    np.testing.assert_array_equal(by_tree(rows / 4, columns / 4, order)[0], expected)


@pytest.mark.parametrize("m", [1, 2, 10, 30])
def test_equals_a_blas_product_where_no_scores_are_close(m):
    rng = np.random.default_rng(m)
    rows, columns = rng.random((2, 300, m)) ** 3
    expected = literal(rows @ columns.T, range(300))
    np.testing.assert_array_equal(match_greedy(rows, columns), expected)
    everyone = np.arange(300)
    np.testing.assert_array_equal(by_tree(rows, columns, everyone)[0], expected)


def test_negative_entries_are_scanned():
    rng = np.random.default_rng(4)
    n = matching.FEWEST_ROWS_FOR_TREE
    rows, columns = rng.integers(-9, 10, size=(2, n, 4)).astype(np.float64)
    expected = literal(rows @ columns.T, range(n))
    np.testing.assert_array_equal(match_greedy(rows, columns), expected)
    rows, columns = -np.abs(rows) - 1, np.abs(columns) + 1  # every score below zero
    expected = literal(rows @ columns.T, range(n))
    np.testing.assert_array_equal(match_greedy(rows, columns), expected)


def test_the_tree_gives_up_on_dense_columns_and_keeps_sparse_ones():
    rng = np.random.default_rng(5)
    order = np.arange(2000)
    dense, sparse_ = rng.dirichlet(np.ones(30), 2000), mixed(rng, 2000, 10)
    matched, n_matched = by_tree(dense, dense[::-1].copy(), order, patience=0.5)
    assert n_matched < 1000
    scores = fused_scores(dense, dense[::-1].copy())
    np.testing.assert_array_equal(matched, literal(scores, order))
    assert by_tree(sparse_, sparse_[::-1].copy(), order, patience=0.5)[1] > 1000


def test_order_says_who_chooses_first():
    rows, columns = np.array([[1.0], [1.0], [1.0]]), np.array([[1.0], [3.0], [2.0]])
    np.testing.assert_array_equal(match_greedy(rows, columns), [1, 2, 0])
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(match_greedy(rows, columns, order), [2, 0, 1])


def test_the_smallest_column_wins_a_tie():
    np.testing.assert_array_equal(
        match_greedy(np.ones((4, 2)), np.ones((6, 2))), range(4)
    )
    zeros = np.zeros((40, 3))
    np.testing.assert_array_equal(match_greedy(zeros, zeros), range(40))
    np.testing.assert_array_equal(by_tree(zeros, zeros, np.arange(40))[0], range(40))


def test_input_stays_as_it_was():
    rng = np.random.default_rng(6)
    rows, columns, order = mixed(rng, 50, 5), mixed(rng, 60, 5), rng.permutation(50)
    before = rows.copy(), columns.copy(), order.copy()
    match_greedy(rows, columns, order)
    by_tree(rows, columns, order)
    for now, then in zip((rows, columns, order), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (4, 0)])
def test_nothing_to_compare(shape):
    matched = match_greedy(np.zeros(shape), np.zeros((5, shape[1])))
    np.testing.assert_array_equal(matched, range(shape[0]))


def test_what_is_refused():
    ones = np.ones((3, 2))
    with pytest.raises(ValueError, match="share their coordinates"):
        match_greedy(ones, np.ones((3, 4)))
    with pytest.raises(ValueError, match="4 rows cannot share 3 columns"):
        match_greedy(np.ones((4, 2)), ones)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="finite"):
            match_greedy(ones, np.where(np.eye(3, 2), bad, 1.0))
    with pytest.raises(ValueError, match="finite"):
        match_optimal(ones * 1e200, ones * 1e200)
    for order in ([0, 1], [0, 1, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="permutation of the 3 rows"):
            match_greedy(ones, ones, np.array(order))


def test_memory_is_linear():
    """An n × n table of single bytes would take 900 MB; we allow 100."""
    rng = np.random.default_rng(7)
    rows, columns = mixed(rng, 30_000, 10), mixed(rng, 30_000, 10)
    match_greedy(rows[:5000], columns[:5000])  # compile first
    tracemalloc.start()
    match_greedy(rows, columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_memory_of_the_compiled_code_is_linear():
    """Arrays made inside numba are not traced: ask the system, in a fresh process."""
    pytest.importorskip("resource")
    script = """if True:
        import resource, sys
        import numpy as np
        from unaligned.kernels.matching import match_greedy
        def peak():
            unit = 1 if sys.platform == "darwin" else 1024
            return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rng = np.random.default_rng(0)
        points = np.eye(10)[rng.integers(10, size=30_000)]
        for part in (points[:5000], -points[:50]):
            match_greedy(part, part)
        before = peak()
        match_greedy(points, points[::-1])
        print(peak() - before)
    """
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100e6


def test_numba_waits_for_the_first_matching():
    script = "import sys, unaligned.kernels.matching; print('numba' in sys.modules)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("n_columns", [6, 7])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_optimal_equals_brute_force(n, n_columns):
    rng = np.random.default_rng(10 * n + n_columns)
    rows, columns = rng.random((n, 4)), rng.random((n_columns, 4))
    scores = rows @ columns.T
    everyone = np.arange(n)
    best = max(
        permutations(range(n_columns), n), key=lambda p: scores[everyone, p].sum()
    )
    np.testing.assert_array_equal(match_optimal(rows, columns), best)


def test_optimal_is_no_worse_than_greedy():
    rng = np.random.default_rng(8)
    better = 0
    for _ in range(50):
        rows, columns, order = problem(rng, largest=40)
        rows, columns = normalised(rows), normalised(columns)
        scores, everyone = rows @ columns.T, np.arange(len(rows))
        optimal = scores[everyone, match_optimal(rows, columns)].sum()
        greedy = scores[everyone, match_greedy(rows, columns, order)].sum()
        assert optimal >= greedy - 1e-9
        better += optimal > greedy + 1e-9
    assert better > 10


def test_optimal_takes_candidates_where_memory_is_short(monkeypatch):
    monkeypatch.setattr(matching, "available_bytes", lambda: 1e6)
    rng = np.random.default_rng(9)
    rows, columns = rng.dirichlet(np.ones(4), size=(2, 300))
    with pytest.warns(UserWarning, match=r"300 rows .* 0.0 GB are available") as caught:
        found = match_optimal(rows, columns)
    assert 'matching="greedy"' in str(caught[0].message)
    assert f"{matching_candidates.CANDIDATES} candidates" in str(caught[0].message)
    np.testing.assert_array_equal(np.sort(found), np.arange(300))
    match_optimal(rows[:100], columns[:100])  # and no warning where there is enough


def test_invert():
    np.testing.assert_array_equal(invert(np.array([3, 0, 1]), 5), [1, 2, -1, 0, -1])
    np.testing.assert_array_equal(invert(np.array([-1, 2, -1, 0]), 3), [3, -1, 1])
    permutation = np.random.default_rng(9).permutation(50)
    np.testing.assert_array_equal(invert(permutation, 50), np.argsort(permutation))


NOBODY = np.empty(0, dtype=np.intp)


@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_known_pairs_keep_their_block(method):
    rng = np.random.default_rng(10)
    rows, columns = rng.dirichlet(np.ones(3), size=(2, 12))
    known = np.array([4, 0, 7]), np.array([2, 9, 5])
    found = extend_matching(rows, columns, known, method=method)
    np.testing.assert_array_equal(np.sort(found), np.arange(12))
    np.testing.assert_array_equal(found[known[1]], known[0])
    # The others are matched as if the known ones were not there.
    free, free_columns = np.delete(np.arange(12), known[0]), np.delete(found, known[1])
    match = {"greedy": match_greedy, "optimal": match_optimal}[method]
    alone = match(rows[free], np.delete(columns, known[1], axis=0))
    np.testing.assert_array_equal(free_columns[alone], free)


def test_optimal_extension_beats_every_other():
    rng = np.random.default_rng(11)
    rows, columns = rng.dirichlet(np.ones(3), size=(2, 6))
    scores, known = columns @ rows.T, (np.array([1]), np.array([0]))
    found = extend_matching(rows, columns, known, method="optimal")
    totals = [
        scores[np.arange(6), other].sum()
        for other in permutations(range(6))
        if other[0] == 1
    ]
    np.testing.assert_allclose(scores[np.arange(6), found].sum(), max(totals))


def test_the_order_of_choosing_matters_to_the_greedy():
    rows, columns = np.array([[0.6, 0.4], [1.0, 0.0]]), np.eye(2)
    options = {"known": (NOBODY, NOBODY), "method": "greedy"}
    np.testing.assert_array_equal(extend_matching(rows, columns, **options), [0, 1])
    first = extend_matching(rows, columns, **options, order=np.array([1, 0]))
    np.testing.assert_array_equal(first, [1, 0])


def test_confidence_is_the_share_of_the_matched_score(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # blocks of 64 rows
    rng = np.random.default_rng(12)
    rows, columns = rng.dirichlet(np.ones(3), size=(2, 150))
    chosen, known = rng.permutation(150), np.array([1, 6, 130])
    found = matching_confidence(rows, columns, chosen, known)
    shares = rows @ columns.T
    shares /= np.delete(shares, known, axis=1).sum(axis=1, keepdims=True)
    expected = [1 if s in known else shares[chosen[s], s] for s in range(150)]
    np.testing.assert_allclose(found, expected)
    nowhere = matching_confidence(np.eye(2), np.eye(2)[::-1], np.arange(2), NOBODY)
    np.testing.assert_array_equal(nowhere, 0)
