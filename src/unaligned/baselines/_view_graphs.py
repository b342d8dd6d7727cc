"""Graphs between the rows of one view, for UPMGC-SM: LSR and GMC.

Samples are rows here: the papers' X (d × n) is ``X.T``, and what they write by columns
of a coefficient matrix Z stands in its columns here, too.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd
from sklearn.metrics.pairwise import euclidean_distances

from unaligned.kernels.scaling import unit_rows
from unaligned.kernels.simplex import project_simplex

__all__ = ["ViewGraph", "gmc_graph", "lsr_graph"]

Array = NDArray[Any]

# GMC's own figures.
GMC_ITERATIONS = 20
NO_EIGENVALUE = 1e-10


class ViewGraph(NamedTuple):
    """Weights between the rows of a view, and how badly they explain it."""

    weights: Array
    """Symmetric, non-negative, no loops: (n, n)."""
    error: float


def lsr_graph(X: Array, lam: float) -> ViewGraph:
    """Least squares regression of every row on all others.

    Z minimises ‖X − Zᵀ X‖² + λ‖Z‖² without a diagonal. With the hat matrix
    H = X (XᵀX + λI)⁻¹ Xᵀ it is Z_ab = H_ab / (1 − H_bb), and what is left of row b is
    (x_b − (HX)_b) / (1 − H_bb): the identities of leave-one-out regression.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    lam : float
        Ridge λ > 0.

    Returns
    -------
    ViewGraph
        Symmetric part of the positive part of Z, and ‖X − Zᵀ X‖².
    """
    # By singular values: beside large X, XᵀX + λI can be singular to the last digit.
    directions, extents, _ = svd(X, full_matrices=False)
    kept = extents**2 / (extents**2 + lam)
    lost = lam * extents / (extents**2 + lam)  # of X − HX = λ X (XᵀX + λI)⁻¹
    left = np.maximum(1 - directions**2 @ kept, np.finfo(X.dtype).eps)
    error = np.sum(directions**2 @ lost**2 / left**2)
    hat = (directions * kept) @ directions.T
    np.maximum(hat, 0, out=hat)
    np.fill_diagonal(hat, 0)
    return ViewGraph(_symmetric_part(hat / left), float(error))


def gmc_graph(X: Array, n_clusters: int) -> ViewGraph:
    """Learn a graph together with one that falls into k components (GMC on one view).

    Rows near each other get weights S; a second graph U stays near S while a penalty λ,
    doubled and halved on the way, drives it to k components; S stays near U in turn.
    At most 20 rounds, each with an eigendecomposition.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_clusters : int

    Returns
    -------
    ViewGraph
        Symmetric part of S, and Σ S_ab ‖x_a − x_b‖².
    """
    n = len(X)
    distances = euclidean_distances(standardize_rows(X), squared=True)
    S = U = spread_weights(distances, np.zeros((n, n)), 0.0)
    F, _ = smallest_eigenvectors(U, n_clusters)
    pull, penalty = 1.0, 1.0
    for _ in range(GMC_ITERATIONS):
        S = spread_weights(distances, U, pull)
        pull = 0.5 / max(float(np.linalg.norm(U - S)), np.finfo(np.float64).eps)
        apart = euclidean_distances(F, squared=True)
        U = split_weights(S, apart, penalty / (2 * pull))
        before = F
        F, eigenvalues = smallest_eigenvectors(U, n_clusters)
        if eigenvalues[:n_clusters].sum() > NO_EIGENVALUE:
            penalty *= 2
        elif n_clusters < n and eigenvalues.sum() < NO_EIGENVALUE:
            penalty /= 2
            F = before
        else:
            break
    return ViewGraph(_symmetric_part(S), float(np.vdot(distances, S)))


def standardize_rows(X: Array) -> Array:
    """Scale every row to unit length, then to mean 0 and deviation 1 over its columns.

    A row whose entries are all the same becomes zero.
    """
    scaled = unit_rows(X + 1e-12)
    centred: Array = scaled - scaled.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.sum(centred**2, axis=1) / max(X.shape[1] - 1, 1))
    flat = deviation <= 10 * np.finfo(X.dtype).eps
    centred[flat] = 0
    centred /= np.where(flat, 1, deviation)[:, None]
    return centred


def spread_weights(distances: Array, U: Array, pull: float) -> Array:
    """Weights of every row over all others, falling to 0 at the farthest of them.

    s_ab ∝ d_af − d_ab + 2w (u_ab − u_af), f the farthest row from a; negative weights
    are clipped. A row with no reason to tell the others apart has no weights.
    """
    n = len(distances)
    each, farthest = np.arange(n), distances.argmax(axis=1)
    cost = distances - 2 * pull * U
    gain = cost[each, farthest][:, None] - cost
    np.fill_diagonal(gain, 0)
    total = gain.sum(axis=1, keepdims=True)
    weights = np.divide(gain, total, out=np.zeros_like(gain), where=total > 0)
    return np.maximum(weights, 0, out=weights)


def split_weights(S: Array, distances: Array, penalty: float) -> Array:
    """Minimise ‖u − s‖² + 2 × penalty × dᵀu over the simplex on the support of s."""
    target = S - penalty * distances
    # Nothing outside of the support, unless there is none at all.
    target[(S <= 0) & (S.max(axis=1) > 0)[:, None]] = -np.inf
    return project_simplex(target)


def smallest_eigenvectors(U: Array, n_clusters: int) -> tuple[Array, Array]:
    """First k eigenvectors of the graph's Laplacian, and k + 1 eigenvalues if there."""
    weights = _symmetric_part(U)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    last = min(n_clusters, len(U) - 1)
    values, vectors = eigh(laplacian, subset_by_index=[0, last])
    return vectors[:, :n_clusters], values


def _symmetric_part(weights: Array) -> Array:
    symmetric: Array = (weights + weights.T) / 2
    return symmetric
