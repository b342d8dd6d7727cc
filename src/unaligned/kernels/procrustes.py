"""Orthonormal matrices that fit a target best."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from unaligned.kernels.devices import is_on_gpu, on_host
from unaligned.kernels.recording import holds

__all__ = ["polar_factor", "polar_factors"]

# Smallest share of an eigenvalue of the Gram matrix in the largest one that leaves the
# polar factor twelve digits: the matrix knows its eigenvalues to eps times the largest.
WELL_CONDITIONED = 1e-4
ORTHONORMAL = 1e-9  # share of a direction that may be missing from Zᵀ Z


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
    if is_on_gpu(target):
        return factors_by_products([target])[0]
    return _factor_by_eigenvectors(target)


def polar_factors(
    targets: Sequence[NDArray[Any]], map: Callable[..., Iterable[Any]] = map
) -> list[NDArray[Any]]:
    """`polar_factor` of every target; on a GPU, of all of them at once.

    Parameters
    ----------
    targets : sequence of arrays of shape (p, q)
        Each of its own shape, all of one kind and dtype.
    map : callable, optional
        What is used in place of the built-in on the CPU, for several threads.

    Examples
    --------
    >>> import numpy as np
    >>> [Z.tolist() for Z in polar_factors([np.array([[2.0]]), np.array([[-1.0]])])]
    [[[1.0]], [[-1.0]]]
    """
    if is_on_gpu(targets[0]):
        return factors_by_products(targets)
    return list(map(polar_factor, targets))


def _factor_by_eigenvectors(target: NDArray[Any]) -> NDArray[Any]:
    """Polar factor of a tall matrix. What is square and small is done on the host."""
    xp, where = array_namespace(target), device(target)
    tall = xp.astype(target, xp.float64)
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


def factors_by_products(targets: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """`polar_factors` by nothing but products, of which a GPU does many at a time.

    What is not orthonormal in the end was ill conditioned, and goes by eigenvectors.
    """
    xp = array_namespace(targets[0])
    tall = [t if t.shape[0] >= t.shape[1] else t.T for t in targets]
    exact = [xp.astype(t, xp.float64) for t in tall]
    roots, missing = _inverse_roots([X.T @ X for X in exact])
    complete = abs(missing) < ORTHONORMAL
    if holds(xp.all(complete)):
        complete = [True] * len(targets)
    factors = [
        xp.astype(X @ root[: X.shape[1], : X.shape[1]], t.dtype)
        if well_conditioned
        else _factor_by_eigenvectors(t)
        for t, X, root, well_conditioned in zip(
            tall, exact, roots, complete, strict=True
        )
    ]
    return [
        Z if Z.shape == target.shape else Z.T
        for Z, target in zip(factors, targets, strict=True)
    ]


def _inverse_roots(grams: Sequence[NDArray[Any]]) -> tuple[Any, Any]:
    """G^(−1/2) of several matrices, by the steps of Newton and Schulz for all at once.

    From Y = G and Z = I they go on to Y T and T Z with T = α/2 (3 I − α² Z Y), and Z
    to the inverse root. All eigenvalues of Z Y come closer to one, and stay below it.
    The factors α/2 are made up for in the end.

    Returns
    -------
    roots : array of shape (matrices, size, size)
        Where G is smaller than others, it is in the corner.
    missing : array of shape (matrices,)
        Size of G less the trace of Z G Z: 0 if all eigenvalues have come to one.
    """
    xp, where = array_namespace(grams[0]), device(grams[0])
    size = max(len(G) for G in grams)
    scaled = xp.zeros((len(grams), size, size), dtype=xp.float64, device=where)
    for i, G in enumerate(grams):
        scaled[i, : len(G), : len(G)] = G
    squares = xp.sum(scaled * scaled, axis=(1, 2), keepdims=True)
    norms = squares**0.5 + np.finfo(np.float64).tiny
    scaled /= norms
    thrice = 3 * xp.eye(size, dtype=xp.float64, device=where)
    Y, Z, share = scaled, thrice / 3, 1.0
    for speed in SPEEDS:
        T = thrice - (speed * share) ** 2 * (Z @ Y)
        Y, Z, share = Y @ T, T @ Z, share * speed / 2
    Z = Z * share
    directions = xp.sum(Z * (scaled @ Z), axis=(1, 2))
    missing = xp.stack([len(G) - d for G, d in zip(grams, directions, strict=True)])
    return Z / norms**0.5, missing


def _speeds(smallest: float) -> list[float]:
    """Factors α that bring all singular values from [smallest, 1] to one soonest.

    A step takes them from [s, 1] to [t, 1] with the largest t if s and 1 both go to t.
    (Chen and Chow, 2014).
    """
    speeds = []
    while smallest < 1 - 1e-9:
        speed = (3 / (1 + smallest + smallest**2)) ** 0.5
        smallest *= speed / 2 * (3 - (speed * smallest) ** 2)
        speeds.append(speed)
    return [*speeds, 1.0]


# The norm of a matrix may be a few times its largest eigenvalue.
SPEEDS = _speeds((WELL_CONDITIONED / 10) ** 0.5)
