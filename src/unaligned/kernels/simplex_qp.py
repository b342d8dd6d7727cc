"""Quadratic programs over the simplex, one per sample, with one common matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.simplex import project_simplex

__all__ = ["solve_simplex_qp"]


def solve_simplex_qp(
    curvature: NDArray[Any],
    slopes: NDArray[Any],
    *,
    max_iter: int = 2000,
    tol: float = 1e-8,
) -> NDArray[Any]:
    """Minimise ``½ zᵀ H z + f_jᵀ z`` over the simplex for every row ``f_j`` at once.

    Accelerated projected gradient with the step 1/λ_max(H); a row whose step turns
    uphill loses its momentum. Rows that have settled are left alone. A tiny ridge makes
    the answer unique where H is singular.

    Parameters
    ----------
    curvature : ndarray of shape (m, m)
        Symmetric positive semi-definite H.
    slopes : ndarray of shape (n, m)
        Row j is f_j.
    max_iter : int, default=2000
    tol : float, default=1e-8
        A row has settled when no entry moves by more.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> solve_simplex_qp(np.eye(2), np.array([[-1.0, -1.0], [-5.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    m = len(curvature)
    ridge = 1e-10 * np.trace(curvature) / m
    H = curvature + ridge * np.eye(m, dtype=curvature.dtype)
    diagonal = np.diagonal(H)
    if np.array_equal(H, np.diag(diagonal)) and np.ptp(diagonal) == 0 < diagonal[0]:
        return project_simplex(-slopes / diagonal[0])
    # Next to no curvature: the floor still takes a step from one vertex to another.
    floor = np.finfo(H.dtype).eps * max(float(np.abs(slopes).max()), 1)
    step = 1 / max(float(np.linalg.eigvalsh(H)[-1]), floor)
    Z = project_simplex(-slopes * step)
    moving = np.arange(len(slopes))
    z = ahead = Z
    momentum = np.ones(len(slopes), dtype=Z.dtype)
    for _ in range(max_iter):
        following = project_simplex(ahead - step * (ahead @ H + slopes[moving]))
        move = following - z
        uphill = np.einsum("jh,jh->j", ahead - following, move) > 0
        momentum[uphill] = 1
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + ((momentum - 1) / faster)[:, None] * move
        z, momentum = following, faster
        unsettled = np.abs(move).max(axis=1) > tol
        Z[moving] = z
        if not unsettled.any():
            break
        if np.count_nonzero(unsettled) < 0.9 * len(moving):
            moving, z = moving[unsettled], z[unsettled]
            ahead, momentum = ahead[unsettled], momentum[unsettled]
    return Z
