"""The problem, its state, and one iteration of Algorithm 1.

An iteration reads each view once. Row blocks that fit the cache go through projection,
graph update, residual and weight while they are there, and leave behind only their
share of the moments ``X_i Λ_i G_iᵀ`` that the next iteration starts from.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as device_of

from unaligned.kernels.blocks import row_blocks, row_parts
from unaligned.kernels.devices import Cores, HostRows, Steps, on_host
from unaligned.kernels.matching import honour
from unaligned.kernels.residual import sum_of_squares
from unaligned.kernels.simplex import project_simplex
from unaligned.known_pairs import KnownPairs
from unaligned.pavuc.updates import (
    Array,
    Indices,
    blend,
    choosing_order,
    inverse,
    match_rows,
    objective,
    reweight_rows,
    row_residuals,
    update_anchors,
    update_projections,
    update_view_weights,
    view_errors,
    view_moments,
)

# A matching of 200,000 rows takes a GPU 100 ms and has 400 launches, of some ten
# microseconds each: with more rows, a recording would hold memory for little.
MOST_ROWS_TO_RECORD = 2**17


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
    device: Cores
    """Where the views are, and all that is computed from them."""
    _known: dict[tuple[int, int], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def known(self, view: int, template: int) -> tuple[Indices, Indices]:
        """Rows of a view and of the template known to be pairs, on the device."""
        if (view, template) not in self._known:
            rows = self.pairs.between(view, template)
            self._known[view, template] = tuple(map(self.device.put, rows))
        found: tuple[Indices, Indices] = self._known[view, template]
        return found

    @property
    def stays_on_device(self) -> bool:
        """Whether an iteration needs the host for nothing but φ and the template."""
        return not any(isinstance(X, HostRows) for X in self.views) and (
            self.matching == "greedy" or not self.align
        )

    @property
    def pull(self) -> float:
        """μ, or 0 where the alignment term is taken out (the ablation NPA-VuC)."""
        return self.mu if self.align else 0.0


class State(NamedTuple):
    """What an iteration changes. Arrays of rows and of features are on the device."""

    anchors: Array
    projections: list[Array]
    graphs: list[Array]
    residuals: list[Array]
    moments: list[Array]
    weights: Array
    template: int
    permutations: list[Indices]
    objective: float


def carry(state: State, to: Callable[[Array], Array]) -> State:
    """Give the same state with its arrays elsewhere: on the host, or on a device."""
    lists: dict[str, Any] = {
        name: [to(array) for array in value]
        for name, value in state._asdict().items()
        if isinstance(value, list)
    }
    return state._replace(anchors=to(state.anchors), **lists)


class Sweep(NamedTuple):
    """What one pass over a view, or over a part of its rows, needs to know."""

    X: Any
    projection: Array
    anchors: Array
    fidelity: Array
    partners: Array | None
    mu: float
    n_partners: int
    floor: float
    previous: Array | None = None

    def of(self, rows: slice) -> "Sweep":
        """Return the same for some of the rows."""
        return self._replace(
            X=cut(self.X, rows),
            fidelity=self.fidelity[rows],
            partners=None if self.partners is None else self.partners[rows],
            previous=None if self.previous is None else self.previous[rows],
        )


def pose(
    views: list[Any],
    pairs: KnownPairs,
    *,
    mu: float,
    alpha: float,
    matching: str,
    align: bool,
    device: Cores,
) -> Problem:
    """Pose the problem for checked views, and take them to the device."""
    there = [device.put_view(X) for X in views]
    return Problem(
        views=there,
        pairs=pairs,
        mu=mu,
        alpha=alpha,
        matching=matching,
        align=align,
        orders=[choosing_order(X, device.map) for X in there if align],
        floors=device.each(residual_floor, there, [X.dtype for X in views]),
        device=device,
    )


def residual_floor(X: Any, dtype: np.dtype[Any]) -> float:
    """Smallest residual told from zero: rounding at the scale of the view's rows.

    ``dtype`` is that of the view on the host.
    """
    squares = sum(sum_of_squares(X[rows]) for rows in row_blocks(X))
    scale = float(np.sqrt(squares / X.shape[0])) or 1.0
    return float(np.finfo(dtype).eps) * scale


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


def sum_moments_side_by_side(
    device: Cores, views: list[Any], graphs: list[Array]
) -> list[Array]:
    """`sum_moments` of several views, each in parts of its rows."""

    def of_part(i: int, rows: slice) -> Array:
        return sum_moments(cut(views[i], rows), graphs[i][rows])

    parts = [parts_of(X, graphs[0].shape[1]) for X in views]
    shares = side_by_side(device, parts, of_part)
    return [reduce(operator.add, of_view) for of_view in shares]


def sum_moments(X: Any, graph: Array) -> Array:
    """`view_moments` where all rows weigh the same, block by block."""
    xp, shape = array_namespace(graph), (X.shape[1], graph.shape[1])
    moments: Array = xp.zeros(shape, dtype=xp.float64, device=device_of(graph))
    for rows in row_blocks(X):
        moments += X[rows].T @ graph[rows]
    return moments


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


def parts_of(X: Any, n_anchors: int) -> list[slice]:
    """Row slices of a view, each of which leaves its share of the moments behind."""
    return row_parts(X, n_sums=X.shape[1] * n_anchors)


def cut(X: Any, rows: slice) -> Any:
    """Rows of a view; the view itself, which may be no array, where they are all."""
    return X if rows == slice(0, X.shape[0]) else X[rows]


def side_by_side(
    device: Cores, parts: list[list[slice]], function: Callable[[int, slice], Any]
) -> list[list[Any]]:
    """Results of a function of a view's number and rows, for all parts of all views."""
    jobs = [(i, rows) for i, of_view in enumerate(parts) for rows in of_view]
    found = iter(device.each(lambda job: function(*job), jobs))
    return [[next(found) for _ in of_view] for of_view in parts]


