"""Trust: the probability that an alignment is far better than chance."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["OF_OBJECTS", "agreement", "is_confirmed", "trust_in"]

Array = NDArray[Any]

# The gain at which an alignment is as likely right as wrong, by number of rows, and how
# sharply it turns: above what unrelated views reach, below what right matches do
# (benchmarks/trust.py; docs/study.md has the figures). Between them lie rows that
# describe different objects of the same classes.
N_ROWS = (200, 300, 1200)
TURNING_POINTS = (0.13, 0.105, 0.12)
SHARPNESS = 0.006
# No wrong match comes near this gain. Below it, some pass the turning point (0.17
# between two views of ProteinFold, which has 66 pairs of views), but each search in its
# own way: they agree by 0.12 on average, and by 0.38 at most. Where they are right, by
# 0.9 if they find the same objects, and by 0.4, all of them, if the same classes.
CLEAR_GAIN = 0.22
OF_ONE_RESULT = 0.6
ENOUGH_IN_COMMON = 0.3
# From here on, gains are those of rows that describe the same objects. Below may lie
# those of different objects of the same classes (0.22 at most).
OF_OBJECTS = 0.3
UNCONFIRMED = 0.3  # trust, at most, in what one search found and no other


def trust_in(gain: float, n_rows: int, confirmed: bool = True) -> float:
    """Probability that views whose score exceeds the null by ``gain`` are aligned.

    ``confirmed`` tells whether a second search came to the same result; it matters
    where the gain is not clear.

    Examples
    --------
    >>> round(trust_in(0.4, 2000), 2), round(trust_in(0.02, 2000), 2)
    (1.0, 0.0)
    >>> round(trust_in(0.15, 2000), 2), round(trust_in(0.15, 2000, False), 2)
    (0.99, 0.3)
    """
    turning = np.interp(n_rows, N_ROWS, TURNING_POINTS)
    trust = float(expit((gain - turning) / SHARPNESS))
    return trust if confirmed or gain >= CLEAR_GAIN else min(trust, UNCONFIRMED)


def is_confirmed(crosses: list[Array]) -> bool:
    """Whether searches came to the same result, given the best one's first.

    One other is enough where it is all but the same; otherwise two others must have
    something in common with it, and with each other.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = np.eye(3), np.diag([1.0, -1, 1])
    >>> is_confirmed([one, one]), is_confirmed([one, other])
    (True, False)
    >>> is_confirmed([one, other, other])
    True
    """
    best, *others = crosses
    if any(agreement(best, other) > OF_ONE_RESULT for other in others):
        return True
    pairs = [agreement(*pair) for pair in combinations(crosses, 2)]
    return len(others) > 1 and float(np.mean(pairs)) > ENOUGH_IN_COMMON


def agreement(one: Array, other: Array) -> float:
    """Cosine of two cross-correlations of the same views; 0 where one is nothing."""
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(np.vdot(one, other) / (lengths or np.inf))
