"""The updates of PAVuC-ATS, one function per equation of the paper.

The paper writes samples as columns. Here they are rows, so that every matrix is the
transpose of the paper's:

====================  =================  ============================================
here                  shape              in the paper
====================  =================  ============================================
``X`` of a view       n × d              X_iᵀ
``projection``        d × d_l            Q_iᵀ
``anchors``           m × d_l            Aᵀ
``graph``             n × m              G_iᵀ, rows on the simplex
``row_weights``       n                  the diagonal of Λ_i
``permutation``       n                  Π_i; entry s is the row of view i that stands
                                         beside row s of the template
====================  =================  ============================================

Arrays are NumPy's, or tensors of torch on any device. Nothing here waits for a device
but `alignment_gain`, and the matching.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from scipy import sparse

from unaligned.kernels.blocks import row_blocks, row_parts
from unaligned.kernels.devices import Steps
from unaligned.kernels.matching import extend_in_steps, matching_confidence
from unaligned.kernels.procrustes import polar_factor, polar_factors
from unaligned.kernels.view_weights import power_weights

Array = NDArray[Any]
Indices = NDArray[np.intp]


def objective(
    strengths: Array,
    errors: Array,
    graphs: Sequence[Array],
    permutations: Sequence[Indices],
    template: int,
    mu: float,
) -> Any:
    """Eq. 7: Σ φ_i^α ‖Q_i X_i − A G_i‖₂,₁ + μ Σ_{i≠t} ‖G_i Π_i − G_t‖²_F."""
    misfit = strengths @ errors
    if mu == 0:
        return misfit
    return misfit + mu * misalignment(graphs, permutations, template)


def view_errors(residuals: Sequence[Array]) -> Array:
    """ε of Eq. 27: ‖Q_i X_i − A G_i‖₂,₁ of every view."""
    errors: Array = array_namespace(*residuals).stack([total(r) for r in residuals])
    return errors


def total(array: Array) -> Any:
    """Sum of all entries, in float64."""
    xp = array_namespace(array)
    return xp.sum(array, dtype=xp.float64)


def misalignment(
    graphs: Sequence[Array], permutations: Sequence[Indices], template: int
) -> Any:
    """Second term of Eq. 7 without μ: Σ_{i≠t} ‖G_i Π_i − G_t‖²_F."""
    distances = []
    for i, (graph, permutation) in enumerate(zip(graphs, permutations, strict=True)):
        if i != template:
            gap = graph[permutation] - graphs[template]
            distances.append(total(array_namespace(gap).vecdot(gap, gap)))
    return sum(distances)


def row_residuals(latent: Array, graph: Array, anchors: Array) -> Array:
    """Length of every row of ``Q_i X_i − A G_i``."""
    xp = array_namespace(latent)
    gap = latent - graph @ anchors
    lengths: Array = xp.sqrt(xp.vecdot(gap, gap))
    return lengths


def reweight_rows(residuals: Array, floor: float) -> Array:
    """Eq. 8: rows far from their reconstruction count less.

    ``floor`` keeps the weight of a row that is reconstructed exactly finite.
    """
    weights: Array = 0.5 / residuals.clip(min=floor)
    return weights


def view_moments(X: Any, row_weights: Array, graph: Array) -> Array:
    """``X_i Λ_i G_iᵀ`` (d × m): all that Eqs. 10 and 12 need to know of a view."""
    moments: Array = X.T @ (row_weights[:, None] * graph)
    return moments


def update_projections(
    moments: Sequence[Array],
    anchors: Array,
    map: Callable[..., Iterable[Any]] = map,
) -> list[Array]:
    """Eq. 10: the orthonormal Q_i that maximise Tr(Q_i X_i Λ_i G_iᵀ Aᵀ)."""
    return polar_factors([M @ anchors for M in moments], map)


def anchor_target(
    strengths: Array, moments: Sequence[Array], projections: Sequence[Array]
) -> Array:
    """``C`` of Eq. 12: Σ φ_i^α G_i Λ_i X_iᵀ Q_iᵀ (m × d_l)."""
    parts = zip(strengths, moments, projections, strict=True)
    return reduce(operator.add, ((M.T @ Q) * s for s, M, Q in parts))


def update_anchors(
    strengths: Array, moments: Sequence[Array], projections: Sequence[Array]
) -> Array:
    """Eq. 12: the orthonormal A that maximises Tr(A C)."""
    return polar_factor(anchor_target(strengths, moments, projections))


def blend(
    affinity: Array, fidelity: Array, partners: Array, mu: float, n_partners: int
) -> Array:
    """Eqs. 14 and 18: the point ``h`` whose simplex projection is the new graph row.

    A row is drawn to its own affinities to the anchors (``AᵀQ_i x``) with the force
    γ = φ_i^α Λ_jj and to each of its partners with the force μ. A view has one partner
    row, in the template (Eq. 14); the template has one in each other view (Eq. 18).
    ``partners`` is their sum.
    """
    if mu == 0 or n_partners == 0:
        return affinity
    force = fidelity[:, None]
    blended: Array = (force * affinity + mu * partners) / (force + mu * n_partners)
    return blended


def inverse(permutation: Indices) -> Indices:
    """Place of every row in a permutation: the template row beside it."""
    xp = array_namespace(permutation)
    places: Indices = xp.empty_like(permutation)
    places[permutation] = xp.arange(len(permutation), device=device(permutation))
    return places


def choosing_order(X: Any, map: Callable[..., Iterable[Array]] = map) -> Indices:
    """Eq. 22: rows by falling sample variance over their features, stable.

    The initial-state probability of a row is its variance over the sum of all; only
    the order matters, so the division is left out. ``map`` may use several threads.
    On a device, sums are added up in another sequence: rows whose variances differ by
    rounding may change places.
    """
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        blocks = [device_variances(X[rows]) for rows in row_blocks(X)]
        xp = array_namespace(*blocks)
        on_device: Indices = xp.argsort(-xp.concat(blocks), stable=True)
        return on_device
    parts = [X[rows] for rows in row_parts(X, n_sums=1)]
    variances = np.concatenate(list(map(row_variances, parts)))
    return np.argsort(-variances, kind="stable")


def row_variances(X: Any) -> Array:
    """Sample variance of every row, in float64, sparse rows without their zeros."""
    n, d = X.shape
    if d == 1:
        return np.zeros(n)
    if not sparse.issparse(X):
        blocks = [np.var(X[b], axis=1, ddof=1, dtype=np.float64) for b in row_blocks(X)]
        return np.concatenate(blocks)
    mean = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel() / d
    stored = np.diff(X.indptr)
    gaps = X.data - np.repeat(mean, stored)
    rows = np.repeat(np.arange(n), stored)
    spread = np.bincount(rows, weights=gaps * gaps, minlength=n)
    variances: Array = (spread + (d - stored) * mean**2) / (d - 1)
    return variances


def device_variances(block: Array) -> Array:
    """`row_variances` of dense rows that are on a device."""
    xp = array_namespace(block)
    exact: Array = xp.astype(block, xp.float64)
    variances: Array = (
        xp.zeros_like(exact[:, 0])
        if exact.shape[1] == 1
        else xp.var(exact, axis=1, correction=1)
    )
    return variances


def match_rows(
    graph: Array,
    template: Array,
    order: Indices,
    known: tuple[Indices, Indices],
    matching: str,
) -> Steps[Indices]:
    """Eqs. 20, 21 and 23: the block-diagonal permutation of one view, in steps.

    Known pairs stay. Of the others, each row in ``order`` takes the free template row
    it reaches with the largest 2-step probability g_i·g_t (``"greedy"``), or all are
    matched at once to maximise Tr(Πᵀ G_iᵀ G_t), Eq. 20 (``"optimal"``).
    """
    return extend_in_steps(graph, template, known, method=matching, order=order)


def alignment_gain(graph: Array, template: Array, permutation: Indices) -> float:
    """Eq. 20: Tr(Π_iᵀ G_iᵀ G_t), which the best permutation maximises."""
    xp = array_namespace(graph)
    return float(total(xp.vecdot(graph[permutation], template)))


def match_confidence(
    graph: Array, template: Array, permutation: Indices, known: Indices
) -> Array:
    """Eq. 21 as a probability: how surely the walk from a row ends at its partner.

    The 2-step transition probability of the match over the sum for all template rows
    that were free to be chosen. One means that no other row could be reached; 1/c that
    c rows are as good. Matches known beforehand (template rows ``known``) have one.
    """
    return matching_confidence(graph, template, permutation, known)


def update_view_weights(errors: Array, alpha: float) -> Array:
    """Eq. 27: φ_i ∝ ε_i^(1/(1−α)), which minimises Σ φ_i^α ε_i."""
    return power_weights(errors, alpha)


def fuse_graphs(graphs: Sequence[Array], permutations: Sequence[Indices]) -> Array:
    """Eq. 28: mean of the aligned graphs, in the template's row order."""
    fused: Array = np.zeros_like(graphs[0])
    for rows in row_blocks(fused):
        for graph, permutation in zip(graphs, permutations, strict=True):
            fused[rows] += graph[permutation[rows]]
    fused /= len(graphs)
    return fused
