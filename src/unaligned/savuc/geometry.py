"""Geometry of a view: what its rows look like to each other, on a scale of its own.

Nothing here looks at a second view. Columns are standardised and rows scaled to unit
length, so that no view is heard louder than another; fifty principal directions keep
what two views can share.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.neighbors import kneighbors_graph

from unaligned.kernels.scaling import unit_rows

__all__ = ["Geometry", "read_geometry", "row_distances"]

Array = NDArray[Any]

N_DIRECTIONS = 50  # principal directions kept
N_COARSE = 20  # of them, for the search
# Share of the mean variance added to each variance before whitening.
COARSE_RIDGE, FINE_RIDGE = 0.01, 0.03


class Geometry(NamedTuple):
    """A view in its own principal directions (float32), and the way there."""

    points: Array
    """Principal coordinates of the rows: (n, at most 50)."""
    mean: Array
    scale: Array
    center: Array
    directions: Array

    @property
    def coarse(self) -> Array:
        """Leading coordinates, whitened: for the search."""
        return whiten(self.points[:, :N_COARSE], COARSE_RIDGE)

    @property
    def fine(self) -> Array:
        """All coordinates, whitened: for the last steps."""
        return whiten(self.points, FINE_RIDGE)

    def read(self, X: Any) -> Array:
        """Principal coordinates of new rows of the view."""
        lengths = row_lengths(X, self.mean, self.scale)
        scaled = X @ (self.directions / self.scale[:, None])
        offset = (self.mean / self.scale) @ self.directions
        points = (scaled - offset) / lengths[:, None] - self.center
        return np.asarray(points, dtype=np.float32)


def whiten(points: Array, ridge: float) -> Array:
    """Bring all directions near unit variance; weak ones stay a little weaker."""
    whitened: Array = points / spread_of(points, ridge)
    return whitened


def spread_of(points: Array, ridge: float) -> Array:
    """Measure the spread of every direction, plus a share of the mean variance."""
    variance = points.var(axis=0)
    spread: Array = np.sqrt(variance + ridge * variance.mean())
    return np.where(spread > 0, spread, 1)


def read_geometry(X: Any, rng: np.random.RandomState) -> Geometry:
    """Standardise columns, scale rows to unit length, find principal directions.

    A sparse view is never centred in memory: its rows are read as sparse rows minus a
    common offset.
    """
    mean, deviation = column_moments(X)
    scale = np.where(deviation > 0, deviation, np.inf)
    lengths = row_lengths(X, mean, scale)
    scaled, offset = X @ _diagonal(1 / scale), mean / scale
    # Rows of unit length, minus their own mean: D (X − 1 oᵀ) − 1 cᵀ with D = 1/lengths.
    inverse = 1 / lengths
    center = (scaled.T @ inverse - inverse.sum() * offset) / X.shape[0]
    if not sparse.issparse(X):
        rows = (scaled - offset) * inverse[:, None] - center
        directions = _principal_directions(rows, N_DIRECTIONS, rng)
        points = rows @ directions
    else:
        directions = _principal_directions(
            _centred_rows(scaled, offset, inverse, center), N_DIRECTIONS, rng
        )
        points = (scaled @ directions - offset @ directions) * inverse[:, None]
        points -= center @ directions
    return Geometry(
        np.asarray(points, dtype=np.float32),
        mean,
        scale,
        center @ directions,
        directions,
    )


def column_moments(X: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of every column, in float64."""
    n = X.shape[0]
    mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() / n
        variance = np.maximum(squares - mean**2, 0)
    else:
        variance = X.var(axis=0, dtype=np.float64)
    constant = variance <= (1e-6 * np.abs(mean)) ** 2
    return mean, np.sqrt(np.where(constant, 0, variance))


def row_lengths(X: Any, mean: Array, scale: Array) -> Array:
    """Length of every standardised row; 1 for a row at the mean."""
    offset = mean / scale
    if sparse.issparse(X):
        scaled = X @ _diagonal(1 / scale)
        squares = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        squares = squares - 2 * (scaled @ offset) + offset @ offset
    else:
        scaled = X / scale - offset
        squares = np.einsum("jd,jd->j", scaled, scaled)
    lengths = np.sqrt(np.maximum(squares, 0))
    lengths[lengths <= 1e-12] = 1
    return np.asarray(lengths)


def _diagonal(values: Array) -> Any:
    return sparse.diags_array(values)


def _centred_rows(scaled: Any, offset: Array, inverse: Array, center: Array) -> Any:
    """Scale and centre the rows of a sparse view, as an operator."""
    ones = np.ones(scaled.shape[0])

    def forward(v: Array) -> Array:
        v = v.ravel()
        result: Array = inverse * (scaled @ v - offset @ v) - center @ v * ones
        return result

    def backward(u: Array) -> Array:
        u = u.ravel()
        weighted = inverse * u
        result: Array = scaled.T @ weighted - weighted.sum() * offset - u.sum() * center
        return result

    return LinearOperator(scaled.shape, matvec=forward, rmatvec=backward)


def _principal_directions(rows: Any, wanted: int, rng: np.random.RandomState) -> Array:
    """Leading right singular vectors as columns, strongest first."""
    n, d = rows.shape
    wanted = min(wanted, n - 1, d)
    if isinstance(rows, LinearOperator):
        if wanted >= min(n, d):
            rows = rows @ np.eye(d)
        else:
            start = rng.uniform(-1, 1, size=min(n, d))
            _, _, right = svds(rows, k=wanted, v0=start)
            return np.ascontiguousarray(right[::-1].T)
    if d <= 4 * n or d <= 2000:
        _, vectors = np.linalg.eigh(np.asarray(rows.T @ rows, dtype=np.float64))
        return np.ascontiguousarray(vectors[:, ::-1][:, : max(wanted, 1)])
    _, vectors = np.linalg.eigh(np.asarray(rows @ rows.T, dtype=np.float64))
    left = vectors[:, ::-1][:, : max(wanted, 1)]
    directions = rows.T @ left
    return np.asarray(directions / np.linalg.norm(directions, axis=0))


def row_distances(points: Array) -> Array:
    """Distances between rows: hops along nearest neighbours plus angles, evenly.

    Hops follow the shape of the data; angles in the leading directions tell near rows
    apart. Each is divided by its spread, so that neither drowns the other.
    """
    m = len(points)
    unit = unit_rows(points)
    n_neighbors = min(15, max(5, m // 20), m - 1)
    neighbors = kneighbors_graph(unit, n_neighbors, include_self=False)
    hops = shortest_path(neighbors, directed=False, unweighted=True)
    unreached = ~np.isfinite(hops)
    hops[unreached] = 1.5 * hops[~unreached].max()
    coarse = unit_rows(points[:, :N_COARSE])
    angles = 1 - coarse @ coarse.T
    distances: Array = hops / _spread(hops) + angles / _spread(angles)
    return distances.astype(np.float32)


def _spread(values: Array) -> float:
    return float(values.std()) or 1.0
