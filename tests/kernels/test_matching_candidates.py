"""Matching among candidates comes close to SciPy's assignment."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from benchmarks.data.problems import KINDS
from unaligned.kernels import matching_candidates
from unaligned.kernels.matching import match_greedy
from unaligned.kernels.matching_candidates import match_among_candidates


def total(rows, columns, chosen):
    return np.sum(rows * columns[chosen])


@pytest.mark.parametrize("kind", ["mixed", "peaked", "dirichlet", "eighths"])
@pytest.mark.parametrize("n_columns", [600, 750])
@pytest.mark.parametrize("sample", [250, 10_000])
def test_closes_most_of_the_gap_between_greedy_and_optimal(
    monkeypatch, kind, n_columns, sample
):
    monkeypatch.setattr(matching_candidates, "SAMPLE", sample)
    rng = np.random.default_rng(0)
    rows, columns = KINDS[kind](rng, 600, 8), KINDS[kind](rng, n_columns, 8)
    greedy = match_greedy(rows, columns)
    found = match_among_candidates(rows, columns, greedy)
    assert len(np.unique(found)) == 600
    best = linear_sum_assignment(rows @ columns.T, maximize=True)[1]
    lowest, reached, highest = (
        total(rows, columns, chosen) for chosen in (greedy, found, best)
    )
    assert reached <= highest + 1e-9
    share = 0.95 if sample > n_columns else 0.3
    assert reached >= lowest + share * (highest - lowest) - 1e-9


def test_is_never_worse_than_the_fallback(monkeypatch):
    monkeypatch.setattr(matching_candidates, "SAMPLE", 20)
    monkeypatch.setattr(matching_candidates, "CANDIDATES", 2)
    rng = np.random.default_rng(1)
    for kind in KINDS:
        rows, columns = KINDS[kind](rng, 80, 5), KINDS[kind](rng, 90, 5)
        fallback = rng.permutation(90)[:80]
        found = match_among_candidates(rows, columns, fallback)
        assert len(np.unique(found)) == 80
        before, after = total(rows, columns, fallback), total(rows, columns, found)
        assert after >= before * (1 - 1e-9)


def test_few_columns_and_the_same_answer_twice():
    rng = np.random.default_rng(2)
    rows, columns = rng.dirichlet(np.ones(3), size=(2, 5))
    fallback = np.arange(5)
    found = match_among_candidates(rows, columns, fallback)
    best = linear_sum_assignment(rows @ columns.T, maximize=True)[1]
    np.testing.assert_array_equal(found, best)
    again = match_among_candidates(rows, columns, fallback)
    np.testing.assert_array_equal(found, again)
