import numpy as np
import pytest
from numpy.testing import assert_allclose

from unaligned.pavuc.problem import residual_floor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floor_is_rounding_at_the_root_mean_square_length_of_rows(dtype):
    X = np.array([[3, 4], [0, 0], [6, 8], [0, 0]], dtype=dtype)
    eps = np.finfo(dtype).eps
    assert_allclose(residual_floor(X, dtype), eps * np.sqrt((25 + 100) / 4))
    assert residual_floor(np.zeros((3, 2), dtype=dtype), dtype) == eps
