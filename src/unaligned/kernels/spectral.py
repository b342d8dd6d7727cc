"""Spectral embedding of an anchor graph."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

__all__ = ["GraphEmbedding", "embed_graph"]


class GraphEmbedding(NamedTuple):
    """Coordinates of the rows of a graph, and the map that gave them."""

    vectors: NDArray[Any]
    """Left singular vectors of the graph, leading ones first: (n, r)."""
    components: NDArray[Any]
    """Takes a row of the graph to its coordinates: (m, r)."""

    def fold_in(self, graph: NDArray[Any]) -> NDArray[Any]:
        """Coordinates of new graph rows in the same space."""
        coordinates: NDArray[Any] = graph @ self.components
        return coordinates


def embed_graph(graph: NDArray[Any], n_components: int) -> GraphEmbedding:
    """Embed samples by the leading left singular vectors of their anchor graph.

    They are found through the small m × m Gram matrix, in float64.

    Parameters
    ----------
    graph : ndarray of shape (n, m)
        Row j holds the weights between sample j and the m anchors.
    n_components : int
        Directions wanted. Directions in which the graph has no extent are left out,
        since their singular vectors are arbitrary.

    Returns
    -------
    GraphEmbedding

    Examples
    --------
    >>> import numpy as np
    >>> graph = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> np.abs(embed_graph(graph, 2).vectors).round(2)
    array([[0.71, 0.  ],
           [0.71, 0.  ],
           [0.  , 1.  ]])
    """
    m = graph.shape[1]
    gram = (graph.T @ graph).astype(np.float64)
    wanted = min(n_components, m)
    squares, right = eigh(gram, subset_by_index=[m - wanted, m - 1])
    squares, right = squares[::-1], right[:, ::-1]
    # The Gram matrix is exact to eps times its largest eigenvalue.
    noise = 10 * m * np.finfo(graph.dtype).eps * squares[0]
    kept = max(1, int(np.count_nonzero(squares > noise)))
    extent = np.sqrt(np.where(squares[:kept] > 0, squares[:kept], 1))
    components = (right[:, :kept] / extent).astype(graph.dtype)
    return GraphEmbedding(graph @ components, components)
