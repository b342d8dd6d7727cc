"""Candidates in shared cells, against all pairs of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from partly_shared import paired_rows

from unaligned.distributed.cells import N_SEEN, find_candidates
from unaligned.savuc.absence import NOTHING
from unaligned.savuc.likelihood import canonical_directions, log_ratios

pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy


def canonical_of(one, other, partner):
    matched = np.flatnonzero(partner >= 0)[:200]
    return canonical_directions(
        one[matched], other[partner[matched]], np.ones(len(matched))
    )


def all_ratios(canonical, one, other):
    n, m = len(one), len(other)
    rows, columns = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    sides = canonical.read(one, 0), canonical.read(other, 1)
    return log_ratios(*sides, canonical.correlations, rows, columns).reshape(n, m)


def test_few_cells_give_the_best_of_all_pairs():
    one, other, partner = paired_rows(n=300)
    canonical = canonical_of(one, other, partner)
    found = find_candidates(canonical, one, other, k=5, seed=0)
    expected = all_ratios(canonical, one, other)
    best = np.argsort(-expected, axis=1)[:, :5]
    ratios = np.take_along_axis(expected, best, axis=1)
    assert_allclose(found.ratios, ratios, atol=0.05)
    at_columns = np.take_along_axis(expected, found.columns.astype(int), axis=1)
    assert_allclose(at_columns, ratios, atol=0.05)


def test_many_cells_miss_next_to_nothing():
    one, other, partner = paired_rows(n=6000)
    assert np.sqrt(len(other)) > 2 * N_SEEN
    canonical = canonical_of(one, other, partner)
    found = find_candidates(canonical, one, other, k=4, seed=0)
    some = np.arange(0, 6000, 20)
    best = all_ratios(canonical, one[some], other).argmax(axis=1)
    assert np.mean(found.columns[some, 0] == best) > 0.99


def test_missing_candidates_stand_for_nothing():
    one, other, partner = paired_rows(n=100)
    canonical = canonical_of(one, other, partner)
    found = find_candidates(canonical, one, other[:3], k=5, seed=0)
    assert np.all(found.ratios[:, 3:] == NOTHING)
    assert_array_equal(np.sort(found.columns[:, :3]), np.tile([0, 1, 2], (100, 1)))
