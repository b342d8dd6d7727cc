"""Matching the rows of two graphs within a budget of memory.

While the budget allows, the answer is the one in memory: found at once or, for the
greedy matching, a share of the rows at a time. Beyond that, both sides are dealt into
buckets and matched within them. A bucket holds rows that have their dominant anchor in
common, and columns likewise. How many rows of one anchor go to columns of another is a
transport problem as small as the number of anchors.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.random import sample_without_replacement

from unaligned.distributed.passes import settle
from unaligned.kernels.devices import result_of
from unaligned.kernels.matching import extend_matching, match_greedy
from unaligned.pavuc.updates import Array, Indices, alignment_gain, match_rows

__all__ = ["Budget", "Matching", "Side", "deal", "fewest_bytes", "match_within"]

# Measured peaks of the greedy matching per row and anchor: copies in float64 and a tree
# over the columns. With a share of the rows at a time, their copies hardly count.
BYTES_AT_ONCE, BYTES_IN_INSTALMENTS = 36, 22
BYTES_PER_SCORE = 16  # of the optimal one: a table in float64, and a copy of it
INSTALMENTS = 8
SAMPLE = 20_000  # rows that the loss is estimated on

Compute = Callable[[Iterable[Any]], Iterator[Any]]
Pairs = tuple[Indices, Indices]
NOBODY: Pairs = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)


class Budget(NamedTuple):
    """Bytes that matchings may take."""

    here: float
    """One matching, in the process that calls ``fit``."""
    per_task: float
    """One bucket, wherever tasks are computed."""


class Matching(NamedTuple):
    """A permutation, and what it costs not to have found the exact one."""

    permutation: Indices
    gain_lost: float
    """Estimate of what Eq. 20 falls short of; 0 where the matching is exact."""


class Side(NamedTuple):
    """One side of a matching: a graph, and which of its rows take part, in sequence."""

    graph: Array
    members: Indices

    def at(self, places: Any) -> Array:
        """Graph rows at some places of the sequence."""
        points: Array = self.graph[self.members[places]]
        return points


def match_within(
    budget: Budget,
    graph: Array,
    template: Array,
    order: Indices,
    known: Pairs,
    method: str,
    compute: Compute,
) -> Matching:
    """Eq. 23 in limited memory: exact if that is possible, else in buckets.

    ``compute`` streams the results of dask tasks.
    """
    n, m = graph.shape
    if n <= most_rows(budget.here, m, method):
        exact = result_of(match_rows(graph, template, order, known, method))
        return Matching(exact, 0.0)
    rows = Side(graph, order[~np.isin(order, known[0])] if known[0].size else order)
    columns = Side(template, np.delete(np.arange(n), known[1]))
    if method == "greedy" and fewest_bytes(n, m, method) <= budget.here:
        matched, lost = match_in_instalments(rows, columns), 0.0
    else:
        largest = most_rows(budget.per_task, m, method)
        matched = match_in_buckets(rows, columns, largest, method, compute)
        lost = gain_lost(rows, columns, largest, method)
    permutation = np.empty(n, dtype=np.intp)
    for some_rows, their_columns in chain([known], matched):
        permutation[their_columns] = some_rows
    return Matching(permutation, lost)


def most_rows(budget: float, m: int, method: str) -> float:
    """Rows that can be matched at once in so many bytes."""
    if method == "optimal":
        return float(np.sqrt(budget / BYTES_PER_SCORE))
    return budget / (BYTES_AT_ONCE * m)


def fewest_bytes(n: int, m: int, method: str) -> float:
    """Memory without which n rows cannot be matched exactly."""
    if method == "optimal":
        return float(BYTES_PER_SCORE * n * n)
    return float(BYTES_IN_INSTALMENTS * n * m)


def match_in_instalments(rows: Side, columns: Side) -> Iterator[Pairs]:
    """Greedy matching, a share of the rows at a time: exact, in less memory."""
    free = columns.members
    for some_rows in np.array_split(rows.members, INSTALMENTS):
        taken = match_greedy(rows.graph[some_rows], columns.graph[free])
        yield some_rows, free[taken]
        free = np.delete(free, taken)


def match_in_buckets(
    rows: Side, columns: Side, largest: float, method: str, compute: Compute
) -> Iterator[Pairs]:
    """Match within buckets of limited size."""
    import dask

    buckets = deal(rows, columns, largest)
    task = dask.delayed(match_bucket, pure=False)
    tasks = (task(rows.at(r), columns.at(c), method) for r, c in buckets)
    for (r, c), found in zip(buckets, compute(tasks), strict=True):
        yield rows.members[r[found]], columns.members[c]


def match_bucket(rows: Array, columns: Array, method: str) -> Indices:
    """Row of each column, where those who come first choose first."""
    return extend_matching(settle(rows), settle(columns), NOBODY, method=method)


def deal(rows: Side, columns: Side, largest: float) -> list[Pairs]:
    """Deal rows and columns into buckets with as many of the ones as of the others.

    Given are places in the sequences of both sides, in ascending order: within a
    bucket, too, who comes first chooses first.
    """
    row_anchors, row_means = dominant_anchors(rows)
    column_anchors, column_means = dominant_anchors(columns)
    shares = transport(row_anchors, column_anchors, row_means @ column_means.T)
    row_shares = deal_side(rows, row_anchors, shares, column_means)
    column_shares = deal_side(columns, column_anchors, shares.T, row_means)
    return [
        part
        for a, b in np.argwhere(shares)
        for part in cut(rows, columns, row_shares[a, b], column_shares[b, a], largest)
    ]


def dominant_anchors(side: Side) -> tuple[Indices, Array]:
    """Heaviest anchor of every member, and the mean of those that share one."""
    m = side.graph.shape[1]
    anchors = side.graph.argmax(axis=1)[side.members]
    sums = [
        np.bincount(anchors, weights, minlength=m)
        for weights in (side.graph[side.members, h] for h in range(m))
    ]
    sizes = np.maximum(np.bincount(anchors, minlength=m), 1)
    return anchors, np.stack(sums, axis=1) / sizes[:, None]


def transport(row_anchors: Indices, column_anchors: Indices, gains: Array) -> Indices:
    """How many rows of each anchor go to columns of each, for the largest gain."""
    import ot  # type: ignore[import-untyped]

    supply = np.bincount(row_anchors, minlength=len(gains)).astype(np.float64)
    demand = np.bincount(column_anchors, minlength=len(gains)).astype(np.float64)
    # A basic solution: sums and differences of whole numbers, few of them not zero.
    shares: Indices = np.rint(ot.emd(supply, demand, -gains)).astype(np.intp)
    return shares


def deal_side(
    side: Side, anchors: Indices, shares: Indices, means: Array
) -> dict[tuple[int, int], Indices]:
    """Who of those with anchor a goes to b; small shares take first whom they suit."""
    dealt = {}
    for a in range(len(shares)):
        left = np.flatnonzero(anchors == a)
        targets = np.flatnonzero(shares[a])
        targets = targets[np.argsort(shares[a, targets], kind="stable")]
        for place, b in enumerate(targets[:-1]):
            points, later = side.at(left), means[targets[place + 1 :]]
            liking = points @ means[b] - (points @ later.T).max(axis=1)
            taken = np.zeros(len(left), dtype=bool)
            taken[np.argsort(-liking, kind="stable")[: shares[a, b]]] = True
            dealt[a, int(b)], left = left[taken], left[~taken]
        if targets.size:
            dealt[a, int(targets[-1])] = left
    return dealt


def cut(
    rows: Side, columns: Side, r: Indices, c: Indices, largest: float
) -> Iterator[Pairs]:
    """Cut a bucket that is too large, both sides in the same way."""
    n_parts = min(len(r), int(np.ceil(len(r) / largest)))
    if n_parts == 1:
        yield r, c
        return
    # Here and not above: numba takes a second to import.
    from unaligned.kernels.matching_tree import arrange

    row_parts = np.array_split(arrange(rows.at(r)), n_parts)
    column_parts = np.array_split(arrange(columns.at(c)), n_parts)
    for some_r, some_c in zip(row_parts, column_parts, strict=True):
        yield r[np.sort(some_r)], c[np.sort(some_c)]


def most_sampled(n: int, largest: float) -> int:
    """Rows of a sample that is matched at once, like a bucket."""
    return int(min(n, SAMPLE, max(largest, 1)))


def gain_lost(rows: Side, columns: Side, largest: float, method: str) -> float:
    """Estimate on a sample by how much buckets fall short of the exact matching."""
    n = len(rows.members)
    size = most_sampled(n, largest)
    places = [
        np.sort(sample_without_replacement(n, size, random_state=s)) for s in (0, 1)
    ]
    few, others = rows.at(places[0]), columns.at(places[1])
    exact = match_bucket(few, others, method)
    dealt = np.empty(size, dtype=np.intp)
    all_rows = np.arange(size)
    # Buckets shrink with the sample, so that there are as many as for all rows.
    for r, c in deal(Side(few, all_rows), Side(others, all_rows), largest * size / n):
        dealt[c] = r[match_bucket(few[r], others[c], method)]
    lost = alignment_gain(few, others, exact) - alignment_gain(few, others, dealt)
    return lost * n / size
