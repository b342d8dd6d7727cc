"""Likelihood: how much better two rows fit as one object than as two.

Along canonical directions the rows of matched views are taken for Gaussian, so that the
likelihood ratio has a closed form. Directions are learned from pairs, each as far as it
is believed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = [
    "LEAST_BELIEVED",
    "ROWS_PER_DIRECTION",
    "Canonical",
    "canonical_directions",
    "canonical_rows",
    "explained_of_new",
    "learn_directions",
    "log_ratios",
    "ratio_factors",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

ROWS_PER_DIRECTION = 4  # of either view, at least: fewer fit the correlations to chance
LEAST_VARIANCE = 1e-3  # of the largest: directions without variance are not scaled up
NO_VARIANCE = 1e-20  # of rows whose columns had unit variance: rounding
LEAST_RESIDUAL = 1e-4  # of a canonical direction: keeps ratios of equal rows finite
LEAST_BELIEVED = 0.01  # probability below which a pair is left out. Cost


class Canonical(NamedTuple):
    """Canonical directions of matched rows, and the correlations along them."""

    means: tuple[Array, Array]
    maps: tuple[Array, Array]
    """What leads from centred rows of either view to unit variance along each."""
    correlations: Array

    def read(self, rows: Array, side: int) -> Array:
        """Rows of either view (0 or 1) along its canonical directions."""
        mean, onto = self.means[side], self.maps[side]
        along: Array = (rows[:, : len(mean)] - mean) @ onto
        return along


def canonical_rows(
    one: Array, other: Array, partner: Indices
) -> tuple[Array, Array, Array]:
    """All rows along the canonical directions of matched ones, and the correlations."""
    matched = np.flatnonzero(partner >= 0)
    pairs = one[matched], other[partner[matched]]
    found = canonical_directions(*pairs, np.ones(len(matched)))
    return found.read(one, 0), found.read(other, 1), found.correlations


def learn_directions(
    one: Array, other: Array, rows: Indices, columns: Indices, weights: Array
) -> Canonical:
    """Canonical directions of pairs of rows, each as far as it is believed."""
    counts = weights >= LEAST_BELIEVED
    (some, rows), (others, columns) = _used(rows[counts]), _used(columns[counts])
    table = sparse.csr_array(
        (weights[counts], (rows, columns)), (len(some), len(others))
    )
    return _directions(one[some], other[others], table)


def _used(rows: Indices) -> tuple[Indices, Indices]:
    """Rows that occur, in their order, and where each one stands among them."""
    used = np.flatnonzero(np.bincount(rows))
    places = np.empty(int(rows.max(initial=-1)) + 1, dtype=np.intp)
    places[used] = np.arange(len(used))
    return used, places[rows]


def canonical_directions(one: Array, other: Array, weights: Array) -> Canonical:
    """Canonical directions of pairs of rows, each with a weight from 0 to 1.

    Paired rows have unit variance along every direction. Correlations are those that
    new pairs would have (Ezekiel's correction): directions fit the pairs that they come
    from. Where pairs are few, the leading columns alone are used.
    """
    return _directions(one, other, sparse.diags_array(weights).tocsr())


def _directions(one: Array, other: Array, weights: Any) -> Canonical:
    """Canonical directions of all pairs of rows, by the table of their weights.

    A row counts in its own covariance as often as its pairs do together.
    """
    n = float(weights.sum())
    most = max(1, int(n) // ROWS_PER_DIRECTION)
    one, other = one[:, :most], other[:, :most]
    n_fitted = one.shape[1] + other.shape[1]
    shares = weights / (n or 1.0)
    w, v = (shares.sum(axis=axis) for axis in (1, 0))
    means = w @ one, v @ other
    A, B = one - means[0], other - means[1]
    to_one, to_other = (
        _whitener(rows.T @ (counts[:, None] * rows))
        for rows, counts in ((A, w), (B, v))
    )
    cross = to_one.T @ (A.T @ (shares @ B)) @ to_other
    left, correlations, right = np.linalg.svd(cross, full_matrices=False)
    explained = explained_of_new(correlations**2, n, n_fitted)
    corrected = np.sqrt(np.clip(explained, 0, 1 - LEAST_RESIDUAL))
    return Canonical(means, (to_one @ left, to_other @ right.T), corrected)


def explained_of_new(shares: Array, n_rows: float, n_fitted: int) -> Array:
    """Shares of variance that would be explained of new rows: Ezekiel's correction."""
    unexplained = (1 - shares) * (n_rows - 1) / max(n_rows - n_fitted - 1, 1)
    explained: Array = 1 - unexplained
    return explained


def _whitener(covariance: Array) -> Array:
    """Map that gives rows of this covariance unit variance in all but weak directions.

    Weak ones keep less: no variance is divided by less than a share of the largest.
    Rows that are all the same have no variance. `geometry.whiten` divides columns and
    is not enough here: with weights, principal directions are correlated.
    """
    variances, directions = np.linalg.eigh(covariance)
    if variances[-1] <= NO_VARIANCE:
        return np.zeros_like(directions)
    least = LEAST_VARIANCE * variances[-1]
    whitener: Array = directions / np.sqrt(np.maximum(variances, least))
    return whitener


def log_ratios(
    A: Array, B: Array, correlations: Array, rows: Indices, columns: Indices
) -> NDArray[np.float64]:
    """Log-likelihood ratio of pairs of rows: one object against two.

    Of Gaussian coordinates a and b with correlation c it is
    c a b / (1 − c²) − c² (a² + b²) / (2 (1 − c²)) − log(1 − c²) / 2, summed.
    """
    # Imported here: compiled code is not needed to import the library.
    from unaligned.kernels.pairs import pair_products

    weighted, of_rows, of_columns = _terms(A, B, correlations)
    products = pair_products(weighted, B, rows, columns)
    return np.asarray(products - of_rows[rows] - of_columns[columns])


def _terms(A: Array, B: Array, correlations: Array) -> tuple[Array, Array, Array]:
    """Terms of log ratios: what products are taken of, and those of single rows."""
    residual = 1 - correlations**2
    squares = correlations**2 / residual / 2
    of_rows = (A**2) @ squares + np.log(residual).sum() / 2
    return A * (correlations / residual), of_rows, (B**2) @ squares


def ratio_factors(A: Array, B: Array, correlations: Array) -> tuple[Array, Array]:
    """Give vectors of rows whose products are the log-likelihood ratios of all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> A, B = np.random.RandomState(0).normal(size=(2, 3, 2))
    >>> left, right = ratio_factors(A, B, np.array([0.9, 0.5]))
    >>> rows, columns = np.divmod(np.arange(9), 3)
    >>> ratios = log_ratios(A, B, np.array([0.9, 0.5]), rows, columns)
    >>> np.allclose((left @ right.T).ravel(), ratios)
    True
    """
    weighted, of_rows, of_columns = _terms(A, B, correlations)
    one = np.column_stack([weighted, -of_rows, np.ones(len(A))])
    return one, np.column_stack([B, np.ones(len(B)), -of_columns])
