"""One pass over a view, which is read once per iteration.

Row blocks that fit the cache go through projection, graph update, residual and weight
while they are there, and leave behind only their share of the moments ``X_i Λ_i G_iᵀ``
that the next iteration starts from.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from array_api_compat import array_namespace
from array_api_compat import device as device_of

from unaligned.kernels.blocks import row_blocks, row_parts
from unaligned.kernels.devices import Cores
from unaligned.kernels.simplex import project_simplex
from unaligned.pavuc.updates import (
    Array,
    blend,
    reweight_rows,
    row_residuals,
    view_moments,
)


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


def side_by_side(
    device: Cores, parts: list[list[slice]], function: Callable[[int, slice], Any]
) -> list[list[Any]]:
    """Results of a function of a view's number and rows, for all parts of all views."""
    jobs = [(i, rows) for i, of_view in enumerate(parts) for rows in of_view]
    found = iter(device.each(lambda job: function(*job), jobs))
    return [[next(found) for _ in of_view] for of_view in parts]


def parts_of(X: Any, n_anchors: int) -> list[slice]:
    """Row slices of a view, each of which leaves its share of the moments behind."""
    return row_parts(X, n_sums=X.shape[1] * n_anchors)


def cut(X: Any, rows: slice) -> Any:
    """Rows of a view; the view itself, which may be no array, where they are all."""
    return X if rows == slice(0, X.shape[0]) else X[rows]


def join(parts: Sequence[Array]) -> Array:
    """Rows of all parts, one part after the other."""
    joined: Array = array_namespace(parts[0]).concat(parts) if parts[1:] else parts[0]
    return joined
