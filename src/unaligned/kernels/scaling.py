"""Bringing the columns or rows of a matrix to one scale."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = [
    "column_moments",
    "row_blocks",
    "row_lengths",
    "standardize",
    "unit_rows",
]


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


def row_blocks(X: Any) -> list[slice]:
    """Row slices that are large beside a Gram matrix, and small beside a view."""
    n, d = X.shape
    step = max(d, 2**20 // d, 1)
    return [slice(start, start + step) for start in range(0, n, step)]


def column_moments(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mean and standard deviation of every column, in float64."""
    n = X.shape[0]
    mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() / n
        variance = np.maximum(squares - mean**2, 0)
    else:
        variance = (
            sum(((X[block] - mean) ** 2).sum(axis=0) for block in row_blocks(X)) / n
        )
    constant = variance <= (1e-6 * np.abs(mean)) ** 2
    return mean, np.sqrt(np.where(constant, 0, variance))


def row_lengths(X: Any, mean: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
    """Length of every standardised row; 1 for a row at the mean."""
    offset = mean / scale
    if sparse.issparse(X):
        scaled = X @ sparse.diags_array(1 / scale)
        squares = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        squares = squares - 2 * (scaled @ offset) + offset @ offset
    else:
        scaled = X / scale - offset
        squares = np.einsum("jd,jd->j", scaled, scaled)
    lengths = np.sqrt(np.maximum(squares, 0))
    lengths[lengths <= 1e-12] = 1
    return np.asarray(lengths)
