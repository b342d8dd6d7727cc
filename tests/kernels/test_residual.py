import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unaligned.kernels.residual import squared_residual, sum_of_squares


@given(seed=st.integers(0, 1000), m=st.integers(1, 6), d=st.integers(1, 6))
def test_residual_is_that_of_the_full_matrices(seed, m, d):
    rng = np.random.RandomState(seed)
    X, codes, basis = (rng.normal(size=size) for size in [(9, d), (9, m), (m, d)])
    expected = np.linalg.norm(X - codes @ basis) ** 2
    found = squared_residual(sum_of_squares(X), X @ basis.T, codes, basis)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_perfect_fit_is_never_negative():
    rng = np.random.RandomState(0)
    for _ in range(50):
        codes, basis = rng.normal(size=(30, 3)), rng.normal(size=(3, 8))
        X = codes @ basis
        residual = squared_residual(sum_of_squares(X), X @ basis.T, codes, basis)
        assert 0 <= residual <= 1e-10


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_squares_are_summed_over_every_kind_of_matrix(kind):
    X = np.array([[1.0, -2.0, 0.0], [0.0, 0.0, 3.0]])
    assert sum_of_squares(kind(X)) == 14
