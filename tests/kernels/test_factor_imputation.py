"""Imputation by a factor model, against conditional means and held-out cells."""

import numpy as np
import pytest

from unaligned.kernels.factor_imputation import impute_by_factors


def related_columns(n, d, r, noise, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n, r)) @ rng.normal(size=(r, d)) + noise * rng.normal(
        size=(n, d)
    )


def with_gaps(X, share, seed=1):
    gaps = np.random.RandomState(seed).uniform(size=X.shape) < share
    return np.where(gaps, np.nan, X), gaps


def error(filled, X, gaps):
    scaled = (filled - X) / X.std(axis=0)
    return np.sqrt(np.mean(scaled[gaps] ** 2))


def test_narrow_tables_get_the_conditional_mean_of_a_normal_distribution():
    X = related_columns(3000, 6, 3, 0.4)
    holed = X.copy()
    holed[:300, 0] = np.nan
    filled = impute_by_factors(holed)[:300, 0]
    others = np.column_stack([X[300:, 1:], np.ones(2700)])
    slopes = np.linalg.lstsq(others, X[300:, 0], rcond=None)[0]
    expected = np.column_stack([X[:300, 1:], np.ones(300)]) @ slopes
    np.testing.assert_allclose(filled, expected, atol=0.05 * X[:, 0].std())


@pytest.mark.parametrize("shape", [(600, 9), (300, 60)])
def test_is_as_good_as_the_iterative_imputer(shape):
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    X = related_columns(*shape, 4, 0.6)
    holed, gaps = with_gaps(X, 0.05)
    theirs = IterativeImputer(random_state=0, max_iter=5).fit_transform(holed)
    ours = impute_by_factors(holed)
    assert error(ours, X, gaps) < 1.03 * error(theirs, X, gaps)
    assert error(ours, X, gaps) < 0.8  # the mean of a column has one


def test_what_is_there_stays_and_guesses_stay_in_range():
    X = related_columns(200, 5, 2, 1.0).astype(np.float32)
    holed, _ = with_gaps(X, 0.3)
    holed[7] = np.nan  # a row of which nothing is known
    filled = impute_by_factors(holed)
    assert filled.dtype == np.float32
    there = ~np.isnan(holed)
    np.testing.assert_array_equal(filled[there], holed[there])
    assert (filled >= np.nanmin(holed, axis=0)).all()
    assert (filled <= np.nanmax(holed, axis=0)).all()


def test_many_rows_are_filled_in_by_a_model_of_some():
    X = related_columns(9000, 6, 2, 0.3)
    holed, gaps = with_gaps(X, 0.05)
    filled = impute_by_factors(holed)
    np.testing.assert_array_equal(filled, impute_by_factors(holed))
    assert error(filled[5000:], X[5000:], gaps[5000:]) < 0.4


@pytest.mark.parametrize("shape", [(40, 1), (1, 3), (2, 2)])
def test_small_tables(shape):
    X = related_columns(*shape, 1, 0.1)
    holed = X.copy()
    holed[0, 0] = np.nan if shape[0] > 1 else X[0, 0]
    assert np.isfinite(impute_by_factors(holed)).all()
