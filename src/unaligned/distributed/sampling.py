"""Rows of aligned views that stand for all where labels and maps are learned."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.distributed.aligning import Task
from unaligned.distributed.geometry import take_rows
from unaligned.distributed.pairing import LEAST
from unaligned.known_pairs import KnownPairs
from unaligned.partitions.labeller import KNOWN_PER_CLASS, N_KNOWN
from unaligned.savuc.geometry import Geometry
from unaligned.views import Views

__all__ = ["Sample", "draw_aligned"]

Indices = NDArray[np.intp]


class Sample(NamedTuple):
    """Some rows of all views, in memory, and what was found of them."""

    rows: list[Indices]
    """Of each view, in ascending order."""
    views: Views
    pairs: KnownPairs
    alignment: Alignment
    geometries: list[Geometry]

    def back(self, pairs: Indices, i: int, j: int) -> Indices:
        """Pairs of sampled rows as pairs of rows of the views."""
        return np.column_stack([self.rows[i][pairs[:, 0]], self.rows[j][pairs[:, 1]]])


def draw_aligned(
    task: Task,
    alignment: Alignment,
    geometries: list[Geometry],
    n_clusters: int,
    rng: np.random.RandomState,
) -> Sample:
    """Draw rows of all views, partners and known pairs together.

    There are as many as new rows are labelled by (`unaligned.partitions.labeller`).
    Rows without a partner fill views up that have fewer.
    """
    wanted = max(N_KNOWN, KNOWN_PER_CLASS * n_clusters)
    n_rows, n_views = task.views.n_rows, len(task.views)
    chosen: list[list[Any]] = [[] for _ in range(n_views)]
    for group in (alignment, *alignment.others):
        members = group.matched()
        sure = [group.confidence[i] >= LEAST for i in members]
        drawn = first_of(rng, np.all(sure, axis=0), wanted)
        for i in members:
            partners = group.permutations[i][drawn]
            chosen[i].append(partners[partners >= 0])
    for i in range(n_views):
        for j in range(i + 1, n_views):
            given = np.column_stack(task.pairs.between(i, j))
            given = given[first_of(rng, np.ones(len(given), dtype=bool), wanted)]
            chosen[i].append(given[:, 0])
            chosen[j].append(given[:, 1])
    rows = []
    for n, parts in zip(n_rows, chosen, strict=True):
        there = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *parts]))
        more = np.setdiff1d(rng.permutation(n)[: min(wanted, n)], there)
        some = rng.permutation(more)[: max(wanted - len(there), 0)]
        rows.append(np.sort(np.concatenate([there, some])))
    arrays = [
        take_rows(blocks, at) for blocks, at in zip(task.blocks, rows, strict=True)
    ]
    identities = [ids[at] for ids, at in zip(task.pairs.identities, rows, strict=True)]
    return Sample(
        rows,
        Views(arrays, task.views.names),
        KnownPairs(identities),
        restricted(alignment, rows),
        [
            geometry._replace(points=geometry.points[at], lengths=geometry.lengths[at])
            for geometry, at in zip(geometries, rows, strict=True)
        ],
    )


def first_of(
    rng: np.random.RandomState, are_first: NDArray[np.bool_], wanted: int
) -> Indices:
    """Draw rows, those that come first before others; in ascending order."""
    order = rng.permutation(len(are_first))
    order = order[np.argsort(~are_first[order], kind="stable")]
    return np.sort(order[:wanted])


def restricted(alignment: Alignment, rows: list[Indices]) -> Alignment:
    """Alignment of some rows of each view, numbered among themselves."""
    of_template = rows[alignment.template]
    permutations, confidence = [], []
    for i, at in enumerate(rows):
        partners = alignment.permutations[i][of_template]
        places = np.minimum(np.searchsorted(at, partners), len(at) - 1)
        there = (partners >= 0) & (at[places] == partners)
        permutations.append(np.where(there, places, -1))
        sure = alignment.confidence[i][of_template]
        confidence.append(np.where(there, sure, 0.0))
    return replace(
        alignment,
        permutations=permutations,
        confidence=confidence,
        others=[restricted(group, rows) for group in alignment.others],
        n_rows=[],
        row_ids=[],
    )
