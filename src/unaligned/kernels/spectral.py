"""Spectral embedding of an anchor graph."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GraphEmbedding", "embed_graph", "unit_rows"]


class GraphEmbedding(NamedTuple):
    """Coordinates of the rows of a graph, and the map that gave them."""

    coordinates: NDArray[Any]
    """Singular vectors, one row per sample, scaled to unit length: (n, r)."""
    components: NDArray[Any]
    """Takes an anchor-graph row to its coordinates before scaling: (m, r)."""

    def fold_in(self, graph: NDArray[Any]) -> NDArray[Any]:
        """Coordinates of new graph rows in the same space."""
        return unit_rows(graph @ self.components)


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


def embed_graph(graph: NDArray[Any], n_components: int) -> GraphEmbedding:
    """Embed samples by the leading singular vectors of their anchor graph.

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
    >>> np.abs(embed_graph(graph, 2).coordinates)
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    left, extent, right = np.linalg.svd(graph, full_matrices=False)
    smallest = np.finfo(extent.dtype).eps * max(graph.shape) * extent[0]
    kept = min(n_components, max(1, int(np.count_nonzero(extent > smallest))))
    scale = np.where(extent[:kept] > 0, extent[:kept], 1)
    return GraphEmbedding(unit_rows(left[:, :kept]), right[:kept].T / scale)
