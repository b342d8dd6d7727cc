"""An iteration after which the objective is no larger.

Eq. 31 of the paper claims that its iteration is one. It need not be, for four reasons,
and each has its remedy here:

* Eq. 10 drops ``Tr(Q X Λ Xᵀ Qᵀ)``, which is not constant when d_l < d_i, and Eq. 12
  drops ``Tr(A G Λ Gᵀ Aᵀ)``, which is not constant when m > d_l. A step that would raise
  the objective is shortened, in the last resort to nothing.
* Eqs. 14 and 18 move all graphs at once from the previous ones, and their closed form
  supposes AᵀA = I. Here views move first, then the template, and the missing curvature
  is majorised (AᵀA ⪯ I always holds).
* The greedy matching is no minimiser. The old permutation stays where it is better.
* A new template changes the second term of the objective. It is given up if the rest
  of the iteration does not make good for that.

Steps are judged by the surrogate that the paper minimises: the ℓ₂,₁ norm with Λ from
the previous iterate, which lies above the objective and touches it there.

A full descent is not what we want: the objective is smallest where Q_i looks at
directions in which the view hardly varies, and labels are worthless there. So the
paper's own iteration stands wherever it does no harm, and steps are shortened along
its own path rather than replaced by steeper ones.
"""

from collections.abc import Callable
from typing import Any

from array_api_compat import array_namespace

from unaligned.kernels.blocks import row_blocks
from unaligned.kernels.devices import on_host
from unaligned.kernels.procrustes import polar_factor
from unaligned.pavuc.iteration import (
    beside_template,
    one_iteration,
    partner_rows,
    update_permutations,
)
from unaligned.pavuc.problem import Problem, State
from unaligned.pavuc.sweep import Sweep, sweep_side_by_side
from unaligned.pavuc.updates import (
    Array,
    Indices,
    alignment_gain,
    anchor_target,
    inverse,
    objective,
    reweight_rows,
    total,
    update_view_weights,
    view_errors,
)

SHARES = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16)  # of the paper's step, tried in turn


def guarded_iteration(problem: Problem, state: State) -> State:
    """Iterate as the paper does, or else more carefully."""
    following = one_iteration(problem, state)
    if following.objective <= state.objective:
        return following
    wanted = following.template
    if wanted != state.template:
        # The same correspondence, in the row order of the new template.
        backwards = inverse(state.permutations[wanted])
        moved = [p[backwards] for p in state.permutations]
        moved = beside_template(problem, moved, wanted)
        following = careful_iteration(problem, state, wanted, moved)
        if following.objective <= state.objective:
            return following
    return careful_iteration(problem, state, state.template, state.permutations)


def careful_iteration(
    problem: Problem, state: State, template: int, permutations: list[Indices]
) -> State:
    """Lower the objective for a template and permutations, up to rounding."""
    mu = problem.pull
    strengths = state.weights**problem.alpha
    row_weights = [
        reweight_rows(r, floor)
        for r, floor in zip(state.residuals, problem.floors, strict=True)
    ]
    projections = problem.device.each(
        lower_projection,
        problem.views,
        row_weights,
        [M @ state.anchors for M in state.moments],
        state.projections,
    )
    anchors = lower_anchors(state, strengths, row_weights, projections)

    graphs, residuals = list(state.graphs), list(state.residuals)
    moments = list(state.moments)
    others = [i for i in range(len(graphs)) if i != template]
    for some in (others, [template]):  # the template last: it sees where the views went
        sweeps = [
            Sweep(
                problem.views[i],
                projections[i],
                anchors,
                row_weights[i] * strengths[i],
                partner_rows(graphs, permutations, template, i) if mu else None,
                mu,
                len(others) if i == template else 1,
                problem.floors[i],
                previous=graphs[i],
            )
            for i in some
        ]
        swept = zip(*sweep_side_by_side(problem.device, sweeps), strict=True)
        for i, found in zip(some, swept, strict=True):
            graphs[i], residuals[i], moments[i] = found
    permutations = better_permutations(problem, graphs, permutations, template)
    errors = view_errors(residuals)
    put = problem.device.put
    return State(
        anchors=anchors,
        projections=projections,
        graphs=graphs,
        residuals=residuals,
        moments=moments,
        weights=update_view_weights(on_host(errors), problem.alpha),
        template=template,
        permutations=permutations,
        objective=float(
            objective(put(strengths), errors, graphs, permutations, template, mu)
        ),
    )


def lower_projection(X: Any, row_weights: Array, target: Array, start: Array) -> Array:
    """Eq. 10, shortened until Tr(Q X Λ Xᵀ Qᵀ) − 2 Tr(Q B) does not rise."""

    def surrogate(projection: Array) -> float:
        xp = array_namespace(projection)
        inner = xp.astype(projection, X.dtype)
        latent = ((rows, X[rows] @ inner) for rows in row_blocks(X))
        spread = sum(float(row_weights[rows] @ xp.vecdot(Y, Y)) for rows, Y in latent)
        return spread - 2 * float(total(projection * target))

    return shortened_step(start, target, surrogate)


def lower_anchors(
    state: State, strengths: Array, row_weights: list[Array], projections: list[Array]
) -> Array:
    """Eq. 12, shortened until Tr(A (Σ φ^α G Λ Gᵀ) Aᵀ) − 2 Tr(A C) does not rise."""
    xp = array_namespace(state.anchors)
    gram = sum(
        float(s) * xp.astype(G.T @ (w[:, None] * G), xp.float64)
        for s, w, G in zip(strengths, row_weights, state.graphs, strict=True)
    )
    target = anchor_target(strengths, state.moments, projections)

    def surrogate(anchors: Array) -> float:
        return float(total(anchors * (gram @ anchors - 2 * target)))

    return shortened_step(state.anchors, target, surrogate)


def shortened_step(
    start: Array, target: Array, surrogate: Callable[[Array], float]
) -> Array:
    """Go from ``start`` towards the polar factor of ``target``, as far as it pays."""
    full = polar_factor(target)
    ceiling = surrogate(start)
    for share in SHARES:
        candidate = polar_factor(share * full + (1 - share) * start)
        if surrogate(candidate) <= ceiling:
            return candidate
    return start


def better_permutations(
    problem: Problem, graphs: list[Array], previous: list[Indices], template: int
) -> list[Indices]:
    """Eq. 23, but the old permutation stays where the new one gains no more."""
    found = update_permutations(problem, graphs, previous, template)

    def better(graph: Array, old: Indices, new: Indices) -> Indices:
        gained = alignment_gain(graph, graphs[template], new)
        return new if gained > alignment_gain(graph, graphs[template], old) else old

    return [better(*views) for views in zip(graphs, previous, found, strict=True)]
