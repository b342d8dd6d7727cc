"""What SMILE and CPMN learn from: soft assignments, neighbours and prototypes.

Formulas use methods of tensors, so that torch is imported by who calls them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from unaligned.baselines._soft_assignment import squared_distances
from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.kmeans import cluster_rows

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "cluster_spherically",
    "cosines",
    "graph_loss",
    "match_prototypes",
    "mutual_neighbors",
    "prototype_loss",
    "semantic_loss",
    "sharpening_loss",
    "soft_clusters",
    "student_clusters",
    "unit",
]

Array = NDArray[Any]
TINY = 1e-12  # keeps logarithms and lengths away from zero


def unit(H: Tensor) -> Tensor:
    """Rows at unit length."""
    return H / H.norm(dim=1, keepdim=True).clamp(min=TINY)


def cosines(one: Tensor, other: Tensor) -> Tensor:
    """Cosine of every row of one with every row of the other."""
    return unit(one) @ unit(other).T


def soft_clusters(H: Tensor, centers: Tensor, temperature: float) -> Tensor:
    """Probability of every cluster for every row: softmax of cosines over τ."""
    return (cosines(H, centers) / temperature).softmax(dim=1)


def entropy(p: Tensor) -> Tensor:
    """−Σ p log p of the last axis."""
    return -(p * p.clamp(min=TINY).log()).sum(-1)


def semantic_loss(assigned: list[Tensor], gamma: float) -> Tensor:
    """I(C; V) − γ I(C; X), for the clusters C of rows X of views V.

    With p_v the mean assignment of view v, and p that of all views:
    I(C; V) = H(p) − mean_v H(p_v) and I(C; X) = H(p) − mean_x H(C | x).
    """
    by_view = [C.mean(dim=0) for C in assigned]
    n_views = len(assigned)
    total = entropy(sum(by_view[1:], start=by_view[0]) / n_views)
    within = sum(map(entropy, by_view)) / n_views
    of_rows = sum(entropy(C).mean() for C in assigned) / n_views
    return (total - within) - gamma * (total - of_rows)


def mutual_neighbors(S: Tensor, k: int, *, same_rows: bool) -> Tensor:
    """Whether two rows are among the k most alike of each other, as a matrix of bools.

    A row is no neighbour of its own, where both sides are the ``same_rows``.
    """
    if same_rows:
        S = S.clone().fill_diagonal_(-np.inf)
    most = [min(k, S.shape[axis] - same_rows) for axis in (1, 0)]
    if min(most) < 1:
        return S.new_zeros(S.shape).bool()
    of_rows, of_columns = (
        S.new_zeros(S.shape).bool().scatter_(axis, S.topk(n, dim=axis).indices, True)
        for axis, n in zip((1, 0), most, strict=True)
    )
    return of_rows & of_columns


def graph_loss(
    S: Tensor, positive: Tensor, temperature: float, *, same_rows: bool
) -> Tensor:
    """Mean over rows with neighbours of −log softmax(S / τ), over their neighbours.

    Rows without a neighbour have no part; a row is not compared with itself.
    """
    logits = S / temperature
    if same_rows:
        eye = S.new_ones(len(S)).diag().bool()
        logits = logits.masked_fill(eye, -np.inf)
    shares = (logits - logits.logsumexp(dim=1, keepdim=True)).masked_fill(~positive, 0)
    counts = positive.sum(dim=1)
    if not counts.any():
        return 0 * S.sum()
    has = counts > 0
    return -(shares.sum(dim=1)[has] / counts[has]).mean()


def student_clusters(H: Tensor, prototypes: Tensor) -> Tensor:
    """Soft assignment q ∝ 1 / (1 + ‖h − c‖²)."""
    near = 1 / (1 + squared_distances(H, prototypes).clamp(min=0))
    return near / near.sum(dim=1, keepdim=True)


def sharpening_loss(q: Tensor) -> Tensor:
    """Mean KL(p ‖ q) over rows, where p ∝ q² / Σ_i q is held fixed."""
    squared = q.detach().square() / q.detach().sum(dim=0).clamp(min=TINY)
    p = squared / squared.sum(dim=1, keepdim=True)
    ratio = p.clamp(min=TINY).log() - q.clamp(min=TINY).log()
    return (p * ratio).sum(dim=1).mean()


def prototype_loss(
    H: Tensor, prototypes: Tensor, assigned: Tensor, temperature: float
) -> Tensor:
    """Mean of −log softmax(cos(h, c) / τ) at the prototype that a row has."""
    shares = (cosines(H, prototypes) / temperature).log_softmax(dim=1)
    return -shares.gather(1, assigned[:, None]).mean()


def cluster_spherically(H: Array, k: int, n_init: int, seed: int) -> Array:
    """Centres of k-means on rows at unit length, brought to unit length."""
    return unit_rows(cluster_rows(unit_rows(H), k, n_init=n_init, seed=seed)[1])


def match_prototypes(reference: Array, prototypes: Array) -> Array:
    """Prototypes in the order of the reference's: the largest sum of cosines."""
    alike = unit_rows(reference) @ unit_rows(prototypes).T
    ordered: Array = prototypes[linear_sum_assignment(alike, maximize=True)[1]]
    return ordered
