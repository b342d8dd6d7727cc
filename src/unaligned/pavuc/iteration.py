"""The start, and one iteration of Algorithm 1."""

from functools import partial

import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as device_of

from unaligned.kernels.devices import Steps, on_host
from unaligned.kernels.matching import honour
from unaligned.pavuc.problem import Problem, State
from unaligned.pavuc.sweep import Sweep, sum_moments_side_by_side, sweep_side_by_side
from unaligned.pavuc.updates import (
    Array,
    Indices,
    inverse,
    match_rows,
    objective,
    reweight_rows,
    update_anchors,
    update_projections,
    update_view_weights,
    view_errors,
)

# A matching of 200,000 rows takes a GPU 100 ms and has 400 launches, of some ten
# microseconds each: with more rows, a recording would hold memory for little.
MOST_ROWS_TO_RECORD = 2**17


def init_state(problem: Problem, anchors: Array, graph: Array) -> State:
    """Start of Algorithm 1: one graph shared by all views, Λ = I, φ = 1/v.

    The shared start ties the meaning of the anchors across views. Rows that are known
    to be partners start from the same row of ``graph``.
    """
    v, n = len(problem.views), len(graph)
    device = problem.device
    permutations = beside_template(problem, [device.put(np.arange(n))] * v, 0)
    shared = device.put(graph)
    graphs = [shared[inverse(p)] for p in permutations]
    return State(
        anchors=device.put(anchors.astype(np.float64)),
        projections=[],
        graphs=graphs,
        residuals=[device.put(np.full(n, 0.5, dtype=graph.dtype))] * v,
        moments=sum_moments_side_by_side(device, problem.views, graphs),
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
    template = int(np.argmax(state.weights))
    if template != state.template:
        permutations = beside_template(problem, state.permutations, template)
        state = state._replace(template=template, permutations=permutations)
    device = problem.device
    strengths = device.put(state.weights**problem.alpha)
    move = partial(move_all, problem)
    if problem.stays_on_device and len(state.graphs[0]) <= MOST_ROWS_TO_RECORD:
        following, errors = device.repeat(template, move, state, strengths)
    else:
        following, errors = move(state, strengths)
    return following._replace(
        weights=update_view_weights(on_host(errors), problem.alpha),
        objective=float(following.objective),
    )


def move_all(problem: Problem, state: State, strengths: Array) -> tuple[State, Array]:
    """Return the next state but for its weights, which the errors decide, and these.

    ``strengths`` are φ_i^α. All arrays are on the device, and stay there.
    """
    v, mu, template = len(problem.views), problem.pull, state.template
    permutations = state.permutations
    projections = update_projections(state.moments, state.anchors, problem.device.map)
    anchors = update_anchors(strengths, state.moments, projections)

    graphs, residuals, moments = sweep_side_by_side(
        problem.device,
        [  # which nobody holds any more when rows are matched
            Sweep(
                X,
                projections[i],
                anchors,
                reweight_rows(state.residuals[i], problem.floors[i]) * strengths[i],
                partner_rows(state.graphs, permutations, template, i) if mu else None,
                mu,
                v - 1 if i == template else 1,
                problem.floors[i],
            )
            for i, X in enumerate(problem.views)
        ],
    )

    permutations = update_permutations(problem, graphs, permutations, template)
    errors = view_errors(residuals)
    following = state._replace(
        anchors=anchors,
        projections=projections,
        graphs=graphs,
        residuals=residuals,
        moments=moments,
        permutations=permutations,
        objective=objective(strengths, errors, graphs, permutations, template, mu),
    )
    return following, errors


def partner_rows(
    graphs: list[Array], permutations: list[Indices], template: int, view: int
) -> Array:
    """Sum of the partners of every row of a view: G_t Π_iᵀ, or Σ_{i≠t} G_i Π_i."""
    if view != template:
        return graphs[template][inverse(permutations[view])]
    total: Array = array_namespace(graphs[template]).zeros_like(graphs[template])
    for i, (graph, permutation) in enumerate(zip(graphs, permutations, strict=True)):
        if i != template:
            total += graph[permutation]
    return total


def beside_template(
    problem: Problem, permutations: list[Indices], template: int
) -> list[Indices]:
    """Permutations left over from another template, made to honour the known pairs.

    The authors' program carries the other rows over as they are until the next
    matching, and so do we.
    """
    xp, where = array_namespace(*permutations), device_of(permutations[template])
    return [
        xp.arange(len(permutation), device=where)
        if i == template
        else honour(permutation, problem.known(i, template))
        for i, permutation in enumerate(permutations)
    ]


def update_permutations(
    problem: Problem, graphs: list[Array], previous: list[Indices], template: int
) -> list[Indices]:
    """Eq. 23 for every view but the template, whose permutation is the identity."""
    if not problem.align:
        return previous
    device = problem.device

    def match(i: int) -> Steps[Indices]:
        return match_rows(
            graphs[i],
            graphs[template],
            problem.orders[i],
            problem.known(i, template),
            problem.matching,
        )

    xp, where = array_namespace(graphs[template]), device_of(graphs[template])
    identity = xp.arange(len(graphs[template]), device=where)
    permutations = [identity] * len(graphs)
    others = [i for i in range(len(graphs)) if i != template]
    for i, permutation in zip(others, device.interleave(match, others), strict=True):
        permutations[i] = permutation
    return permutations
