"""Quadratic programs over the simplex, one per sample, with one common matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.simplex import project_simplex

__all__ = ["solve_simplex_qp"]

# Up to this condition number a gradient method needs a few hundred cheap steps, however
# many entries of the answer are positive. Above it, it may need any number, answers
# have few positive entries, and solving for those is faster.
WELL_CONDITIONED = 1e3
BLOCK_BYTES = 2**24  # of the linear systems that are solved at once


def solve_simplex_qp(
    curvature: NDArray[Any],
    slopes: NDArray[Any],
    *,
    max_iter: int = 2000,
    tol: float = 1e-8,
) -> NDArray[Any]:
    """Minimise ``½ zᵀ H z + f_jᵀ z`` over the simplex for every row ``f_j`` at once.

    Accelerated projected gradients where H is well conditioned, an active-set method
    where it is not; a tiny ridge makes the answer unique where H is singular. The work
    is done in float64.

    Parameters
    ----------
    curvature : ndarray of shape (m, m)
        Symmetric positive semi-definite H.
    slopes : ndarray of shape (n, m)
        Row j is f_j; the result has its dtype.
    max_iter : int, default=2000
        Most gradient steps, or most changes of a row's active set.
    tol : float, default=1e-8
        A row has settled when a gradient step moves no entry by more.

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
    H, f = curvature.astype(np.float64), slopes.astype(np.float64)
    H[np.diag_indices(m)] += 1e-10 * np.trace(H) / m
    diagonal = np.diagonal(H)
    if np.array_equal(H, np.diag(diagonal)) and np.ptp(diagonal) == 0 < diagonal[0]:
        return project_simplex(-f / diagonal[0]).astype(slopes.dtype)
    H, f = _neutralise(H, f)
    eigenvalues = np.linalg.eigvalsh(H)
    if eigenvalues[-1] <= WELL_CONDITIONED * eigenvalues[0]:
        return _descend(H, f, eigenvalues[-1], max_iter, tol).astype(slopes.dtype)
    size = max(1, BLOCK_BYTES // (8 * (m + 1) ** 2))
    Z = np.empty_like(slopes)
    for start in range(0, len(f), size):
        block = slice(start, start + size)
        Z[block] = _pivot(H, f[block], max_iter)
    return Z


def _neutralise(
    H: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return another program with the same answers and smaller numbers.

    All rows sum to one, so H counts only between directions that sum to zero. The rest
    of it moves into the slopes, and the direction of ones gets the mean curvature.
    Rounding errors of a large H would otherwise drown the constraint, and H would seem
    ill conditioned where it is not.
    """
    mean = H.mean(axis=0)
    centred = H - mean - mean[:, None] + mean.mean()
    slopes = slopes + mean
    slopes -= slopes.mean(axis=1, keepdims=True)
    scale = max(np.abs(centred).max(), np.abs(slopes).max(initial=0)) or 1.0
    return (centred + np.trace(centred) / len(H) ** 2) / scale, slopes / scale


def _descend(
    H: NDArray[np.float64],
    slopes: NDArray[np.float64],
    steepest: float,
    max_iter: int,
    tol: float,
) -> NDArray[np.float64]:
    """Accelerated projected gradient with the step 1/λ_max(H).

    A row whose step turns uphill loses its momentum. Rows that have settled are left
    alone.
    """
    # Next to no curvature: the floor still takes a step from one vertex to another.
    step = 1 / max(steepest, float(np.finfo(np.float64).eps))
    Z = project_simplex(-slopes * step)
    moving = np.arange(len(slopes))
    z = ahead = Z
    momentum = np.ones(len(slopes))
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


def _pivot(
    H: NDArray[np.float64], slopes: NDArray[np.float64], max_iter: int
) -> NDArray[np.float64]:
    """Active-set method: every row lets one entry after another become positive.

    A row starts at its best vertex. It goes to the minimum over its free entries, or
    as far as they stay non-negative, and there gives up those that have become zero.
    Once at the minimum it frees the entry with the steepest descent, until there is
    none. Every row stays feasible and never climbs.
    """
    Z = np.zeros_like(slopes)
    Z[np.arange(len(Z)), np.argmin(np.diagonal(H) / 2 + slopes, axis=1)] = 1
    free = Z > 0
    moving = np.arange(len(Z))
    rounding = 1e-12  # H and the slopes are at most 1
    for _ in range(max_iter):
        if not len(moving):
            break
        z, f, open_ = Z[moving], slopes[moving], free[moving]
        target = _minimise_free(H, f, open_)
        falling = open_ & (target < 0)
        reach = np.full_like(z, np.inf)
        np.divide(z, z - target, out=reach, where=falling)
        length = np.minimum(reach.min(axis=1), 1)
        z = np.maximum(z + length[:, None] * (target - z), 0)
        z[reach <= length[:, None]] = 0
        open_ &= z > 0

        gradient = z @ H + f
        level = np.einsum("jh,jh->j", z, gradient)
        gradient[open_] = np.inf
        newcomer = gradient.argmin(axis=1)
        minimal = gradient.min(axis=1) >= level - rounding
        # No way at all towards the minimum: the newcomer was a rounding error's.
        settled = (length == 1) & minimal | (length == 0)
        enters = np.flatnonzero((length == 1) & ~minimal)
        open_[enters, newcomer[enters]] = True
        Z[moving], free[moving] = z, open_
        moving = moving[~settled]
    return Z


def _minimise_free(
    H: NDArray[np.float64], slopes: NDArray[np.float64], free: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Minimise every row over its free entries, which sum to one and may be negative.

    One linear system per row, bordered by the constraint and no larger than the most
    free entries of any row; rows with fewer fill up with equations ``z = 0``.
    """
    n = len(free)
    width = int(free.sum(axis=1).max())
    entries = np.argsort(~free, axis=1, kind="stable")[:, :width]
    real = np.take_along_axis(free, entries, axis=1)
    system = np.zeros((n, width + 1, width + 1))
    system[:, :-1, :-1] = H[entries[:, :, None], entries[:, None, :]]
    system[:, :-1, :-1] *= real[:, :, None] & real[:, None, :]
    within = np.arange(width)
    system[:, within, within] += ~real
    system[:, :-1, -1] = system[:, -1, :-1] = real
    right = np.ones((n, width + 1, 1))
    right[:, :-1, 0] = -np.take_along_axis(slopes, entries, axis=1) * real
    solved = np.linalg.solve(system, right)[:, :-1, 0]
    solution = np.zeros_like(slopes)
    np.put_along_axis(solution, entries, solved * real, axis=1)
    return solution