def sweep_side_by_side(
    device: Cores, sweeps: list[Sweep]
) -> tuple[list[Array], list[Array], list[Array]]:
    """Graphs, residuals and moments of several views, each in parts of its rows."""
    parts = [parts_of(s.X, len(s.anchors)) for s in sweeps]
    found = side_by_side(device, parts, lambda i, rows: sweep(*sweeps[i].of(rows)))
    graphs: list[Array] = []
    residuals: list[Array] = []
    moments: list[Array] = []
    for of_view in found:
        graph, lengths, shares = zip(*of_view, strict=True)
        graphs.append(join(graph))
        residuals.append(join(lengths))
        moments.append(reduce(operator.add, shares))
    return graphs, residuals, moments


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
    xp, dtype = array_namespace(anchors), X.dtype
    projection, anchors = xp.astype(projection, dtype), xp.astype(anchors, dtype)
    graphs, residuals = [], []
    moments: Any = None
    for rows in row_blocks(X):
        block = X[rows]
        latent = block @ projection
        if previous is None:
            target = latent @ anchors.T
        else:
            gap = latent - previous[rows] @ anchors
            target = previous[rows] + gap @ anchors.T
        if partners is not None:
            gamma = xp.astype(fidelity[rows], dtype)
            target = blend(target, gamma, partners[rows], mu, n_partners)
        graph = project_simplex(target)
        lengths = row_residuals(latent, graph, anchors)
        share = view_moments(block, reweight_rows(lengths, floor), graph)
        if moments is None:  # in float64, for they add up over all rows
            moments = xp.astype(share, xp.float64)
        else:
            moments += share
        graphs.append(graph)
        residuals.append(lengths)
    return join(graphs), join(residuals), moments


def join(parts: Sequence[Array]) -> Array:
    """Rows of all parts, one part after the other."""
    joined: Array = array_namespace(parts[0]).concat(parts) if parts[1:] else parts[0]
    return joined


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
