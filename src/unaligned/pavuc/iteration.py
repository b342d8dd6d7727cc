"""The problem, its state, and one iteration of Algorithm 1.

An iteration reads each view once. Row blocks that fit the cache go through projection,
graph update, residual and weight while they are there, and leave behind only their
share of the moments ``X_i Λ_i G_iᵀ`` that the next iteration starts from.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unaligned.kernels.blocks import row_blocks
from unaligned.kernels.simplex import project_simplex
from unaligned.known_pairs import KnownPairs
from unaligned.pavuc.updates import (
    Array,
    Indices,
    blend,
    choosing_order,
    match_rows,
    objective,
    reweight_rows,
    row_residuals,
    update_anchors,
    update_projection,
    update_view_weights,
    view_moments,
)


@dataclass(frozen=True)
class Problem:
    """What does not change during a fit."""

    views: list[Any]
    pairs: KnownPairs
    mu: float
    alpha: float
    matching: str
    align: bool

    orders: list[Indices]
    """Eq. 22 for every view; empty where nothing is aligned."""
    floors: list[float]
    """Smallest residual of every view that is told from zero."""

    @property
    def pull(self) -> float:
        """μ, or 0 where the alignment term is taken out (the ablation NPA-VuC)."""
        return self.mu if self.align else 0.0


class State(NamedTuple):
    """What an iteration changes."""

    anchors: Array
    projections: list[Array]
    graphs: list[Array]
    residuals: list[Array]
    moments: list[Array]
    weights: Array
    template: int
    permutations: list[Indices]
    objective: float


def pose(
    views: list[Any],
    pairs: KnownPairs,
    *,
    mu: float,
    alpha: float,
    matching: str,
    align: bool,
) -> Problem:
    """Pose the problem for checked views."""
    return Problem(
        views=views,
        pairs=pairs,
        mu=mu,
        alpha=alpha,
        matching=matching,
        align=align,
        orders=[choosing_order(X) for X in views] if align else [],
        floors=[residual_floor(X) for X in views],
    )


def residual_floor(X: Any) -> float:
    """Smallest residual told from zero: rounding at the scale of the view's rows."""
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.vdot(X, X)
    scale = float(np.sqrt(squares / X.shape[0])) or 1.0
    return float(np.finfo(X.dtype).eps) * scale


def init_state(problem: Problem, anchors: Array, graph: Array) -> State:
    """Start of Algorithm 1: one graph shared by all views, Λ = I, φ = 1/v.

    The shared start ties the meaning of the anchors across views. Rows that are known
    to be partners start from the same row of ``graph``.
    """
    v, n = len(problem.views), len(graph)
    permutations = beside_template(problem, [np.arange(n)] * v, 0)
    graphs = [graph[np.argsort(p)] for p in permutations]
    ones = np.ones(n, dtype=graph.dtype)
    return State(
        anchors=anchors,
        projections=[],
        graphs=graphs,
        residuals=[ones / 2] * v,
        moments=[
            view_moments(X, ones, G) for X, G in zip(problem.views, graphs, strict=True)
        ],
        weights=np.full(v, 1 / v),
        template=0,
        permutations=permutations,
        objective=np.inf,
    )


def one_iteration(problem: Problem, state: State) -> State:
    """Lines 3 to 8 of Algorithm 1, in the order of the authors' program.

    The template is the view of largest weight (Section 3.3). Both kinds of graph
    update use the previous graphs.
    """
    v, mu = len(problem.views), problem.pull
    template = int(np.argmax(state.weights))
    permutations = state.permutations
    if template != state.template:
        permutations = beside_template(problem, permutations, template)
    strengths = state.weights**problem.alpha
    projections = [update_projection(M, state.anchors) for M in state.moments]
    anchors = update_anchors(strengths, state.moments, projections)

    swept = [
        sweep(
            X,
            projections[i],
            anchors,
            strengths[i] * reweight_rows(state.residuals[i], problem.floors[i]),
            partner_rows(state.graphs, permutations, template, i) if mu else None,
            mu,
            v - 1 if i == template else 1,
            problem.floors[i],
        )
        for i, X in enumerate(problem.views)
    ]
    graphs, residuals, moments = (list(part) for part in zip(*swept, strict=True))

    permutations = update_permutations(problem, graphs, permutations, template)
    value = objective(strengths, residuals, graphs, permutations, template, mu)
    errors = np.array([r.sum(dtype=np.float64) for r in residuals])
    return State(
        anchors=anchors,
        projections=projections,
        graphs=graphs,
        residuals=residuals,
        moments=moments,
        weights=update_view_weights(errors, problem.alpha),
        template=template,
        permutations=permutations,
        objective=value,
    )


def sweep(
    X: Any,
    projection: Array,
    anchors: Array,
    fidelity: Array,
    partners: Array | None,
    mu: float,
    n_partners: int,
    floor: float,
    previous: Array | None = None,
) -> tuple[Array, Array, Array]:
    """One pass over a view: new graph, residuals and moments.

    The paper's graph step supposes AᵀA = I. With ``previous``, the graph before, it
    holds for any AᵀA ⪯ I: the curvature that is missing is majorised there.
    """
    dtype = X.dtype
    projection, anchors = projection.astype(dtype), anchors.astype(dtype)
    graph = np.empty((X.shape[0], len(anchors)), dtype=dtype)
    residuals = np.empty(X.shape[0], dtype=dtype)
    moments = np.zeros((X.shape[1], len(anchors)))  # float64: a sum over all rows
    for rows in row_blocks(X):
        latent = X[rows] @ projection
        if previous is None:
            target = latent @ anchors.T
        else:
            gap = latent - previous[rows] @ anchors
            target = previous[rows] + gap @ anchors.T
        if partners is not None:
            gamma = fidelity[rows].astype(dtype)
            target = blend(target, gamma, partners[rows], mu, n_partners)
        graph[rows] = project_simplex(target)
        residuals[rows] = row_residuals(latent, graph[rows], anchors)
        moments += view_moments(
            X[rows], reweight_rows(residuals[rows], floor), graph[rows]
        )
    return graph, residuals, moments


def partner_rows(
    graphs: list[Array], permutations: list[Indices], template: int, view: int
) -> Array:
    """Sum of the partners of every row of a view: G_t Π_iᵀ, or Σ_{i≠t} G_i Π_i."""
    if view != template:
        return graphs[template][np.argsort(permutations[view])]
    others = [i for i in range(len(graphs)) if i != template]
    total = np.zeros_like(graphs[template])
    for i in others:
        total += graphs[i][permutations[i]]
    return total


def beside_template(
    problem: Problem, permutations: list[Indices], template: int
) -> list[Indices]:
    """Permutations left over from another template, made to honour the known pairs.

    The authors' program carries the other rows over as they are until the next
    matching, and so do we.
    """
    return [
        np.arange(len(permutation))
        if i == template
        else problem.pairs.honoured(permutation, i, template)
        for i, permutation in enumerate(permutations)
    ]


def update_permutations(
    problem: Problem, graphs: list[Array], previous: list[Indices], template: int
) -> list[Indices]:
    """Eq. 23 for every view but the template, whose permutation is the identity."""
    if not problem.align:
        return previous
    return [
        np.arange(len(graph))
        if i == template
        else match_rows(
            graph,
            graphs[template],
            problem.orders[i],
            problem.pairs.between(i, template),
            problem.matching,
        )
        for i, graph in enumerate(graphs)
    ]
