"""Compiled step of a beam search that assigns rows to rows."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.compiling import compiling

__all__ = ["extend_assignments"]

Floats: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]

_compiled = compiling()


@_compiled
def extend_assignments(
    assigned: Indices,
    costs: Floats,
    first_costs: Floats,
    wanted: Floats,
    products: Floats,
    most: float,
    width: int,
) -> tuple[Indices, Floats]:
    """Extend partial assignments by one row, and keep ``width`` of least cost.

    Row b of ``assigned`` has the partners of the rows assigned so far. To give partner
    j to the next row adds ``first_costs[j]``, and for every earlier row k
    ``min((wanted[k] − products[assigned[b, k], j])², most)``. Assignments come with
    least cost first, and go so: what follows one that is too dear is left out.
    """
    n_assigned = assigned.shape[1]
    # A heap whose root is the worst that is kept.
    heap = np.empty(width, costs.dtype)
    parents, partners = np.empty(width, np.intp), np.empty(width, np.intp)
    size, least = 0, first_costs.min()
    extended_costs = np.empty_like(first_costs)
    for b in range(len(costs)):
        if size == width and costs[b] + least >= heap[0]:
            break
        extended_costs[:] = first_costs
        for k in range(n_assigned):
            row = products[assigned[b, k]]
            for j in range(len(row)):
                difference = wanted[k] - row[j]
                extended_costs[j] += min(difference * difference, most)
        for k in range(n_assigned):
            extended_costs[assigned[b, k]] = np.inf
        for j in range(len(extended_costs)):
            cost = costs[b] + extended_costs[j]
            if cost == np.inf or (size == width and cost >= heap[0]):
                continue
            if size < width:
                at = size
                size += 1
                while at > 0 and heap[(at - 1) // 2] < cost:
                    up = (at - 1) // 2
                    heap[at] = heap[up]
                    parents[at], partners[at] = parents[up], partners[up]
                    at = up
            else:
                at = 0
                while 2 * at + 1 < size:
                    down = 2 * at + 1
                    if down + 1 < size and heap[down + 1] > heap[down]:
                        down += 1
                    if heap[down] <= cost:
                        break
                    heap[at] = heap[down]
                    parents[at], partners[at] = parents[down], partners[down]
                    at = down
            heap[at] = cost
            parents[at], partners[at] = b, j
    order = np.argsort(heap[:size], kind="mergesort")
    extended = np.empty((size, n_assigned + 1), np.intp)
    for place, at in enumerate(order):
        extended[place, :n_assigned] = assigned[parents[at]]
        extended[place, n_assigned] = partners[at]
    return extended, heap[order]
