"""Bipartite graphs between samples and anchors that fall into separate pieces."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

from unaligned.kernels.simplex import project_simplex

__all__ = [
    "BipartiteEmbedding",
    "SplitGraph",
    "bipartite_components",
    "embed_bipartite",
    "split_graph",
]


class BipartiteEmbedding(NamedTuple):
    """Spectral coordinates of both sides of a graph."""

    rows: NDArray[Any]
    """Coordinates of the samples over the roots of their degrees: (n, r)."""
    columns: NDArray[Any]
    """Coordinates of the anchors over the roots of their degrees: (m, r)."""
    eigenvalues: NDArray[Any]
    """The r + 1 largest (or all m), in [0, 1]; as many are 1 as there are pieces."""


class SplitGraph(NamedTuple):
    """A graph in pieces."""

    graph: NDArray[Any]
    """Weights between samples and anchors: (n, m), rows on the simplex."""
    labels: NDArray[np.intp]
    """Piece of every sample, counted from 0: (n,)."""


def embed_bipartite(graph: NDArray[Any], n_components: int) -> BipartiteEmbedding:
    """Embed both sides of a bipartite graph by its normalised Laplacian.

    The n + m nodes get the leading eigenvectors of the normalised adjacency matrix,
    found through an m × m Gram matrix. Nodes without edges sit at the origin.

    Parameters
    ----------
    graph : ndarray of shape (n, m)
        Non-negative weights between samples and anchors.
    n_components : int
        Directions r wanted, at most m.

    Returns
    -------
    BipartiteEmbedding

    Examples
    --------
    >>> import numpy as np
    >>> graph = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> embed_bipartite(graph, 2).eigenvalues
    array([1., 1.])
    """
    m = graph.shape[1]
    row_scale = _inverse_root(graph.sum(axis=1))[:, None]
    column_scale = _inverse_root(graph.sum(axis=0))
    normalised = graph * row_scale
    normalised *= column_scale
    gram = normalised.T @ normalised
    first = max(m - n_components - 1, 0)
    eigenvalues, right = eigh(gram, subset_by_index=[first, m - 1])
    eigenvalues, right = eigenvalues[::-1], right[:, ::-1][:, :n_components]
    left = normalised @ right
    # Their lengths are the singular values, exact where roots of eigenvalues are not.
    left /= np.maximum(np.linalg.norm(left, axis=0), 1e-12)
    # An eigenvector of all n + m nodes has half of its unit length on either side.
    half = np.sqrt(0.5)
    return BipartiteEmbedding(
        half * row_scale * left, half * column_scale[:, None] * right, eigenvalues
    )


def split_graph(
    affinity: NDArray[Any],
    start: NDArray[Any],
    n_components: int,
    *,
    pull: float = 0.1,
    max_iter: int = 50,
    tol: float = 1e-7,
) -> SplitGraph:
    """Find a graph near ``affinity`` that falls into ``n_components`` pieces.

    The Laplacian of a graph of k pieces has k zero eigenvalues, so that their sum is
    what stands between a graph and its pieces. In turn, all nodes are embedded by the
    graph's leading eigenvectors, and the graph is drawn anew: every sample spreads its
    weight to be near its affinities, less ``pull`` / 2 times its squared distances to
    the anchors. The pull is doubled while there are too few pieces, halved while there
    are too many. Samples use only anchors of positive affinity; one that has none uses
    the anchor of largest affinity.

    Computed in float64, since whether two pieces hang together is a question of small
    differences.

    Parameters
    ----------
    affinity : ndarray of shape (n, m)
        What the graph should be near, of any sign.
    start : ndarray of shape (n, m)
        Non-negative graph whose embedding is the first.
    n_components : int
        Pieces k wanted, at most m.
    pull : float, default=0.1
        First weight of the distances.
    max_iter : int, default=50
        The number of pieces may differ from ``n_components`` if it was not hit by then.
    tol : float, default=1e-7
        How far from 1 the eigenvalues of separate pieces may be, in sum.

    Returns
    -------
    SplitGraph

    Notes
    -----
    The search looks at the mean of two graphs, one whose rows and one whose columns lie
    on the simplex; what is returned is the former. Edges that only the latter has can
    make it fall into more pieces than the mean.

    References
    ----------
    F. Nie, X. Wang, C. Deng, H. Huang. Learning A Structured Optimal Bipartite Graph
    for Co-Clustering. NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> affinity = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> split_graph(affinity, affinity, 2).labels
    array([0, 0, 1])
    """
    support = affinity > 0
    support[np.arange(len(affinity)), affinity.argmax(axis=1)] = True
    used = support.any(axis=0)
    # The projection onto the simplex gives entries of minus infinity no weight.
    allowed = np.where(support, affinity.astype(np.float64), -np.inf)
    embedding = embed_bipartite(start.astype(np.float64), n_components)
    for _ in range(max_iter):
        target = allowed - pull / 2 * _squared_distances(embedding)
        graph = project_simplex(target)
        mean = graph.copy()
        mean[:, used] += project_simplex(target[:, used].T).T
        mean /= 2
        embedding = embed_bipartite(mean, n_components)
        if embedding.eigenvalues[:n_components].sum() < n_components - tol:
            pull *= 2
        elif embedding.eigenvalues.sum() > n_components + 1 - tol:
            pull /= 2
        else:
            break
    return SplitGraph(graph.astype(affinity.dtype), bipartite_components(graph))


def bipartite_components(graph: NDArray[Any]) -> NDArray[np.intp]:
    """Tell which connected piece every row of a graph is in, counted from 0.

    Rows hang together if they share a column, directly or through other rows.

    Examples
    --------
    >>> import numpy as np
    >>> graph = np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    >>> bipartite_components(graph)
    array([0, 1, 1])
    """
    n, m = graph.shape
    rows, columns = np.nonzero(graph)
    links = sparse.coo_array(
        (np.ones(len(rows), dtype=bool), (rows, n + columns)), shape=(n + m, n + m)
    )
    _, pieces = connected_components(links, directed=False)
    labels: NDArray[np.intp] = np.unique(pieces[:n], return_inverse=True)[1]
    return labels


def _squared_distances(embedding: BipartiteEmbedding) -> NDArray[Any]:
    """Between all rows and all columns."""
    rows, columns = embedding.rows, embedding.columns
    squares: NDArray[Any] = rows @ (-2 * columns.T)
    squares += np.einsum("jr,jr->j", rows, rows)[:, None]
    squares += np.einsum("hr,hr->h", columns, columns)
    np.maximum(squares, 0, out=squares)
    return squares


def _inverse_root(degrees: NDArray[Any]) -> NDArray[Any]:
    """Degrees to the power of −½; zero where there is none."""
    roots: NDArray[Any] = np.where(degrees > 0, degrees, np.inf) ** -0.5
    return roots
