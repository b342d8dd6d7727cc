"""Geometry of a view: its rows in principal directions, on a scale of its own.

Nothing here looks at a second view. Columns are standardised and rows scaled to unit
length, so that no column and no row weighs more than another. The lengths are kept: in
narrow tables they tell rows apart.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, svds

from unaligned.kernels.scaling import column_moments, row_blocks, row_lengths

__all__ = [
    "Geometry",
    "by_rows",
    "leading_vectors",
    "read_geometry",
    "scaled_geometry",
    "spread_of",
    "unit_length",
    "whiten",
]

Array = NDArray[Any]


class Geometry(NamedTuple):
    """A view in its own principal directions (float32), and the way there."""

    points: Array
    """Principal coordinates of the rows at unit length: (n, d)."""
    mean: Array
    scale: Array
    center: Array
    directions: Array
    lengths: Array = np.empty(0)
    """Lengths of the standardised rows: (n,)."""

    def at_full_length(self) -> Array:
        """Rows along the same directions, before they were scaled to unit length."""
        rows: Array = self.lengths[:, None] * (self.points + self.center)
        return rows

    def without_rows(self) -> "Geometry":
        """Give the way to the coordinates alone, for new rows."""
        return self._replace(points=np.empty((0, 0)), lengths=np.empty(0))

    def read(self, X: Any) -> Array:
        """Principal coordinates of new rows of the view."""
        lengths = row_lengths(X, self.mean, self.scale)
        scaled = X @ (self.directions / self.scale[:, None])
        offset = (self.mean / self.scale) @ self.directions
        points = (scaled - offset) / lengths[:, None] - self.center
        return np.asarray(points, dtype=np.float32)


def whiten(points: Array, ridge: float) -> Array:
    """Bring principal directions near unit variance; weak ones stay a little weaker.

    Points along principal directions are uncorrelated, so each is scaled on its own.
    """
    whitened: Array = points / spread_of(points, ridge)
    return whitened


def spread_of(points: Array, ridge: float) -> Array:
    """Root of the variance of every direction plus a share of the mean variance."""
    variance = points.var(axis=0)
    spread: Array = np.sqrt(variance + ridge * variance.mean())
    return np.where(spread > 0, spread, 1)


def effective_directions(points: Array) -> float:
    """How many directions hold the variance: (Σ λ)² / Σ λ², the participation ratio.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.RandomState(0).normal(size=(1000, 6)) * [9, 9, 9, 1, 1, 1]
    >>> round(effective_directions(rows), 1)
    3.1
    """
    variance = points.var(axis=0)
    return float(variance.sum() ** 2 / (np.sum(variance**2) or 1.0))


def read_geometry(X: Any, n_directions: int, rng: np.random.RandomState) -> Geometry:
    """Standardise columns, scale rows to unit length, find principal directions.

    No scaled copy of the view is made: a dense one is read block by block, a sparse one
    as sparse rows minus a common offset.
    """
    mean, deviation = column_moments(X)
    scale = np.where(deviation > 0, deviation, np.inf)
    return scaled_geometry(X, mean, scale, n_directions, rng)


def scaled_geometry(
    X: Any, mean: Array, scale: Array, n_directions: int, rng: np.random.RandomState
) -> Geometry:
    """Scale rows to unit length, and find principal directions, given scales."""
    if sparse.issparse(X):
        center, directions = _read_sparse(X, mean, scale, n_directions, rng)
    else:
        center, directions = _read_dense(X, mean, scale, n_directions)
    nowhere = np.empty((0, directions.shape[1]), dtype=np.float32)
    geometry = Geometry(nowhere, mean, scale, center @ directions, directions)
    blocks = [geometry.read(X[block]) for block in row_blocks(X)]
    lengths = [row_lengths(X[block], mean, scale) for block in row_blocks(X)]
    return geometry._replace(
        points=np.concatenate(blocks), lengths=np.concatenate(lengths)
    )


def _read_dense(
    X: Array, mean: Array, scale: Array, n_directions: int
) -> tuple[Array, Array]:
    """Mean of the rows at unit length, and their principal directions."""
    n, d = X.shape
    wanted = max(1, min(n_directions, n - 1))
    totals = [unit_length(X[block], mean, scale).sum(axis=0) for block in row_blocks(X)]
    center = np.sum(totals, axis=0) / n
    if by_rows(n, d):
        rows = unit_length(X, mean, scale) - center
        directions = rows.T @ leading_vectors(rows @ rows.T, wanted)
        lengths = np.linalg.norm(directions, axis=0)
        return center, directions / np.where(lengths > 0, lengths, 1)
    gram = np.zeros((d, d))
    for block in row_blocks(X):
        rows = (unit_length(X[block], mean, scale) - center).astype(np.float32)
        gram += rows.T @ rows
    return center, leading_vectors(gram, wanted)


def by_rows(n: int, d: int) -> bool:
    """Whether products of rows, not of columns, lead to principal directions."""
    return d > 4 * n and d > 2000


def _read_sparse(
    X: Any, mean: Array, scale: Array, n_directions: int, rng: np.random.RandomState
) -> tuple[Array, Array]:
    """Mean of the rows at unit length, and their principal directions.

    Those rows are D (X S − 1 oᵀ), of which only X is ever there.
    """
    n, d = X.shape
    scaled, offset = X @ sparse.diags_array(1 / scale), mean / scale
    inverse = 1 / row_lengths(X, mean, scale)
    center = (scaled.T @ inverse - inverse.sum() * offset) / n
    rows = _centred_rows(scaled, offset, inverse, center)
    wanted = min(n_directions, n - 1, d)
    if wanted >= min(n, d):
        table = rows @ np.eye(d)
        return center, leading_vectors(table.T @ table, max(wanted, 1))
    _, _, right = svds(rows, k=wanted, v0=rng.uniform(-1, 1, size=min(n, d)))
    return center, np.ascontiguousarray(right[::-1].T)


def unit_length(X: Array, mean: Array, scale: Array) -> Array:
    """Standardised rows at unit length, in float64; a row at the mean stays there."""
    rows = X / scale - mean / scale
    lengths = np.linalg.norm(rows, axis=1)
    return np.asarray(rows / np.where(lengths > 1e-12, lengths, 1)[:, None])


def leading_vectors(gram: Array, wanted: int) -> Array:
    """Eigenvectors of the largest eigenvalues as columns, largest first."""
    d = len(gram)
    _, vectors = eigh(gram, subset_by_index=[max(d - wanted, 0), d - 1])
    return np.ascontiguousarray(vectors[:, ::-1])


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
