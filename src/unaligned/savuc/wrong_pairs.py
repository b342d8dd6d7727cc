"""Known pairs that the other known pairs contradict."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.metrics.pairwise import euclidean_distances

from unaligned.savuc.bridge_regression import Ridge

__all__ = ["nearer_partners", "probably_wrong"]

Array = NDArray[Any]

TINY = 1e-12
N_COMPARED = 500  # other partners, at most, that a known partner is compared with
N_FITTED = 100  # steps of expectation and maximisation, far more than are needed
NARROWEST = 0.1  # deviation of right pairs, at least: the likelihood has no maximum


def nearer_partners(there: Ridge, back: Ridge, X: Array, Y: Array) -> Array:
    """Share of other partners that fit a row better than its known one does.

    A row's estimate is made without its own pair. How far (x, y) is from a pair: the
    squared distances from the estimate of y and from that of x, each over its expected
    value. For a wrong pair the share is uniform.
    """
    p = len(X)
    if p < 3:
        return np.zeros(p)
    compared = np.unique(np.linspace(0, p - 1, min(p, N_COMPARED)).astype(np.intp))
    expected = [max(way.variance.sum(), TINY) for way in (there, back)]
    apart = euclidean_distances(there.left_out, Y[compared], squared=True) / expected[0]
    apart += euclidean_distances(X, back.left_out[compared], squared=True) / expected[1]
    own = ((there.left_out - Y) ** 2).sum(axis=1) / expected[0]
    own += ((X - back.left_out) ** 2).sum(axis=1) / expected[1]
    others = compared != np.arange(p)[:, None]
    beaten: Array = (apart < own[:, None]) & others
    return np.asarray((beaten.sum(axis=1) + 0.5) / (others.sum(axis=1) + 1))


def probably_wrong(nearer: Array) -> Array:
    """Probability that a pair is wrong, from shares that are uniform if it is.

    Two groups: as normal deviates, shares of wrong pairs are standard normal, those of
    right pairs normal with a lower mean. Shares of both groups are fitted by
    expectation and maximisation, from one wrong pair expected. Where a link says
    nothing both groups look alike, and nothing more is suspected.

    Examples
    --------
    >>> import numpy as np
    >>> nearer = np.r_[np.full(18, 0.01) + np.arange(18) / 1000, 0.5, 0.9]
    >>> probably_wrong(nearer)[[0, 18, 19]].round(1)
    array([0., 1., 1.])
    """
    z = ndtri(nearer)
    if len(z) < 3:
        return np.zeros(len(z))
    wrong = np.full(len(z), 1 / len(z))
    for _ in range(N_FITTED):
        right = 1 - wrong
        mean = min(np.average(z, weights=right), 0.0)
        deviation = np.sqrt(np.average((z - mean) ** 2, weights=right))
        deviation = float(np.clip(deviation, NARROWEST, 1))
        if_right = np.exp(-0.5 * ((z - mean) / deviation) ** 2) / deviation
        share = wrong.mean()
        parts = share * np.exp(-0.5 * z**2), (1 - share) * if_right
        # Beyond its mean a right pair is no less likely: the ratio is made monotone.
        wrong = parts[0] / np.maximum(parts[0] + parts[1], TINY)
        wrong = np.where(z < mean, np.minimum(wrong, share), wrong)
    return wrong
