"""Orthonormal matrices that fit a target best."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["polar_factor"]


def polar_factor(target: NDArray[Any]) -> NDArray[Any]:
    """Return the orthonormal matrix Z that maximises ⟨Z, target⟩ (Procrustes).

    With the thin SVD ``target = U Σ Vᵀ`` the answer is ``U Vᵀ``. A tall target gives
    orthonormal columns, a wide one orthonormal rows, a square one both.

    Parameters
    ----------
    target : ndarray of shape (p, q)

    Returns
    -------
    ndarray of shape (p, q)

    Examples
    --------
    >>> import numpy as np
    >>> polar_factor(np.array([[3.0, 0.0], [0.0, -2.0]]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    left, _, right = np.linalg.svd(target, full_matrices=False)
    orthonormal: NDArray[Any] = left @ right
    return orthonormal
