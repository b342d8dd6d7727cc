import numpy as np
import pytest
from related_views import QUICK, measured_views, search_view
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import LinearRegression

from unaligned.savuc.communality import (
    exclude_each_other,
    variables_of,
    weights_of,
)
from unaligned.savuc.geometry import scaled_geometry


def rng(seed=0):
    return np.random.RandomState(seed)


def factor_columns(n=500, d=9, seed=0, noise=0.3):
    draw = rng(seed)
    return draw.normal(size=(n, 4)) @ draw.normal(size=(4, d)) + noise * draw.normal(
        size=(n, d)
    )


def one_hot(values):
    return (values[:, None] == np.unique(values)).astype(float)


def shares_of(X):
    return variables_of(np.corrcoef(X.T), len(X), exclude_each_other(X))


def corrected(share, n, p):
    return max(0, 1 - (1 - share) * (n - 1) / (n - p - 1))


def test_single_columns_have_the_share_of_a_regression_on_the_others():
    X = np.column_stack([factor_columns(), rng(1).normal(size=500)])
    found = shares_of(X)
    assert [variable.columns.tolist() for variable in found] == [[j] for j in range(10)]
    for j, variable in enumerate(found):
        others = np.delete(X, j, axis=1)
        share = LinearRegression().fit(others, X[:, j]).score(others, X[:, j])
        expected = corrected(share, 500, 9)
        np.testing.assert_allclose(variable.predicted, [expected], atol=1e-8)
    assert found[-1].predicted[0] < 0.05 < 0.5 < found[0].predicted[0]


@pytest.mark.parametrize("share_missing", [0.0, 0.1])
def test_a_category_is_one_variable_with_canonical_correlations(share_missing):
    X = factor_columns(n=800)
    groups = np.digitize(X[:, 0] + X[:, 1] + rng(2).normal(size=800), [-2, 0, 2])
    dummies = one_hot(groups)
    dummies[rng(3).uniform(size=800) < share_missing] = 0  # no column for what lacks
    *single, category = shares_of(np.hstack([X, dummies]))
    assert len(single) == 9
    assert category.columns.tolist() == [9, 10, 11, 12]
    n_directions = 3 if share_missing == 0 else 4
    some = dummies[:, :n_directions]  # which determine the others
    read = CCA(n_directions, max_iter=5000, tol=1e-10).fit(X, some).transform(X, some)
    along = zip(read[0].T, read[1].T, strict=True)
    shares = [np.corrcoef(a, b)[0, 1] ** 2 for a, b in along]
    expected = [corrected(share, 800, 9) for share in sorted(shares)]
    np.testing.assert_allclose(category.predicted, expected, atol=1e-3)
    # Its directions are uncorrelated and of unit variance, and lead back.
    block = np.corrcoef(dummies.T)
    turned = category.forward.T @ block @ category.forward
    np.testing.assert_allclose(turned, np.eye(n_directions), atol=1e-8)
    np.testing.assert_allclose(
        block @ category.forward @ category.backward, block, atol=1e-8
    )


def test_a_sum_and_what_it_is_made_of_are_one_variable():
    X = factor_columns()
    found = shares_of(np.column_stack([X, X[:, 2] + 2 * X[:, 5]]))
    assert [2, 5, 9] in [variable.columns.tolist() for variable in found]
    assert len(found) == 8


def test_only_flags_that_exclude_each_other_belong_together():
    flags = np.array([[1, 0, 1, 1.5], [0, 1, 1, 1], [0, 0, 0, 2], [0, 0, 0, 2]])
    expected = np.zeros((4, 4), dtype=bool)
    expected[0, 1] = expected[1, 0] = True
    np.testing.assert_array_equal(exclude_each_other(flags), expected)


def test_variances_are_multiplied_by_odds_over_their_median_and_never_rise():
    X = np.column_stack([factor_columns(), one_hot(rng(4).randint(3, size=500))])
    found = shares_of(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    weighted = Z @ weights_of(found)
    odds = np.array([v.predicted.max() / (1 - v.predicted.max()) for v in found])
    expected = np.minimum(odds / np.median(odds), 1)
    np.testing.assert_allclose(weighted[:, :9].var(axis=0), expected[:9], rtol=1e-6)
    assert weighted[:, 9:].var(axis=0).max() < 0.05
    np.testing.assert_allclose(np.corrcoef(weighted[:, 0], Z[:, 0])[0, 1], 1, rtol=1e-9)


def test_a_view_by_communality_has_the_geometry_of_its_weighted_columns():
    X = np.column_stack([factor_columns(), rng(5).normal(size=500)])
    view = search_view(np.column_stack([X[:, :4], np.ones(500), X[:, 4:]]))
    found = view.weighted
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    weighted = Z @ weights_of(shares_of(X))
    geometry = scaled_geometry(weighted, np.zeros(10), np.ones(10), 50, rng())
    np.testing.assert_allclose(
        found.geometry.points @ found.geometry.points.T,
        geometry.points @ geometry.points.T,
        atol=1e-4,
    )
    full = found.full_rows()
    np.testing.assert_allclose(full @ full.T, weighted @ weighted.T, atol=1e-2)
    np.testing.assert_array_equal(found.drawn, view.drawn)


def test_nothing_is_weighted_where_that_says_nothing():
    noise = rng(6).normal(size=(300, 8))  # no column is predicted
    assert search_view(noise).weighted is None
    assert search_view(factor_columns(noise=0.1)).weighted is None  # all are
    wide = measured_views(widths=(60, 70))[0]  # not all directions are kept
    assert search_view(wide, QUICK).weighted is None
    category = one_hot(rng(7).randint(6, size=300))  # there is nothing else
    assert search_view(category).weighted is None
    few = np.hstack([factor_columns(n=8, d=9)])  # fewer rows than columns
    assert search_view(few).weighted is None
