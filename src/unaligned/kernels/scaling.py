"""Bringing the columns or rows of a matrix to one scale."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["standardize", "unit_rows"]


def standardize(X: NDArray[Any]) -> NDArray[Any]:
    """Centre every column and divide it by its sample standard deviation.

    A constant column becomes zero.

    Examples
    --------
    >>> import numpy as np
    >>> standardize(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """
    centred: NDArray[Any] = X - X.mean(axis=0)
    if len(X) < 2:
        return centred
    deviation = centred.std(axis=0, ddof=1)
    # A constant column has a deviation of rounding errors, not of zero.
    constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
    centred[:, constant] = 0
    deviation[constant] = 1
    centred /= deviation
    return centred


def unit_rows(points: NDArray[Any]) -> NDArray[Any]:
    """Scale every row to unit length; a row of zeros stays.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    length = np.linalg.norm(points, axis=1, keepdims=True)
    length[length == 0] = 1
    scaled: NDArray[Any] = points / length
    return scaled
