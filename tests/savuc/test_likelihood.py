import numpy as np
import pytest
from related_views import whitened_pair
from scipy import linalg, stats

from unaligned.savuc.likelihood import (
    canonical_directions,
    canonical_rows,
    learn_directions,
    log_ratios,
)


def test_ratios_are_those_of_gaussian_rows():
    rng = np.random.RandomState(0)
    A, B, c = rng.normal(size=(6, 3)), rng.normal(size=(5, 3)), np.array([0.9, 0.5, 0])
    rows, columns = np.repeat(np.arange(6), 5), np.tile(np.arange(5), 6)
    found = log_ratios(A, B, c, rows, columns)
    for at, (i, j) in enumerate(zip(rows, columns, strict=True)):
        expected = sum(
            stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).logpdf([a, b])
            - stats.norm.logpdf(a)
            - stats.norm.logpdf(b)
            for r, a, b in zip(c, A[i], B[j], strict=True)
        )
        assert found[at] == pytest.approx(expected)


def test_canonical_rows_have_unit_variance_and_the_correlations_they_say():
    one, other, order = whitened_pair(n=2000, d=5)
    partner = np.argsort(order)
    A, B, c = canonical_rows(one[:1500], other, partner[:1500])
    pairs = A, B[partner[:1500]]
    for rows in pairs:
        np.testing.assert_allclose(np.cov(rows.T), np.eye(5), atol=0.01)
    measured = [
        np.corrcoef(a, b)[0, 1]
        for a, b in zip(*(rows.T for rows in pairs), strict=True)
    ]
    np.testing.assert_allclose(c, measured, atol=0.01)


def test_directions_that_fit_chance_have_no_correlation():
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(2, 40, 30))
    *_, correlations = canonical_rows(one, other, np.arange(40))
    assert correlations.mean() < 0.5 < np.linalg.svd(one.T @ other)[1][0] / 40


def test_pairs_that_are_hardly_believed_do_not_count():
    one, other, _ = whitened_pair(n=60, d=4)
    rows = np.arange(60)
    weights = np.where(rows < 40, 0.8, 0.005)
    found = learn_directions(one, other, rows, rows, weights)
    expected = canonical_directions(one[:40], other[:40], np.full(40, 0.8))
    np.testing.assert_array_equal(found.correlations, expected.correlations)


def test_no_pair_gives_directions_that_are_finite():
    none = np.empty(0, dtype=np.intp)
    found = learn_directions(np.ones((4, 3)), np.ones((5, 2)), none, none, np.empty(0))
    for side in (0, 1):
        np.testing.assert_array_equal(found.read(np.ones((2, 3)), side), 0)


def test_a_row_counts_in_all_of_its_pairs():
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(50, 3)), rng.normal(size=(40, 4))
    rows, columns = rng.randint(5, 45, size=90), rng.randint(3, 33, size=90)
    weights = rng.uniform(0.1, 1, size=90)
    found = learn_directions(one, other, rows, columns, weights)
    expected = canonical_directions(one[rows], other[columns], weights)
    np.testing.assert_allclose(found.correlations, expected.correlations)
    for side, table in enumerate((one, other)):
        one_way, other_way = found.read(table, side), expected.read(table, side)
        np.testing.assert_allclose(np.abs(one_way), np.abs(other_way), atol=1e-8)


def test_directions_are_those_of_a_plain_solution():
    # Of whitened covariances, by a general solver of the generalised problem.
    rng = np.random.RandomState(1)
    one = rng.normal(size=(300, 3))
    other = one @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    found = canonical_directions(one, other, np.ones(300))
    joint = np.cov(np.hstack([one, other]).T, bias=True)
    apart = linalg.block_diag(joint[:3, :3], joint[3:, 3:])
    squares = linalg.eigh(joint, apart, eigvals_only=True)[::-1][:3] - 1
    unexplained = (1 - squares**2) * 299 / (300 - 7 - 1)
    np.testing.assert_allclose(found.correlations**2, 1 - unexplained)


def test_a_weight_counts_as_so_many_pairs():
    rng = np.random.RandomState(0)
    one = rng.normal(size=(60, 3))
    other = one @ rng.normal(size=(3, 4)) + rng.normal(size=(60, 4))
    times = rng.randint(0, 4, size=60)
    found = canonical_directions(one, other, times.astype(float))
    again = np.repeat(np.arange(60), times)
    expected = canonical_directions(one[again], other[again], np.ones(len(again)))
    np.testing.assert_allclose(found.correlations, expected.correlations)
    for side, rows in enumerate((one, other)):
        one_way, other_way = found.read(rows, side), expected.read(rows, side)
        np.testing.assert_allclose(np.abs(one_way), np.abs(other_way), atol=1e-8)
