"""Which rows have a partner at all, by comparison with a null of left-out partners.

A row without a partner finds rows that are near to it, too, and in dense places very
near ones. How near, the data tell: leave the best candidate of a row out, and what the
others support is what a row without a partner would find. The share of rows without a
partner follows from how many find no more than that, and the probability that a row has
one from both distributions (the local false discovery rate of Efron and others, 2001).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

__all__ = ["BELOW_ONE", "NOTHING", "Partnered", "partnered"]

Array = NDArray[Any]
BELOW_ONE = np.nextafter(1, 0)  # confidence of known pairs only is one
NOTHING = -1e3  # log support of no candidate at all: far below any other


class Partnered(NamedTuple):
    """Probability that every candidate of every row is its partner."""

    probability: Array
    """(n, k)."""
    present: Array
    """Probability that every row has a partner at all: (n,)."""
    absent: float
    """Share of the rows that have no partner."""


def partnered(support: Array, confident: Array) -> Partnered:
    """Probability of candidates, where some rows have no partner.

    Parameters
    ----------
    support : ndarray of shape (n, k)
        Log-likelihood ratios of k candidates of every row, less what other rows claim
        of them; at least two.
    confident : ndarray of shape (n,)
        How far the best candidate of a row is believed to be its partner, from 0 to 1:
        so much the row counts in the null.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> support = rng.normal(size=(4000, 20))
    >>> support[:3000, 0] += 9  # the others have no partner
    >>> found = partnered(support, (support.max(axis=1) > 5).astype(float))
    >>> round(found.absent, 1), found.probability[:3000, 0].mean().round(2)
    (0.2, np.float64(0.99))
    """
    if confident.sum() < 1:  # no row is believed to have a partner: there is no null
        return Partnered(np.zeros(support.shape), np.zeros(len(support)), 1.0)
    support = np.maximum(support, NOTHING)
    ranked = np.sort(support, axis=1)
    # Of as many candidates either way: all but the last, and all but the best.
    total = np.logaddexp.reduce(ranked[:, 1:], axis=1)
    null = np.logaddexp.reduce(ranked[:, :-1], axis=1)
    weights = confident / max(float(confident.sum()), np.finfo(float).tiny)
    absent = share_absent(total, null, weights)
    # With f the density of the total and f0 that of the null, the share of rows among
    # both at some support is q = f / (f + absent f0); absent f0 / f = (1 - q) / q.
    scores = np.concatenate([total, null])
    of_rows = np.repeat([1.0, 0.0], len(support))
    counts = np.concatenate([np.full(len(support), 1 / len(support)), absent * weights])
    curve = IsotonicRegression(y_min=0.5, y_max=1.0)
    q = curve.fit(scores, of_rows, sample_weight=counts).predict(total)
    has_one = np.minimum(1 - (1 - q) / q, BELOW_ONE)
    shares = np.exp(support - np.logaddexp.reduce(support, axis=1)[:, None])
    return Partnered(shares * has_one[:, None], has_one, absent)


def share_absent(total: Array, null: Array, weights: Array) -> float:
    """Share of rows without a partner: as many as find little, over what is expected.

    Little is at most the median of the null (Storey's estimate, 2002).
    """
    order = np.argsort(null)
    middle = int(np.searchsorted(np.cumsum(weights[order]), 0.5))
    little = null[order[min(middle, len(order) - 1)]]
    expected = float(weights[null <= little].sum())
    return min(1.0, float(np.mean(total <= little)) / max(expected, 0.5))
