"""Orthonormal matrices that fit a target best."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from unaligned.kernels.devices import on_host

__all__ = ["polar_factor"]


def polar_factor(target: NDArray[Any]) -> NDArray[Any]:
    """Return the orthonormal matrix Z that maximises ⟨Z, target⟩ (Procrustes).

    With the thin SVD ``target = U Σ Vᵀ`` the answer is ``U Vᵀ``. A tall target gives
    orthonormal columns, a wide one orthonormal rows, a square one both.

    Parameters
    ----------
    target : array of shape (p, q)
        Of NumPy, or on any device of torch; the result is of the same kind.

    Returns
    -------
    array of shape (p, q)

    Examples
    --------
    >>> import numpy as np
    >>> polar_factor(np.array([[3.0, 0.0], [0.0, -2.0]]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    # On the host in any case: of a matrix so small, a GPU takes the SVD more slowly.
    left, _, right = np.linalg.svd(on_host(target), full_matrices=False)
    xp = array_namespace(target)
    orthonormal: NDArray[Any] = xp.asarray(left @ right, device=device(target))
    return orthonormal
