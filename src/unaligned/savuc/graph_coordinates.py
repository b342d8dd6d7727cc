"""Diffusion coordinates: where a row lies in the graph of its nearest neighbours.

Rows of one cluster have nearly equal diffusion coordinates, whatever the shape of the
cluster. A map from view to view that is linear in them can be learned from few pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from unaligned.kernels.neighbors import likely_top_products, top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.config import Settings
from unaligned.savuc.refine import N_COMPARED

__all__ = ["GraphCoordinates", "read_graph"]

Array = NDArray[Any]

# Of the walk. On development datasets 4 are 2.7 points better than 8 with half of the
# pairs, and about one worse with 2 %.
N_STEPS = 4
SLIGHT = 1e-6  # an eigenvalue of rounding errors, or of nothing after a step


class GraphCoordinates(NamedTuple):
    """A view in the slowest directions of a random walk on its rows (float32)."""

    rows: Array
    """The rows of the graph, at unit length: (n, d)."""
    vectors: Array
    """Right eigenvectors of the walk, without the constant one: (n, at most 50)."""
    values: Array
    """Their eigenvalues, all above 0, largest first."""
    n_neighbors: int
    """Neighbours of a row in the graph."""

    @property
    def points(self) -> Array:
        """Diffusion coordinates of the rows, at unit length."""
        return unit_rows(self.vectors * self.values**N_STEPS)

    def read(self, points: Array) -> Array:
        """Diffusion coordinates of new rows: their first step leads to old rows.

        Parameters
        ----------
        points : ndarray of shape (m, d)
            Principal coordinates of rows of the view, `Geometry.read`.
        """
        wanted = min(self.n_neighbors, len(self.rows))
        near, _ = top_products(unit_rows(points), self.rows, wanted)
        after = self.vectors[near].mean(axis=1)
        return unit_rows(after * self.values ** (N_STEPS - 1))


def read_graph(points: Array, settings: Settings) -> GraphCoordinates:
    """Find the diffusion coordinates of the rows of a view.

    With W the symmetric graph of nearest neighbours by cosine and D its degrees, the
    walk is D⁻¹W. Its right eigenvectors ψ, with eigenvalues λ, give the coordinates
    λᵗψ after t steps. The constant one is left out.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Principal coordinates of the rows, `Geometry.points`.
    settings : Settings
        How many neighbours and coordinates.

    Examples
    --------
    Two groups of rows without a common neighbour lie on two sides.

    >>> import numpy as np
    >>> angles = np.r_[np.linspace(0, 0.1, 20), np.linspace(2, 2.1, 20)]
    >>> rows = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> graph = read_graph(rows, Settings())
    >>> side = np.sign(graph.points[:, 0])
    >>> bool(np.ptp(side[:20]) == np.ptp(side[20:]) == 0 and side[0] != side[-1])
    True
    """
    n, n_neighbors = len(points), settings.n_neighbors
    rows = unit_rows(np.asarray(points, dtype=np.float32))
    if n < 3:
        ones = np.ones(rows.shape[1], dtype=np.float32)
        return GraphCoordinates(rows, rows, ones, n_neighbors)
    weights = _neighbor_graph(rows, n_neighbors)
    degrees = weights.sum(axis=1)
    scale = sparse.diags_array(1 / np.sqrt(degrees))
    constant = np.sqrt(degrees / degrees.sum())
    wanted = min(settings.n_directions, n - 1)
    values, vectors = _leading(scale @ weights @ scale, constant, wanted)
    kept = values > SLIGHT
    kept[0] = True  # a view always has a coordinate
    walk = vectors[:, kept] / constant[:, None]
    return GraphCoordinates(
        rows, walk.astype(np.float32), values[kept].astype(np.float32), n_neighbors
    )


def _neighbor_graph(rows: Array, n_neighbors: int) -> Any:
    """Count, for every two rows, who is among whose nearest: 0, 1 or 2."""
    n = len(rows)
    wanted = min(n_neighbors + 1, n)  # a row is among its own
    nearest = top_products if n <= N_COMPARED else likely_top_products
    near, _ = nearest(rows, rows, wanted)
    ends = np.repeat(np.arange(n), wanted), near.ravel()
    graph = sparse.csr_array((np.ones(n * wanted), ends), shape=(n, n))
    return (graph + graph.T).tocsr()


def _leading(matrix: Any, known: Array, wanted: int) -> tuple[Array, Array]:
    """Find leading eigenvectors beside a known one; largest eigenvalues first."""
    n = matrix.shape[0]
    if n <= 4 * wanted:
        deflated = matrix.toarray() - np.outer(known, known)
        values, vectors = eigh(deflated, subset_by_index=[n - wanted, n - 1])
    else:
        beside = LinearOperator(
            matrix.shape, lambda v: matrix @ v.ravel() - known * (known @ v.ravel())
        )
        # The same start in every run.
        start = np.random.RandomState(0).uniform(-1, 1, size=n)
        values, vectors = eigsh(beside, k=wanted, which="LA", v0=start, tol=1e-4)
    order = np.argsort(-values)
    return values[order], vectors[:, order]
