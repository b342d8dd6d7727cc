import numpy as np
import pytest

from unaligned.kernels.sinkhorn import best_partners, scale_in_place


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


@pytest.mark.parametrize("values", [1000, 3])  # without ties, and with many
def test_best_partners_are_argmaxes(values):
    rng = np.random.RandomState(1)
    kernel = rng.randint(1, values, size=(40, 25)).astype(np.float32)
    u, v = (rng.randint(1, 3, size=n).astype(np.float32) for n in kernel.shape)
    of_rows, of_columns = best_partners(kernel, u, v)
    np.testing.assert_array_equal(of_rows, (kernel * v).argmax(axis=1))
    np.testing.assert_array_equal(of_columns, (kernel.T * u).argmax(axis=1))
