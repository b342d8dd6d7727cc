"""Trust: the probability that an alignment is far better than chance."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["ENOUGH_AGREEMENT", "OF_OBJECTS", "agreement", "trust_in"]

Array = NDArray[Any]

# The gain at which an alignment is as likely right as wrong, by number of rows, and how
# sharply it turns: above what unrelated views reach, below what right matches do
# (benchmarks/trust.py; docs/study.md has the figures). Between them lie rows that
# describe different objects of the same classes.
N_ROWS = (200, 300, 1200)
TURNING_POINTS = (0.13, 0.105, 0.12)
SHARPNESS = 0.006
# No unrelated pair comes near this gain. Below it, one among many pairs of views passes
# the turning point by luck (ProteinFold has 66), but never twice in the same way:
# searches that start apart agree by 0.12 there, and by 0.4 where they are right.
CLEAR_GAIN = 0.2
ENOUGH_AGREEMENT = 0.25
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


def agreement(one: Array, other: Array) -> float:
    """Cosine of two cross-correlations of the same views; 0 where one is nothing."""
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(np.vdot(one, other) / (lengths or np.inf))
