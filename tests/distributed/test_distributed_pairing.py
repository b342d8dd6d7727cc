"""Partners of all rows, against who they really belong to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partly_shared import paired_rows

from unaligned.distributed.pairing import LEAST, match_all_rows, one_to_one

pytest.importorskip("dask.array", reason="needs the extra 'dask'")
pytestmark = pytest.mark.heavy


def some_pairs(partner, n_right=150, n_wrong=50):
    matched = np.flatnonzero(partner >= 0)[: n_right + n_wrong]
    told = partner[matched].copy()
    told[n_right:] = np.roll(told[n_right:], 1)
    return matched, told


def match(one, other, partner, known=None, seed=0):
    pairs = some_pairs(partner)
    return match_all_rows(one, other, pairs, np.random.RandomState(seed), known)


def test_partners_are_found_and_rows_without_one_are_told():
    one, other, partner = paired_rows()
    found, confidence = match(one, other, partner)
    matched = found >= 0
    assert np.mean(found[partner >= 0] == partner[partner >= 0]) > 0.95
    assert np.mean(found[partner < 0] < 0) > 0.8
    assert len(np.unique(found[matched])) == matched.sum()
    assert np.all(confidence[~matched] == 0)
    assert np.all(confidence[matched] >= LEAST)
    assert confidence.max() < 1


@pytest.mark.parametrize("unmatched", [0.0, 0.3, 0.6])
def test_confidence_is_the_share_that_is_right(unmatched):
    one, other, partner = paired_rows(unmatched=unmatched)
    found, confidence = match(one, other, partner)
    matched = found >= 0
    right = (found == partner)[matched]
    assert abs(confidence[matched].mean() - right.mean()) < 0.03
    assert right[confidence[matched] >= 0.9].mean() > 0.95


def test_known_pairs_stay():
    one, other, partner = paired_rows(n=500)
    rows = np.flatnonzero(partner >= 0)[:20]
    swapped = np.roll(partner[rows], 1)  # even where they are wrong
    found, confidence = match(one, other, partner, (rows, swapped))
    assert np.array_equal(found[rows], swapped)
    assert np.all(confidence[rows] == 1)
    matched = found[found >= 0]
    assert len(np.unique(matched)) == len(matched)


def test_all_known_leaves_nothing_to_match():
    one, other, partner = paired_rows(n=200, unmatched=0)
    found, _ = match(one, other, partner, (np.arange(200), partner))
    assert np.array_equal(found, partner)


def test_views_of_different_length():
    one, other, partner = paired_rows(n=1500)
    found, _ = match(one, other[:700], np.where(partner < 700, partner, -1))
    there = (partner >= 0) & (partner < 700)
    assert np.mean(found[there] == partner[there]) > 0.9
    assert np.mean(found[~there] < 0) > 0.8


@given(st.integers(1, 8), st.integers(1, 5), st.integers(0, 2**31))
def test_no_column_has_two_rows(n, m, seed):
    rng = np.random.RandomState(seed % 2**31)
    k = min(3, m)
    columns = np.array([rng.permutation(m)[:k] for _ in range(n)])
    probability = rng.uniform(size=(n, k))
    partner, confidence = one_to_one(columns, probability, m)
    for column in range(m):
        wanting = np.flatnonzero(
            columns[np.arange(n), probability.argmax(axis=1)] == column
        )
        surest = probability[wanting].max(axis=1)
        owners = np.flatnonzero(partner == column)
        if wanting.size and surest.max() >= LEAST:
            assert owners.tolist() == [wanting[surest.argmax()]]
            assert confidence[owners[0]] == surest.max()
        else:
            assert not owners.size
