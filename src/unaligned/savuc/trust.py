"""Trust: the probability that an alignment is far better than chance."""

import numpy as np
from scipy.special import expit

__all__ = ["trust_in"]

# The gain at which an alignment is as likely right as wrong, by number of rows, and how
# sharply it turns. Over 116 pairs of views that have nothing to do with each other (of
# different datasets, or with permuted columns) the gain was 0.072 at most; where more
# than half of the rows found their own partner it was 0.097 at least, and with 1,200
# rows 0.32 (benchmarks/trust.py). Between them lie rows that describe different objects
# of the same classes.
N_ROWS = (400, 600, 1200)
TURNING_POINTS = (0.088, 0.108, 0.12)
SHARPNESS = 0.006


def trust_in(gain: float, n_rows: int) -> float:
    """Probability that views whose score exceeds the null by ``gain`` are aligned.

    Examples
    --------
    >>> round(trust_in(0.4, 2000), 2), round(trust_in(0.02, 2000), 2)
    (1.0, 0.0)
    """
    turning = np.interp(n_rows, N_ROWS, TURNING_POINTS)
    return float(expit((gain - turning) / SHARPNESS))
