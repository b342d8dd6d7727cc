import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from unaligned.kernels.scaling import (
    column_moments,
    row_blocks,
    row_lengths,
    standardize,
    unit_rows,
)


def test_columns_agree_with_sklearn_up_to_the_sample_deviation():
    X = np.random.RandomState(0).normal(3, 2, size=(30, 4))
    expected = StandardScaler().fit_transform(X) * np.sqrt(29 / 30)
    np.testing.assert_allclose(standardize(X), expected)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e12, -1e-12])
def test_constant_columns_become_zero(value):
    assert (standardize(np.full((7, 2), value)) == 0).all()


def test_one_row_is_its_own_mean():
    assert (standardize(np.array([[1.0, 2.0]])) == 0).all()


def test_rows_agree_with_sklearn_and_zero_rows_stay():
    X = np.vstack([np.random.RandomState(0).normal(size=(5, 3)), np.zeros(3)])
    np.testing.assert_allclose(unit_rows(X), normalize(X))


@pytest.mark.parametrize("function", [standardize, unit_rows])
def test_float32_stays_and_the_input_is_not_touched(function):
    X = np.random.RandomState(0).normal(size=(5, 3)).astype(np.float32)
    before = X.copy()
    assert function(X).dtype == np.float32
    np.testing.assert_array_equal(X, before)


def test_two_rows_have_a_deviation():
    two = standardize(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_allclose(two, [[-(0.5**0.5), 0], [0.5**0.5, 0]])


@pytest.mark.parametrize("size", [2.0**-20, 1.0, -(2.0**20)])
def test_a_column_is_constant_up_to_ten_roundings_of_its_size(size):
    # Two values that are r apart have the sample deviation r / √2.
    step = size * np.finfo(float).eps
    within, beyond = (np.array([[size], [size + k * step]]) for k in (14, 15))
    assert (standardize(within) == 0).all()
    assert (standardize(beyond) != 0).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_column_moments_are_those_of_the_columns(kind):
    X = np.random.RandomState(0).poisson(1.0, size=(50, 7)).astype(float)
    X[:, 3] = 2.5
    mean, deviation = column_moments(kind(X))
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(deviation, X.std(axis=0), atol=1e-12)
    assert deviation[3] == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_row_lengths_are_of_standardised_rows_and_never_zero(kind):
    rng = np.random.RandomState(0)
    X, mean, scale = rng.normal(size=(20, 4)), rng.normal(size=4), rng.uniform(1, 2, 4)
    X[5] = mean
    expected = np.linalg.norm((X - mean) / scale, axis=1)
    expected[5] = 1
    np.testing.assert_allclose(row_lengths(kind(X), mean, scale), expected)


def test_blocks_of_rows_cover_all_rows_once():
    X = np.empty((5000, 600))
    rows = np.arange(5000)
    blocks = [rows[block] for block in row_blocks(X)]
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), rows)
