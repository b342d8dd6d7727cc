"""Features of a view for clustering: leading coordinates, and nearest neighbours.

A view is looked at on two scales. "Plain": rows at unit length, so that the length of a
text or the depth of a sequenced cell does not matter. "Standard": columns standardised
first, so that no column matters more than another. Nothing here looks at labels.
"""

from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh, qr

from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import column_moments, row_lengths, unit_rows

__all__ = [
    "Features",
    "Projection",
    "ViewFeatures",
    "most_neighbors",
    "nearest_rows",
    "view_features",
]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_DIRECTIONS = 50  # singular directions kept; the alignment keeps as many
# The default of UMAP and of most graphs of single cells; √n of fewer than 225 rows, or
# all rows would be neighbours.
N_NEIGHBORS = 15
N_EXTRA, N_ROUNDS = 10, 5  # of subspace iteration: Halko, Martinsson and Tropp, 2011


class Projection(NamedTuple):
    """From rows of a view to features: ((x − m)/s) V at unit length.

    Means m and scales s are of the columns; the columns of V are singular directions of
    the scaled rows. Counts are divided by the total of their row first.
    """

    mean: Array
    scale: Array
    directions: Array
    counts: bool = False

    def project(self, X: Any) -> Array:
        """Features of rows, in float32."""
        if self.counts:
            X = _by_total(X)
        directions = self.directions / self.scale[:, None]
        points = unit_rows(X @ directions - self.mean @ directions)
        return np.asarray(points, dtype=np.float32)


class Features(NamedTuple):
    """A view on one scale."""

    projection: Projection
    points: Array
    """Coordinates of the rows, at unit length: float32, (n, at most 50)."""
    neighbors: Labels
    """The nearest other rows of every row: (n, at most 15)."""


class ViewFeatures(NamedTuple):
    """A view on both scales."""

    plain: Features
    standard: Features


def most_neighbors(n_rows: int, n_clusters: int) -> int:
    """How many neighbours to look at: half as many as a mean cluster has rows, or 15.

    Most neighbours are then of a row's own cluster, also where that is a small one.

    Examples
    --------
    >>> most_neighbors(400, 40), most_neighbors(400, 4), most_neighbors(10, 5)
    (5, 15, 2)
    """
    return min(N_NEIGHBORS, max(n_rows // (2 * n_clusters), 2))


def view_features(X: Any, most: int = N_NEIGHBORS) -> ViewFeatures:
    """Compute the features of a view of two or more rows.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
    most : int, default=15
        Neighbours of a row, at most.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.1], [1.0, 0.0], [0.1, 1.0], [0.0, 1.0]])
    >>> view_features(X).plain.neighbors[:, 0]
    array([1, 0, 3, 2])
    """
    X = as_floats(X)
    counts = _are_counts(X)
    shares = _by_total(X) if counts else X
    mean, deviation = column_moments(shares)
    scale = np.where(deviation > 0, deviation, np.inf)
    nothing, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    return ViewFeatures(
        _features(X, Projection(nothing, ones, nothing), most),
        _features(shares, Projection(mean, scale, nothing, counts), most),
    )


def _are_counts(X: Any) -> bool:
    """Whether all entries are natural numbers, as of words, reads or pixels.

    How long a text is or how deep a cell was sequenced would else be the main direction
    of standardised counts.
    """
    values = X.data if sparse.issparse(X) else X
    return bool((values >= 0).all() and (values == np.floor(values)).all())


def _by_total(X: Any) -> Any:
    """Divide every row by its total; a row of zeros stays."""
    totals = np.asarray(X.sum(axis=1)).ravel()
    inverse = 1 / np.where(totals > 0, totals, 1)
    return (
        sparse.diags_array(inverse) @ X if sparse.issparse(X) else X * inverse[:, None]
    )


def as_floats(X: Any) -> Any:
    """Cast to float64, since half floats and small integers overflow."""
    return X.astype(np.float64) if sparse.issparse(X) else np.asarray(X, np.float64)


def _features(X: Any, projection: Projection, most: int) -> Features:
    """Fill in the directions of a projection, and project the rows it is found from."""
    directions = _singular_directions(X, projection.mean, projection.scale)
    points = projection._replace(directions=directions, counts=False).project(X)
    projection = projection._replace(directions=directions)
    return Features(projection, points, nearest_rows(points, most))


def _singular_directions(X: Any, mean: Array, scale: Array) -> Array:
    """Leading right singular vectors of the scaled rows at unit length: (d, ≤ 50).

    By subspace iteration, which is exact where the block spans all columns. Otherwise
    the last directions are mixed with the next ones, which clusters do not depend on.
    """
    rows = _ScaledRows(X, mean, scale)
    n, d = X.shape
    width = min(n, d, N_DIRECTIONS + N_EXTRA)
    if width == d:
        block = np.eye(d)
    else:
        block = np.random.RandomState(0).normal(size=(n, width))
        for _ in range(N_ROUNDS):
            block = qr(rows.times(rows.transposed_times(block)), mode="economic")[0]
        block = qr(rows.transposed_times(block), mode="economic")[0]
    projected = rows.times(block).astype(np.float64)
    return np.asarray(block @ leading(projected.T @ projected, N_DIRECTIONS)[1])


class _ScaledRows:
    """The rows D (X/s − 1 oᵀ) at unit length; where X is sparse, X/s stays sparse."""

    def __init__(self, X: Any, mean: Array, scale: Array) -> None:
        offset, inverse = mean / scale, 1 / row_lengths(X, mean, scale)
        self.sparse = sparse.issparse(X)
        if self.sparse:
            scaled = sparse.diags_array(inverse) @ X @ sparse.diags_array(1 / scale)
            self.rows, self.offset, self.inverse = scaled, offset, inverse
        else:
            self.rows = ((X / scale - offset) * inverse[:, None]).astype(np.float32)

    def times(self, block: Array) -> Array:
        """Multiply by a block of columns."""
        if not self.sparse:
            return np.asarray(self.rows @ block.astype(np.float32))
        shifts = np.outer(self.inverse, self.offset @ block)
        return np.asarray(self.rows @ block - shifts)

    def transposed_times(self, block: Array) -> Array:
        """Multiply the transpose by a block of columns."""
        if not self.sparse:
            return np.asarray(self.rows.T @ block.astype(np.float32))
        shifts = np.outer(self.offset, self.inverse @ block)
        return np.asarray(self.rows.T @ block - shifts)


def leading(gram: Array, wanted: int) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors, at least one, none of rounding noise."""
    m = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(m - wanted, 0), m - 1])
    kept = max(1, int(np.count_nonzero(values > 1e-7 * max(values[-1], 0))))
    return values[::-1][:kept], vectors[:, ::-1][:, :kept]


def nearest_rows(points: Array, most: int = N_NEIGHBORS) -> Labels:
    """For every row of unit length, the nearest other rows: 15, of few rows √n.

    Or fewer, if ``most`` is less.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_rows(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])).ravel()
    array([1, 0, 1])
    """
    n = len(points)
    wanted = min(most, isqrt(n))
    found, _ = top_products(points, points, wanted + 1)
    # Among many equal rows a row may miss itself: then its last neighbour goes.
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return found[~own].reshape(n, wanted)
