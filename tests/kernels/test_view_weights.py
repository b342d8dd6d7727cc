import numpy as np
import pytest

from unaligned.kernels.view_weights import power_weights


@pytest.mark.parametrize("exponent", [1.01, 1.5, 2, 10])
def test_no_other_weights_cost_less(exponent):
    rng = np.random.RandomState(0)
    errors = rng.uniform(0.5, 3, size=4)
    found = power_weights(errors, exponent)
    np.testing.assert_allclose(found.sum(), 1)
    others = rng.dirichlet(np.ones(4), size=2000)
    near = 0.99 * found + 0.01 * others
    for points in (others, near):
        assert (found**exponent @ errors <= points**exponent @ errors + 1e-12).all()


@pytest.mark.parametrize("errors", [(1e-300, 1.0), (1e300, 1e-300), (0.0, 1.0), (0, 0)])
def test_extreme_errors_do_no_harm(errors):
    found = power_weights(np.array(errors), 1.01)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(), 1)
