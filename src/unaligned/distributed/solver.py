"""Algorithm 1 over blocks: the state stays here, the views stay where they are.

An iteration is one pass over the blocks. Graphs, residuals and permutations are held by
the process that calls ``fit``, and the old ones are given up as soon as there are new
ones: where memory is short, a matching needs all of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from unaligned.distributed.blocks import Block, complain_of_numbers
from unaligned.distributed.matching import Budget, match_within
from unaligned.distributed.passes import stream, survey_block, sweep_block
from unaligned.pavuc import problem as in_memory
from unaligned.pavuc.iteration import beside_template
from unaligned.pavuc.updates import (
    Array,
    Indices,
    inverse,
    objective,
    reweight_rows,
    update_anchors,
    update_projections,
    update_view_weights,
    view_errors,
)

__all__ = ["Problem", "State", "begin", "solve"]


@dataclass(frozen=True)
class Problem(in_memory.Problem):
    """What does not change during a fit; every view is a list of blocks."""

    names: list[str]
    budget: Budget


@dataclass
class State:
    """What an iteration changes, in place."""

    anchors: Array
    graphs: list[Array]
    residuals: list[Array]
    moments: list[Array]
    weights: Array
    permutations: list[Indices]
    projections: list[Array] = field(default_factory=list)
    template: int = 0
    objective: float = np.inf
    losses: list[float] = field(default_factory=list)
    """Of every iteration: what buckets cost, as a share of the objective."""


def begin(problem: Problem, anchors: Array, graph: Array) -> tuple[Problem, State]:
    """Read all views once: check them, order their rows, start from a shared graph."""
    import dask

    v, n = len(problem.views), len(graph)
    permutations = beside_template(problem, [np.arange(n)] * v, 0)
    graphs = [graph[inverse(p)] for p in permutations]
    blocks = [block for view in problem.views for block in view]
    task = dask.delayed(survey_block, pure=False)
    tasks = (task(block.values, graphs[block.view][block.rows]) for block in blocks)

    found: list[list[Any]] = [[] for _ in range(v)]
    for block, survey in zip(blocks, stream(tasks), strict=True):
        found[block.view].append(survey)
    orders, floors, moments = [], [], []
    for name, view, surveys in zip(problem.names, problem.views, found, strict=True):
        complain_of_numbers(name, view, surveys, graph.dtype)
        if problem.align:
            variances = np.concatenate([survey.variances for survey in surveys])
            orders.append(np.argsort(-variances, kind="stable"))
        scale = float(np.sqrt(sum(survey.squares for survey in surveys) / n)) or 1.0
        floors.append(float(np.finfo(graph.dtype).eps) * scale)
        moments.append(sum(share for survey in surveys for share in survey.moments))
    return replace(problem, orders=orders, floors=floors), State(
        anchors=anchors,
        graphs=graphs,
        residuals=[np.full(n, 0.5, dtype=graph.dtype) for _ in range(v)],
        moments=moments,
        weights=np.full(v, 1 / v),
        permutations=permutations,
    )


def solve(
    problem: Problem, state: State, *, tol: float, n_iter: int = 0
) -> Iterator[bool]:
    """Iterate; tell whether it has converged, by the rule of the solver in memory.

    ``n_iter`` is how many iterations have led to the state.
    """
    for iteration in count(n_iter + 1):
        before = state.objective
        iterate(problem, state)
        change = abs(before - state.objective)
        yield iteration > 2 and change <= tol * abs(before)


def iterate(problem: Problem, state: State) -> None:
    """Lines 3 to 8 of Algorithm 1, as `unaligned.pavuc.iteration` has them."""
    draft = replace(state, template=int(np.argmax(state.weights)))
    if draft.template != state.template:
        draft.permutations = beside_template(
            problem, state.permutations, draft.template
        )
    strengths = state.weights**problem.alpha
    draft.projections = update_projections(state.moments, state.anchors)
    draft.anchors = update_anchors(strengths, state.moments, draft.projections)
    sweep_views(problem, draft, strengths)
    vars(state).update(vars(draft))  # so that a pass interrupted leaves no trace
    gain_lost = match_views(problem, state)
    errors = view_errors(state.residuals)
    state.objective = float(
        objective(
            strengths,
            errors,
            state.graphs,
            state.permutations,
            state.template,
            problem.pull,
        )
    )
    state.losses.append(2 * problem.pull * gain_lost / state.objective)
    state.weights = update_view_weights(errors, problem.alpha)


def sweep_views(problem: Problem, state: State, strengths: Array) -> None:
    """Update graphs, residuals and moments in one pass over all blocks.

    Every graph moves from the previous ones, which are given up when all have moved.
    """
    graphs = [np.empty_like(G) for G in state.graphs]
    residuals = [np.empty_like(r) for r in state.residuals]
    moments = [np.zeros_like(M) for M in state.moments]
    blocks = [block for view in problem.views for block in view]
    tasks = sweep_tasks(problem, state, strengths, blocks)
    for (i, rows, _), found in zip(blocks, stream(tasks), strict=True):
        graphs[i][rows], residuals[i][rows], shares = found
        moments[i] = sum(shares, moments[i])  # in the order in which memory has them
    state.graphs, state.residuals, state.moments = graphs, residuals, moments


def sweep_tasks(
    problem: Problem, state: State, strengths: Array, blocks: list[Block]
) -> Iterator[Any]:
    """Make dask tasks of some blocks, each with its share of the state."""
    import dask

    task = dask.delayed(sweep_block, pure=False)
    t, n_others, mu = state.template, len(state.graphs) - 1, problem.pull
    # For every view: who stands beside each of its rows, as rows of another view.
    partners: dict[int, list[tuple[Array, Indices]]] = {}
    for i, permutation in enumerate(state.permutations):
        if i != t:
            partners[i] = [(state.graphs[t], inverse(permutation))]
            partners.setdefault(t, []).append((state.graphs[i], permutation))
    for i, rows, values in blocks:
        beside = [graph[places[rows]] for graph, places in partners.get(i, ())]
        yield task(
            values,
            state.projections[i],
            state.anchors,
            strengths[i] * reweight_rows(state.residuals[i][rows], problem.floors[i]),
            sum(beside) if mu and beside else None,
            mu,
            n_others if i == t else 1,
            problem.floors[i],
        )


def match_views(problem: Problem, state: State) -> float:
    """Eq. 23 for every view but the template; return what buckets lost of Eq. 20."""
    if not problem.align:
        return 0.0
    lost = 0.0
    for i, graph in enumerate(state.graphs):
        if i == state.template:
            state.permutations[i] = np.arange(len(graph))
            continue
        state.permutations[i], gain_lost = match_within(
            problem.budget,
            graph,
            state.graphs[state.template],
            problem.orders[i],
            problem.pairs.between(i, state.template),
            problem.matching,
            stream,
        )
        lost += gain_lost
    return lost
