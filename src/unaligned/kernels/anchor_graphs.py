"""Rows of a view as mixtures of its own anchors, and anchors of two such graphs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.graph_matching import match_graphs
from unaligned.kernels.residual import sum_of_squares
from unaligned.kernels.simplex import project_simplex

__all__ = ["match_anchors", "misfit", "update_graph"]


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


def match_anchors(
    reference: NDArray[Any], graph: NDArray[Any], weight: float, discretise: str
) -> NDArray[np.intp]:
    """Anchor of a reference graph for every anchor of another graph.

    Maximises Tr(S₁ T S₂ Tᵀ) + w Tr(Kᵀ T), where S = ZᵀZ and K = Z₁ᵀZ₂: anchors that
    share samples in one graph shall share some in the other, and have samples in
    common. Only the second term needs samples that correspond.

    Parameters
    ----------
    reference, graph : ndarrays of shape (n_rows, n_anchors)
    weight : float
        Weight w of samples in common.
    discretise : {"argmax", "greedy", "optimal"}
        As in `match_graphs`.

    Examples
    --------
    >>> import numpy as np
    >>> graph = np.repeat(np.eye(3), [1, 2, 3], axis=0)
    >>> match_anchors(graph, graph[:, [2, 0, 1]], 1.0, "greedy")
    array([2, 0, 1])
    """
    return match_graphs(
        reference.T @ reference,
        graph.T @ graph,
        reference.T @ graph,
        weight=weight,
        start=1 / graph.shape[1] ** 2,
        discretise=discretise,
    )
