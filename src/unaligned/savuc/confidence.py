"""Confidence: the probability that a match is right, if its views belong together.

Along canonical directions the rows of matched views are taken for Gaussian, so that the
likelihood ratio of two rows being one object to their being two has a closed form. A
row has at most one partner. What follows for a match from all one-to-one matchings is
found by belief propagation; how many rows have no partner, and which, by comparison
with a null (`absence`). Nothing here is set by labels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.savuc.absence import BELOW_ONE, NOTHING, Partnered, partnered

__all__ = [
    "N_CANDIDATES",
    "Canonical",
    "Messages",
    "candidate_probabilities",
    "canonical_directions",
    "canonical_rows",
    "learn_directions",
    "log_ratios",
    "match_confidence",
    "match_probabilities",
    "propagate",
    "ratio_factors",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

ROWS_PER_DIRECTION = 4  # of either view, at least: fewer fit the correlations to chance
LEAST_VARIANCE = 1e-3  # of the largest: directions without variance are not scaled up
NO_VARIANCE = 1e-20  # of rows whose columns had unit variance: rounding
LEAST_RESIDUAL = 1e-4  # of a canonical direction: keeps ratios of equal rows finite
LEAST_BELIEVED = 0.01  # probability below which a pair is left out. Cost
N_ROUNDS = 30  # of messages; after ten, probabilities are the same to a hundredth
TINY = 1e-9  # share of a sum that is left where one term has taken all of it
N_CANDIDATES = 16  # of every row. Cost: memory is in proportion to it
N_RELEARNED = 3  # times that directions are learned; after two they hardly change. Cost
N_AT_ONCE = 100_000  # pairs of rows whose ratios are computed at once: memory


def match_confidence(
    one: Array, other: Array, partner: Indices, candidates: Any
) -> NDArray[np.float64]:
    """Probability that the partner of every row of the first view is the right one.

    Parameters
    ----------
    one, other : ndarray of shape (n, d) and (m, e)
        Rows of two views.
    partner : ndarray of shape (n,)
        Row of ``other`` that every row of ``one`` is matched to; -1: none.
    candidates : sparse matrix of shape (n, m)
        Pairs of rows that are near; the others are left out of account.

    Returns
    -------
    ndarray of shape (n,)
        Zero where there is no partner, and where it is not among the candidates.
    """
    matched = np.flatnonzero(partner >= 0)
    chosen = partner[matched]
    pairs, present = (one[matched], other[chosen]), np.ones(len(matched))
    canonical = canonical_directions(*pairs, present)
    columns = likeliest(canonical, one, other, sparse.csr_array(candidates))
    for _ in range(N_RELEARNED):
        ratios = ratios_of(canonical, one, other, columns)
        found = candidate_probabilities(columns, ratios, len(other), matched)
        if found.present.sum() < ROWS_PER_DIRECTION:
            break  # nothing is left to learn from
        canonical = canonical_directions(*pairs, found.present)
    confidence = np.zeros(len(one))
    is_chosen = columns[matched] == chosen[:, None]
    confidence[matched] = np.where(is_chosen, found.probability, 0.0).max(axis=1)
    return np.minimum(confidence, BELOW_ONE)


def likeliest(canonical: "Canonical", one: Array, other: Array, near: Any) -> Indices:
    """Of the pairs of a sparse matrix, the likeliest of every row: (n, k), or -1."""
    rows = np.repeat(np.arange(len(one)), np.diff(near.indptr))
    columns = np.asarray(near.indices, dtype=np.intp)
    along = canonical.read(one, 0), canonical.read(other, 1)
    ratios = log_ratios(*along, canonical.correlations, rows, columns)
    order = np.lexsort((-ratios, rows))
    rank = np.arange(len(rows)) - near.indptr[rows]
    best = rank < N_CANDIDATES
    k = min(N_CANDIDATES, int(rank.max()) + 1)
    found = np.full((len(one), k), -1, dtype=np.intp)
    found[rows[best], rank[best]] = columns[order[best]]
    return found


def ratios_of(
    canonical: "Canonical", one: Array, other: Array, columns: Indices
) -> Array:
    """Log-likelihood ratios of candidates of every row, `NOTHING` for none: (n, k)."""
    ratios = np.full(columns.shape, NOTHING)
    rows, places = np.nonzero(columns >= 0)
    along = canonical.read(one, 0), canonical.read(other, 1)
    ratios[rows, places] = log_ratios(
        *along, canonical.correlations, rows, columns[rows, places]
    )
    return ratios


def candidate_probabilities(
    columns: Array, ratios: Array, m: int, asked: Indices | None = None
) -> Partnered:
    """Probability that candidates of rows are their partners, of which some have none.

    Parameters
    ----------
    columns, ratios : ndarray of shape (n, k)
        Candidates of every row among m columns, and their log-likelihood ratios,
        `NOTHING` where there is none.
    m : int
    asked : ndarray of int, optional
        Rows that are asked about; the others compete for columns, but are not counted
        among those that may lack a partner. Default: all.
    """
    n, k = columns.shape
    rows = np.repeat(np.arange(n), k)
    taken = np.maximum(columns, 0).ravel()  # what is none claims nothing of the first
    found = propagate(ratios.ravel().astype(np.float64), rows, taken, (n, m))
    asked = np.arange(n) if asked is None else asked
    probability = found.probability.reshape(n, k)[asked]
    best = probability.max(axis=1)
    if k == 1:  # nothing is left to compare with where a partner is taken away
        return Partnered(probability, best, float(1 - best.mean()))
    return partnered(found.support.reshape(n, k)[asked], best)


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
    """Map that gives rows of this covariance unit variance in all directions.

    Rows that are all the same have none to be scaled.
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
