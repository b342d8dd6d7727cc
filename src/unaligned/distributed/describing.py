"""What a state says of all rows, a few of them at a time.

`unaligned.pavuc` computes the same in fewer lines, with whole arrays in between. Where
the graphs take a good part of the memory there is no room for those.
"""

from collections.abc import Sequence

import numpy as np

from unaligned.alignment import Alignment
from unaligned.distributed.solver import State
from unaligned.kernels.blocks import row_blocks
from unaligned.known_pairs import KnownPairs
from unaligned.pavuc.updates import Array, Indices
from unaligned.views import Views

__all__ = ["alignment_of", "fuse_graphs"]


def fuse_graphs(graphs: Sequence[Array], permutations: Sequence[Indices]) -> Array:
    """Eq. 28: mean of the aligned graphs, in the template's row order."""
    fused = np.zeros_like(graphs[0])
    for rows in row_blocks(fused):
        for graph, permutation in zip(graphs, permutations, strict=True):
            fused[rows] += graph[permutation[rows]]
    fused /= len(graphs)
    return fused


def alignment_of(state: State, views: Views, pairs: KnownPairs) -> Alignment:
    """Alignment of a state; only what was known beforehand is trusted."""
    t, n = state.template, views.n_rows[0]
    known = [pairs.partnered(i, t) for i in range(len(views))]
    confidence = [
        match_confidence(graph, state.graphs[t], permutation, rows)
        for graph, permutation, rows in zip(
            state.graphs, state.permutations, known, strict=True
        )
    ]
    trust = np.array([len(rows) / n for rows in known])
    return Alignment(t, state.permutations, confidence, trust, views.names)


def match_confidence(
    graph: Array, template: Array, permutation: Indices, known: Indices
) -> Array:
    """Eq. 21 as a probability: see `unaligned.pavuc.updates.match_confidence`."""
    free = np.ones(len(template), dtype=bool)
    free[known] = False
    rivals = np.zeros(template.shape[1])
    for rows in row_blocks(template):
        rivals += template[rows][free[rows]].sum(axis=0, dtype=np.float64)
    confidence = np.ones(len(template))
    for rows in row_blocks(template):
        matched = graph[permutation[rows]]
        hit = np.einsum("sh,sh->s", matched, template[rows], dtype=np.float64)
        total = matched @ rivals
        share = np.divide(hit, total, out=np.zeros(len(hit)), where=total > 0)
        confidence[rows] = np.where(free[rows], np.minimum(share, 1.0), 1.0)
    return confidence
