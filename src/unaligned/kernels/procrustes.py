"""Orthonormal matrices that fit a target best."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from unaligned.kernels.devices import is_on_gpu, on_host

__all__ = ["polar_factor", "polar_factors"]

# Smallest share of an eigenvalue of the Gram matrix in the largest one that leaves the
# polar factor twelve digits: the matrix knows its eigenvalues to eps times the largest.
WELL_CONDITIONED = 1e-4
N_STEPS = 20  # of Newton and Schulz, enough for what is well conditioned
ORTHONORMAL = 1e-11  # largest entry of Zᵀ Z − I


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
    found = [xp.astype(t, xp.float64) for t in tall]
    roots = _inverse_roots([X.T @ X for X in found])
    found = [X @ root for X, root in zip(found, roots, strict=True)]
    gaps = on_host(xp.stack([_largest_gap(Z.T @ Z) for Z in found]))
    best = [
        xp.astype(Z, t.dtype) if gap < ORTHONORMAL else _factor_by_eigenvectors(t)
        for t, Z, gap in zip(tall, found, gaps, strict=True)
    ]
    return [
        Z if Z.shape == target.shape else Z.T
        for Z, target in zip(best, targets, strict=True)
    ]


def _inverse_roots(grams: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """G^(−1/2) of several matrices, by the steps of Newton and Schulz for all at once.

    From Y = G/‖G‖ and Z = I they go on to Y T and T Z with T = (3 I − Z Y)/2, and Z
    to the inverse root of G/‖G‖. Here Y and Z are √2 times smaller, which spares the
    division. Smaller matrices are filled up by ones on the diagonal.
    """
    xp, where = array_namespace(grams[0]), device(grams[0])
    size = max(len(G) for G in grams)
    eye = xp.eye(size, dtype=xp.float64, device=where)
    Z = xp.stack([eye * 0.5**0.5] * len(grams))
    Y = xp.asarray(Z, copy=True)
    norms = [xp.linalg.matrix_norm(G) + np.finfo(np.float64).tiny for G in grams]
    for filled, G, norm in zip(Y, grams, norms, strict=True):
        filled[: len(G), : len(G)] = G * (0.5**0.5 / norm)
    for _ in range(N_STEPS):
        T = 1.5 * eye - Z @ Y
        Y, Z = Y @ T, T @ Z
    return [
        root[: len(G), : len(G)] * (2 / norm) ** 0.5
        for root, G, norm in zip(Z, grams, norms, strict=True)
    ]


def _largest_gap(gram: NDArray[Any]) -> Any:
    """Largest size of an entry of a matrix less the identity."""
    xp = array_namespace(gram)
    eye = xp.eye(len(gram), dtype=gram.dtype, device=device(gram))
    return xp.max(xp.abs(gram - eye))
