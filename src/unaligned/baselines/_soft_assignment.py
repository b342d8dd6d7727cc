"""The differentiable assignment of PVC.

As published, it takes gradient steps on ⟨D, P⟩, each followed by Dykstra sweeps towards
the doubly stochastic matrices: rows that sum to one, columns that sum to one, P ≥ 0.
The first two sets are affine, so their corrections are projected out again and never
reach P; both projections together take away the means of rows and columns, M(P), and
add 1/n. The correction of the third is what clipping cut off. P and its correction are
thus the positive and the negative part of one matrix B, and a sweep is

    B ← B − M(max(B, 0)) + 1/n,

where the first one after a gradient step also subtracts η (D − M(D)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Assignment", "assign_softly", "first_assignment", "squared_distances"]


class Assignment(NamedTuple):
    """How softly and how long rows are assigned."""

    n_steps: int = 30
    """Gradient steps τ₁."""
    n_sweeps: int = 10
    """Dykstra sweeps τ₂ after each."""
    step: float = 0.1
    """Step length η."""
    restart: bool = False
    """Whether Dykstra's correction is forgotten at every gradient step."""
    cost_scale: str = "none"


def squared_distances(one: Tensor, other: Tensor) -> Tensor:
    """D_ij = ‖h_i‖² + ‖g_j‖² − 2⟨h_i, g_j⟩."""
    lengths = one.square().sum(1)[:, None] + other.square().sum(1)
    return lengths - 2 * one @ other.T


def means(P: Tensor) -> Tensor:
    """M(P): mean of the row plus mean of the column minus mean of all, per entry."""
    rows = P.mean(1, keepdim=True)
    return rows + (P.mean(0) - rows.mean())


def first_assignment(D: Tensor) -> Tensor:
    """Start: every row takes a column whose nearest row it is, the closest one.

    Rows that are nobody's nearest all take the first column, as in the program.
    """
    nearest = D.argmin(0, keepdim=True)
    masked = D.max().expand_as(D).scatter(0, nearest, D.gather(0, nearest))
    return D.new_zeros(D.shape).scatter(1, masked.argmin(1, keepdim=True), 1.0)


def assign_softly(D: Tensor, how: Assignment) -> Tensor:
    """Descend ⟨D, P⟩ towards the doubly stochastic P, in a differentiable way."""
    if how.cost_scale == "mean":
        D = D / D.detach().mean()
    tilt = how.step * (D - means(D))
    B = first_assignment(D.detach())
    for _ in range(how.n_steps):
        if how.restart:
            B = B.clamp(min=0)
        B = sweep(B) - tilt
        for _ in range(how.n_sweeps - 1):
            B = sweep(B)
    return B.clamp(min=0)


def sweep(B: Tensor) -> Tensor:
    """One round of Dykstra's projections: B − M(max(B, 0)) + 1/n."""
    P = B.clamp(min=0)
    rows, columns = P.mean(1, keepdim=True), P.mean(0)
    return B - rows - (columns - (columns.mean() + 1 / len(B)))
