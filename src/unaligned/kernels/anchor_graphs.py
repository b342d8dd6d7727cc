"""Rows of a view as mixtures of its own orthonormal anchors."""

from typing import Any

from numpy.typing import NDArray

from unaligned.kernels.residual import sum_of_squares
from unaligned.kernels.simplex import project_simplex

__all__ = ["misfit", "update_graph"]


def update_graph(X: NDArray[Any], anchors: NDArray[Any], ridge: float) -> NDArray[Any]:
    """Minimise ‖x − zA‖² + r‖z‖² over the simplex for every row x, where A Aᵀ = I.

    Where A Aᵀ is not the identity (centres that a method starts from, more anchors than
    features) the authors' programs use the same formula, which then is no minimiser.

    Examples
    --------
    >>> import numpy as np
    >>> update_graph(np.array([[2.0, 0.0], [1.0, 1.0]]), np.eye(2), 1.0)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    return project_simplex(X @ anchors.T / (1 + ridge))


def misfit(
    X: NDArray[Any], anchors: NDArray[Any], graph: NDArray[Any], ridge: float
) -> float:
    """Sum what `update_graph` lowers over all rows: ‖X − Z A‖² + r‖Z‖².

    Examples
    --------
    >>> import numpy as np
    >>> misfit(np.array([[2.0, 0.0]]), np.eye(2), np.array([[1.0, 0.0]]), 3.0)
    4.0
    """
    return sum_of_squares(X - graph @ anchors) + ridge * sum_of_squares(graph)
