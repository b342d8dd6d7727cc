"""How far a matrix is from a product of two thin ones."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["squared_residual", "sum_of_squares"]


def sum_of_squares(X: Any) -> float:
    """‖X‖²_F of a dense or sparse matrix, or of a tensor on any device.

    Examples
    --------
    >>> import numpy as np
    >>> sum_of_squares(np.array([[3.0, 0.0], [0.0, 4.0]]))
    25.0
    """
    if sparse.issparse(X):
        return float(X.multiply(X).sum())
    if isinstance(X, np.ndarray):
        return float(np.vdot(X, X))
    xp = array_namespace(X)
    return float(xp.sum(xp.vecdot(X, X), dtype=xp.float64))


def squared_residual(
    squares: float, cross: NDArray[Any], codes: NDArray[Any], basis: NDArray[Any]
) -> float:
    """‖X − C B‖²_F without an array of the size of X.

    Parameters
    ----------
    squares : float
        ‖X‖²_F, which a solver needs to compute only once.
    cross : ndarray of shape (n, m)
        X Bᵀ, which a solver often has at hand.
    codes : ndarray of shape (n, m)
        C, a row for every row of X.
    basis : ndarray of shape (m, d)
        B.

    Returns
    -------
    float
        At least 0, whatever the rounding errors. They are those of ``squares``: a
        residual that is a tiny share of it has few digits.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes, basis = np.eye(2), np.ones((2, 1)), np.array([[0.5, 0.5]])
    >>> squared_residual(sum_of_squares(X), X @ basis.T, codes, basis)
    1.0
    """
    spread = np.vdot(codes.T @ codes, basis @ basis.T)
    return max(float(squares - 2 * np.vdot(cross, codes) + spread), 0.0)
