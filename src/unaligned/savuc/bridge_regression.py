"""Ridge regression with leave-one-out errors in closed form.

Rows have weights w and are centred by their weighted means. With U S Vᵀ the singular
value decomposition of √w X and h = Σ U² s²/(s² + λ) + w/Σw the leverages, the error of
a row that was left out is its residual over 1 − h. One decomposition serves all λ.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PENALTIES", "Ridge", "chance_of_pairs", "fit_ridge", "loo_errors"]

Array = NDArray[Any]

# Over the mean sum of squares of a feature: from none to hardly any slope.
PENALTIES = tuple(10.0**power for power in range(-4, 5))
TINY = 1e-12
N_PERMUTED = 999  # permutations: the smallest p-value is 1/1000
N_AS_GOOD = 10  # permutations as good as the pairs that end the test: cost
N_TESTED = 200  # pairs, at most, that are permuted


class Ridge(NamedTuple):
    """A linear map that was fitted on known pairs, and its errors on rows left out."""

    slopes: Array
    intercept: Array
    variance: Array
    """Error variance of each target column, of rows left out."""
    total: Array
    """The same of the mean alone."""
    left_out: Array
    """Estimate of every row by the other rows: (p, t)."""
    center: Array
    spread: Array
    """Centred features times this, squared and summed, are a leverage: (d, r)."""
    typical: float
    """Mean leverage of the rows that were left out."""
    penalty: float

    @property
    def quality(self) -> float:
        """Share of the variance of all targets explained, of rows left out: R²."""
        return self.explained_of(slice(None))

    def explained_of(self, columns: slice) -> float:
        """Share of the variance of some targets explained, of rows left out: R²."""
        if self.penalty == np.inf:
            return 0.0
        variance, total = self.variance[columns].sum(), self.total[columns].sum()
        return float(max(1 - variance / max(total, TINY), 0))

    def predict(self, X: Array) -> Array:
        """Estimate the targets of rows."""
        estimate: Array = X @ self.slopes + self.intercept
        return estimate

    def inflation(self, X: Array) -> Array:
        """Error variance of rows, over that of the rows which were left out."""
        leverage = (((X - self.center) @ self.spread) ** 2).sum(axis=1)
        return np.asarray((1 + leverage) / (1 + self.typical))


class _Decomposition(NamedTuple):
    left: Array
    singular: Array
    right: Array
    mean: Array
    root: Array
    """Square roots of the weights, in a column."""
    share: Array
    """Weights that sum to 1: the leverages of the mean."""

    def shrinkage(self, penalty: float) -> Array:
        """By how much each direction is shrunk, from 0 to 1."""
        squares = self.singular**2
        if penalty == np.inf:
            return 0 * squares
        unit = squares.sum() / self.right.shape[1]
        return np.asarray(squares / (squares + penalty * unit + TINY))

    def errors(self, Y: Array, penalty: float) -> Array:
        """Errors of rows left out."""
        shrunk = self.left * self.shrinkage(penalty)
        leverage = self.share + np.einsum("pr,pr->p", self.left, shrunk)
        centred = Y - self.share @ Y
        fitted = shrunk @ (self.left.T @ (self.root * centred)) / self.root
        return np.asarray((centred - fitted) / np.maximum(1 - leverage, TINY)[:, None])


def _decompose(X: Array, weights: Array) -> _Decomposition:
    share = weights / weights.sum()
    mean, root = share @ X, np.sqrt(weights)[:, None]
    left, singular, right = np.linalg.svd(root * (X - mean), full_matrices=False)
    return _Decomposition(left, singular, right, mean, root, share)


def loo_errors(X: Array, Y: Array, penalty: float) -> Array:
    """Errors of rows, each left out of the fit: (p, t).

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.arange(4.0)[:, None], np.array([[0.0], [1.0], [2.0], [6.0]])
    >>> loo_errors(X, Y, 0.0).ravel().round(2)
    array([ 2.  , -0.43, -1.71,  3.  ])
    """
    return _decompose(X, np.ones(len(X))).errors(Y, penalty)


def fit_ridge(
    X: Array,
    Y: Array,
    weights: Array | None = None,
    penalties: tuple[float, ...] = PENALTIES,
) -> Ridge:
    """Fit with the penalty of least squared error of rows left out.

    Parameters
    ----------
    X : ndarray of shape (p, d)
        Features, of one scale.
    Y : ndarray of shape (p, t)
        Targets, of one scale: one penalty serves all.
    weights : ndarray of shape (p,), default=None
        How much each row counts, above 0.
    penalties : tuple of float
        Those that are tried, over the mean sum of squares of a centred column of X.
        Infinity is the mean.

    Returns
    -------
    Ridge
        The mean, where there are two rows or fewer, or no penalty beats it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.RandomState(0).normal(size=(30, 2))
    >>> fit = fit_ridge(X, X @ [[1.0], [2.0]] + 3)
    >>> fit.predict(np.array([[1.0, 1.0]])).round(2), round(fit.quality, 2)
    (array([[6.]]), 1.0)
    """
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    found = _decompose(X, np.ones(len(X)) if weights is None else weights)
    mean = found.share @ Y
    # Of the mean alone: what a regression has to beat.
    errors = (Y - mean) / np.maximum(1 - found.share, TINY)[:, None]
    total = variance = found.share @ errors**2
    chosen = np.inf
    for penalty in penalties if len(X) > 2 else ():
        tried = found.errors(Y, penalty)
        squares = found.share @ tried**2
        if squares.sum() < variance.sum():
            chosen, errors, variance = penalty, tried, squares
    gain = found.shrinkage(chosen)
    inverse = 1 / np.maximum(found.singular, TINY)
    onto = found.left.T @ (found.root * (Y - mean))
    slopes = found.right.T @ ((gain * inverse)[:, None] * onto)
    spread = found.right.T * (np.sqrt(gain) * inverse)
    leverage = (((X - found.mean) @ spread) ** 2).sum(axis=1)
    return Ridge(
        slopes,
        mean - found.mean @ slopes,
        variance,
        total,
        Y - errors,
        found.mean,
        spread,
        float(found.share @ leverage),
        chosen,
    )


def chance_of_pairs(X: Array, Y: Array, rng: np.random.RandomState) -> float:
    """P-value of "pairs say no more than pairs at random".

    The statistic is the least squared error of rows left out, over all penalties. It is
    computed again with the rows of Y permuted, penalty included, so that the test is
    exact: without any relation the result is at most q with probability q. It ends
    early where permutations are as good (Besag and Clifford, 1991).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(40, 3))
    >>> chance_of_pairs(X, X**2 + X, rng), chance_of_pairs(X[:2], X[:2], rng)
    (0.001, 1.0)
    """
    p = len(X)
    if p < 3:
        return 1.0
    tested = rng.choice(p, min(p, N_TESTED), replace=False)
    X, Y = (np.asarray(A[tested], dtype=np.float64) for A in (X, Y))
    found, p = _decompose(X, np.ones(len(X))), len(X)
    # An error is linear in Y, so its squared sum is a quadratic form: tr(QᵀQ YYᵀ).
    maps = [found.errors(np.eye(p), penalty) for penalty in PENALTIES]
    forms = np.stack([(Q.T @ Q).ravel() for Q in maps])
    products = (Y - Y.mean(axis=0)) @ (Y - Y.mean(axis=0)).T
    least = (forms @ products.ravel()).min()
    as_good = 0
    for count in range(1, N_PERMUTED + 1):
        order = rng.permutation(p)
        permuted = products[np.ix_(order, order)].ravel()
        # Rounding must not make a permutation worse than itself.
        as_good += int((forms @ permuted).min() <= least * (1 + 1e-9))
        if as_good == N_AS_GOOD:
            return as_good / count
    return (1 + as_good) / (1 + N_PERMUTED)
