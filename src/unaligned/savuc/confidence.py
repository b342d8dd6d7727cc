"""Confidence: the probability that a match is right, if its views belong together.

Along canonical directions the rows of matched views are taken for Gaussian, so that the
likelihood ratio of two rows being one object to their being two has a closed form. A
row has at most one partner. The probability of a match under all one-to-one matchings
follows by belief propagation; the share of rows that have a partner is estimated with
it. Nothing here is set by labels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Canonical",
    "Messages",
    "canonical_directions",
    "canonical_rows",
    "learn_directions",
    "log_ratios",
    "match_probabilities",
    "propagate",
    "ratio_factors",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

ROWS_PER_DIRECTION = 4  # of either view, at least: fewer fit the correlations to chance
LEAST_VARIANCE = 1e-3  # of the largest: directions without variance are not scaled up
LEAST_RESIDUAL = 1e-4  # of a canonical direction: keeps ratios of equal rows finite
LEAST_BELIEVED = 0.01  # probability below which a pair is left out. Cost
N_ROUNDS = 30  # of messages; after ten, probabilities are the same to a hundredth
TINY = 1e-9  # share of a sum that is left where one term has taken all of it
BELOW_ONE = np.nextafter(1, 0)  # confidence of known pairs only is one
N_AT_ONCE = 100_000  # pairs of rows whose ratios are computed at once: memory


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
    rows, columns = rows[counts], columns[counts]
    return canonical_directions(one[rows], other[columns], weights[counts])


def canonical_directions(one: Array, other: Array, weights: Array) -> Canonical:
    """Canonical directions of pairs of rows, each with a weight from 0 to 1.

    Paired rows have unit variance along every direction. Correlations are those that
    new pairs would have (Ezekiel's correction): directions fit the pairs that they come
    from. Where pairs are few, the leading columns alone are used.
    """
    n = float(weights.sum())
    most = max(1, int(n) // ROWS_PER_DIRECTION)
    one, other = one[:, :most], other[:, :most]
    n_fitted = one.shape[1] + other.shape[1]
    w = (weights / n)[:, None]
    means = (w * one).sum(axis=0), (w * other).sum(axis=0)
    A, B = one - means[0], other - means[1]
    to_one, to_other = _whitener(A.T @ (w * A)), _whitener(B.T @ (w * B))
    cross = to_one.T @ (A.T @ (w * B)) @ to_other
    left, correlations, right = np.linalg.svd(cross, full_matrices=False)
    unexplained = (1 - correlations**2) * (n - 1) / max(n - n_fitted - 1, 1)
    corrected = np.sqrt(np.clip(1 - unexplained, 0, 1 - LEAST_RESIDUAL))
    return Canonical(means, (to_one @ left, to_other @ right.T), corrected)


def _whitener(covariance: Array) -> Array:
    """Map that gives rows of this covariance unit variance in all directions."""
    variances, directions = np.linalg.eigh(covariance)
    least = LEAST_VARIANCE * max(float(variances[-1]), np.finfo(np.float64).tiny)
    whitener: Array = directions / np.sqrt(np.maximum(variances, least))
    return whitener


def log_ratios(
    A: Array, B: Array, correlations: Array, rows: Indices, columns: Indices
) -> NDArray[np.float64]:
    """Log-likelihood ratio of pairs of rows: one object against two.

    Of Gaussian coordinates a and b with correlation c it is
    c a b / (1 − c²) − c² (a² + b²) / (2 (1 − c²)) − log(1 − c²) / 2, summed.
    """
    weighted, of_rows, of_columns = _terms(A, B, correlations)
    ratios = np.empty(len(rows))
    for start in range(0, len(rows), N_AT_ONCE):
        some = slice(start, start + N_AT_ONCE)
        i, j = rows[some], columns[some]
        products = np.einsum("pd,pd->p", weighted[i], B[j])
        ratios[some] = products - of_rows[i] - of_columns[j]
    return ratios


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


def match_probabilities(
    ratios: Array,
    rows: Indices,
    columns: Indices,
    shape: tuple[int, int],
    log_odds: float | None = None,
) -> NDArray[np.float64]:
    """Probability of every pair under all one-to-one matchings of rows and columns.

    The weight of a matching is the product over its pairs of ratio times prior odds.
    Sums over matchings are taken by belief propagation, which is exact where pairs
    close no loop.

    Parameters
    ----------
    ratios : ndarray of shape (n_pairs,)
        Log-likelihood ratios.
    rows, columns : ndarrays of shape (n_pairs,)
        The pairs, sorted by rows; every row has one.
    shape : tuple of int
        Number of rows and of columns.
    log_odds : float, optional
        Logarithm of the prior odds of a pair. Default: by expectation maximisation,
        from nine matches in ten rows.

    Returns
    -------
    ndarray of shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> match_probabilities(np.log([8.0, 1.0, 1.0]), *pairs, (2, 2), 0.0).round(2)
    array([0.84, 0.05, 0.47])
    """
    return propagate(ratios, rows, columns, shape, log_odds).probability


class Messages(NamedTuple):
    """What belief propagation finds of every pair."""

    probability: Array
    support: Array
    """Log-likelihood ratio, less what other rows claim of the column."""


def propagate(
    ratios: Array,
    rows: Indices,
    columns: Indices,
    shape: tuple[int, int],
    log_odds: float | None = None,
) -> Messages:
    """Probabilities as in `match_probabilities`, and the support that leads to them."""
    n, m = shape
    fixed = log_odds is not None
    odds = _log_odds(0.9 * min(n, m), n, m) if log_odds is None else log_odds
    starts = np.searchsorted(rows, np.arange(n))
    largest = np.maximum.reduceat(ratios, starts)
    weights, alone = np.exp(ratios - largest[rows]), np.exp(-np.maximum(largest, -500))
    from_columns = np.ones(len(rows))
    for _ in range(N_ROUNDS):
        unmatched = alone * np.exp(-odds)
        to_rows = weights * from_columns
        sums = np.add.reduceat(to_rows, starts) + unmatched
        from_rows = weights / _without(sums[rows], to_rows)
        sums = 1 + np.bincount(columns, from_rows, minlength=m)
        from_columns = 1 / _without(sums[columns], from_rows)
        to_rows = weights * from_columns
        probability = to_rows / (np.add.reduceat(to_rows, starts) + unmatched)[rows]
        if not fixed:
            odds = _log_odds(float(probability.sum()), n, m)
    return Messages(probability, ratios + np.log(from_columns))


def _without(sums: Array, terms: Array) -> Array:
    """Take one of its terms out of each sum."""
    rest: Array = np.maximum(sums - terms, TINY * sums)
    return rest


def _log_odds(n_matches: float, n: int, m: int) -> float:
    """Log odds of a pair where so many are expected, half a row on each side spare."""
    spare = np.log(max(n - n_matches, 0) + 0.5) + np.log(max(m - n_matches, 0) + 0.5)
    return float(np.log(max(n_matches, TINY)) - spare)
