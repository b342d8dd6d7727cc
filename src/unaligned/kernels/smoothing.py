"""Smoothing signals over a graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["normalized_adjacency", "smooth"]


def normalized_adjacency(adjacency: Any) -> Any:
    """Scale a graph by its degrees: ``S = D^-½ A D^-½``, all eigenvalues in [-1, 1].

    A node without edges has a row of zeros.

    Parameters
    ----------
    adjacency : sparse array of shape (n, n)
        Symmetric and non-negative.

    Returns
    -------
    sparse array of shape (n, n)

    Examples
    --------
    >>> from scipy import sparse
    >>> path = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> normalized_adjacency(path).toarray().round(3)
    array([[0.   , 0.707, 0.   ],
           [0.707, 0.   , 0.707],
           [0.   , 0.707, 0.   ]])
    """
    scaled = adjacency.tocsr().copy()
    degrees = np.asarray(scaled.sum(axis=1)).ravel()
    scale = np.where(degrees > 0, degrees, np.inf) ** -0.5
    scaled.data *= scale[scaled.indices]
    scaled.data *= np.repeat(scale, np.diff(scaled.indptr))
    return scaled


def smooth(
    adjacency: Any, signals: NDArray[Any], strength: float, *, tol: float = 1e-8
) -> NDArray[Any]:
    """Return ``(I + strength · L)⁻¹ signals`` with the normalised Laplacian L = I − S.

    Conjugate gradients on all signals side by side, each with its own steps. The
    condition number is at most 1 + 2 · strength, so the number of steps does not grow
    with the graph; a factorisation would, for that of a graph of neighbours fills up.

    Parameters
    ----------
    adjacency : sparse array of shape (n, n)
        S, as `normalized_adjacency` returns it.
    signals : ndarray of shape (n, k)
        float32 or float64, which the result keeps.
    strength : float
        At least 0; 0 returns the signals.
    tol : float, default=1e-8
        A signal is done when its residual falls below this share of its length, or
        below what its dtype resolves.

    Returns
    -------
    ndarray of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> edge = normalized_adjacency(sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> smooth(edge, np.array([[1.0], [0.0]]), strength=1.0).round(3)
    array([[0.667],
           [0.333]])
    """
    dtype = signals.dtype.type
    adjacency = adjacency.astype(dtype, copy=False)
    condition = 1 + 2 * strength
    tol = max(tol, condition * float(np.finfo(dtype).eps))
    # Theory needs sqrt(condition) / 2 · log(2 / tol) steps; rounding may cost a few.
    n_steps = int(np.sqrt(condition) * np.log(2 / tol)) + 1
    diagonal, edge = dtype(1 + strength), dtype(strength)

    smoothed = np.zeros_like(signals)
    residual, direction = signals.copy(), signals
    square = _column_products(residual, residual)
    enough = dtype(tol) ** 2 * square
    for _ in range(n_steps):
        if (square <= enough).all():
            break
        image = diagonal * direction - edge * (adjacency @ direction)
        step = _divide(square, _column_products(direction, image))
        smoothed += step * direction
        residual -= step * image
        before, square = square, _column_products(residual, residual)
        direction = residual + _divide(square, before) * direction
    return smoothed


def _column_products(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    products: NDArray[Any] = np.einsum("nk,nk->k", left, right)
    return products


def _divide(above: NDArray[Any], below: NDArray[Any]) -> NDArray[Any]:
    """Quotients, 0 where a signal is solved exactly and has nowhere left to go."""
    quotients: NDArray[Any] = np.divide(
        above, below, out=np.zeros_like(above), where=below > 0
    )
    return quotients
