"""Orthonormal matrices that fit a target best."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from unaligned.kernels.devices import on_host

__all__ = ["polar_factor"]

# Smallest share of an eigenvalue of the Gram matrix in the largest one that leaves the
# polar factor twelve digits: the matrix knows its eigenvalues to eps times the largest.
WELL_CONDITIONED = 1e-4


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
    if target.shape[0] < target.shape[1]:
        return polar_factor(target.T).T
    xp, where = array_namespace(target), device(target)
    tall = xp.astype(target, xp.float64)
    # What is square and small is decomposed on the host: on a GPU that takes longer.
    squares, vectors = np.linalg.eigh(on_host(tall.T @ tall))
    if squares[0] > WELL_CONDITIONED * squares[-1]:
        best = tall @ xp.asarray(vectors / np.sqrt(squares) @ vectors.T, device=where)
    elif tall.shape[0] == tall.shape[1]:
        best = xp.asarray(_nearest_rotation(on_host(tall)), device=where)
    else:
        tall, triangle = xp.linalg.qr(tall)
        best = tall @ xp.asarray(_nearest_rotation(on_host(triangle)), device=where)
    orthonormal: NDArray[Any] = xp.astype(best, target.dtype)
    return orthonormal


def _nearest_rotation(square: NDArray[Any]) -> NDArray[Any]:
    """Polar factor of a square matrix on the host."""
    left, _, right = np.linalg.svd(square)
    return np.asarray(left @ right)
