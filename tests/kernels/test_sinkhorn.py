import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unaligned.kernels.sinkhorn import (
    best_partners,
    scale_in_place,
    scaling_factors,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_iter", [1, 7])
def test_scaling_is_rows_then_columns(dtype, n_iter):
    rng = np.random.RandomState(0)
    plans = rng.uniform(0.1, 1, size=(3, 5, 4)).astype(dtype)
    a, b = rng.dirichlet(np.ones(5)).astype(dtype), rng.dirichlet(np.ones(4))
    expected = plans.astype(np.float64)
    for _ in range(n_iter):
        expected *= (a / expected.sum(axis=2))[:, :, None]
        expected *= (b / expected.sum(axis=1))[:, None, :]
    scale_in_place(plans, a, b.astype(dtype), n_iter)
    assert plans.dtype == dtype
    np.testing.assert_allclose(plans, expected, rtol=1e-5)


def test_a_plan_without_mass_stays_finite():
    plans = np.zeros((1, 3, 3), dtype=np.float32)
    scale_in_place(plans, np.ones(3, np.float32), np.ones(3, np.float32), 5)
    np.testing.assert_array_equal(plans, 0)


def plain_loop(kernel, v, n_iter):
    """Rows sum to one over their number; columns to no more, by factors up to one."""
    n, m = kernel.shape
    for _ in range(n_iter):
        u = 1 / n / (kernel @ v)
        v = 1 / n / (kernel.T @ u)
        if n != m:
            v = np.minimum(v, 1)
    return u, v


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (1, 1), (1, 4)])
@pytest.mark.parametrize("n_iter", [1, 2, 30])
def test_factors_are_those_of_a_plain_loop(dtype, shape, n_iter):
    rng = np.random.RandomState(0)
    kernel = np.exp(2 * rng.normal(size=shape))
    start = rng.uniform(0.5, 1, size=shape[1])
    before = start.copy()
    u, v = scaling_factors(kernel.astype(dtype), start.astype(dtype), n_iter)
    assert u.dtype == v.dtype == dtype
    np.testing.assert_array_equal(start, before)
    expected = plain_loop(kernel, start, n_iter)
    np.testing.assert_allclose(u, expected[0], rtol=1e-3)
    np.testing.assert_allclose(v, expected[1], rtol=1e-3)


def test_as_many_columns_as_rows_are_balanced_as_by_pot():
    cost = np.random.RandomState(0).uniform(size=(9, 9))
    kernel = np.exp(-cost / 0.2)
    u, v = scaling_factors(kernel, np.ones(9), 1000)
    even = np.full(9, 1 / 9)
    expected = ot.sinkhorn(even, even, cost, 0.2)
    np.testing.assert_allclose(u[:, None] * kernel * v, expected, atol=1e-7)


@given(st.integers(0, 10_000), st.integers(2, 8), st.integers(1, 8))
def test_columns_that_are_more_have_at_most_one_partner_each(seed, n, more):
    kernel = np.exp(np.random.RandomState(seed).normal(size=(n, n + more)))
    u, v = scaling_factors(kernel, np.ones(n + more), 2000)
    plan = u[:, None] * kernel * v
    np.testing.assert_allclose(plan.sum(axis=1), 1 / n, rtol=1e-2)
    assert (plan.sum(axis=0) <= 1 / n * (1 + 1e-6)).all()
    # A column below its cap is not held back: its factor is the largest there is.
    below = plan.sum(axis=0) < 1 / n * (1 - 1e-6)
    np.testing.assert_array_equal(v[below], 1)


def test_a_column_that_nobody_is_near_stays_without_a_partner():
    kernel = np.full((4, 5), 1e-6)
    kernel[np.arange(4), np.arange(4)] = 1
    u, v = scaling_factors(kernel, np.ones(5), 500)
    plan = u[:, None] * kernel * v
    np.testing.assert_allclose(plan[:, :4], np.eye(4) / 4, atol=1e-5)
    assert plan[:, 4].sum() < 1e-5


@pytest.mark.parametrize("shape", [(3, 3), (3, 5)])
def test_a_kernel_without_mass_gives_finite_factors(shape):
    kernel = np.zeros(shape, dtype=np.float32)
    u, v = scaling_factors(kernel, np.ones(shape[1], np.float32), 5)
    assert np.isfinite(u).all()
    assert np.isfinite(v).all()


@pytest.mark.parametrize("values", [1000, 3])  # without ties, and with many
def test_best_partners_are_argmaxes(values):
    rng = np.random.RandomState(1)
    kernel = rng.randint(1, values, size=(40, 25)).astype(np.float32)
    u, v = (rng.randint(1, 3, size=n).astype(np.float32) for n in kernel.shape)
    of_rows, of_columns = best_partners(kernel, u, v)
    np.testing.assert_array_equal(of_rows, (kernel * v).argmax(axis=1))
    np.testing.assert_array_equal(of_columns, (kernel.T * u).argmax(axis=1))
