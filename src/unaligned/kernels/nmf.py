"""Multiplicative updates of a non-negative factorisation X ≈ V U.

Lee and Seung's updates never raise ‖X − V U‖²_F, keep factors non-negative, and leave
what is zero at zero. ``memberships`` is V (n × k), ``basis`` is U (k × d); X may be
sparse. Entries should be of the order of one, or at least far above `EPSILON`.
"""

from typing import Any

from numpy.typing import NDArray

__all__ = ["rescale_factors", "update_basis", "update_memberships"]

EPSILON = 1e-12  # keeps denominators from zero


def update_basis(
    X: Any, memberships: NDArray[Any], basis: NDArray[Any]
) -> NDArray[Any]:
    """U ← U ∘ VᵀX / VᵀVU.

    Examples
    --------
    >>> import numpy as np
    >>> update_basis(np.array([[2.0, 4.0]]), np.array([[2.0]]), np.array([[1.0, 1.0]]))
    array([[1., 2.]])
    """
    V = memberships
    updated: NDArray[Any] = basis * ((X.T @ V).T / (V.T @ V @ basis + EPSILON))
    return updated


def update_memberships(
    memberships: NDArray[Any],
    cross: NDArray[Any],
    gram: NDArray[Any],
    *,
    drawn: Any = 0,
    driven: Any = 0,
) -> NDArray[Any]:
    """V ← V ∘ (XUᵀ + drawn) / (VUUᵀ + driven).

    ``drawn`` and ``driven`` are the falling and the rising part of half the gradient
    of whatever else a method minimises.

    Parameters
    ----------
    memberships : ndarray of shape (n, k)
    cross : ndarray of shape (n, k)
        XUᵀ.
    gram : ndarray of shape (k, k)
        UUᵀ.
    drawn, driven : ndarray of shape (n, k), default=0
        Non-negative.

    Returns
    -------
    ndarray of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> X, V, U = np.array([[2.0, 4.0]]), np.array([[1.0]]), np.array([[1.0, 2.0]])
    >>> update_memberships(V, X @ U.T, U @ U.T)
    array([[2.]])
    """
    V = memberships
    updated: NDArray[Any] = V * ((cross + drawn) / (V @ gram + driven + EPSILON))
    return updated


def rescale_factors(
    memberships: NDArray[Any], basis: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Let every row of the basis sum to one without changing V U.

    A row of zeros stays.

    Examples
    --------
    >>> import numpy as np
    >>> rescale_factors(np.array([[1.0]]), np.array([[2.0, 6.0]]))
    (array([[8.]]), array([[0.25, 0.75]]))
    """
    mass = basis.sum(axis=1)
    mass[mass == 0] = 1
    return memberships * mass, basis / mass[:, None]
