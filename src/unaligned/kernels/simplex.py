"""Projection onto the probability simplex."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["project_simplex"]


def project_simplex(points: NDArray[Any]) -> NDArray[Any]:
    """Euclidean projection of every row onto {g : g ≥ 0, Σ g = 1}.

    The projection is ``max(h - θ, 0)`` with the one shift θ that makes the row sum to
    one. Sorting the row finds it: θ is the shift of the longest run of largest entries
    that all stay positive.

    Parameters
    ----------
    points : ndarray of shape (n, m)
        Floating-point rows; the result has the same dtype. An entry of −∞ becomes zero:
        so a row is projected onto a face. It needs one entry that is finite.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([[0.5, 0.5], [3.0, 1.0], [0.2, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ],
           [0.6, 0.4]])
    """
    n, m = points.shape
    descending = np.sort(points, axis=1)[:, ::-1]
    excess = np.cumsum(descending, axis=1)
    excess -= 1
    size = np.arange(1, m + 1, dtype=points.dtype)
    # Entry j of a sorted row stays positive exactly while it exceeds its own shift.
    support = np.count_nonzero(descending * size > excess, axis=1)
    shift = excess[np.arange(n), support - 1] / size[support - 1]
    projected: NDArray[Any] = np.maximum(points - shift[:, None], 0)
    return projected
