"""Rows that are matched in blocks, so that memory grows with n and not with n².

A block holds as many rows of the template as of another view; who is whose partner
follows from their order or from a matrix of weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from unaligned.kernels.graph_matching import round_matching
from unaligned.kernels.matching import match_greedy, match_optimal
from unaligned.known_pairs import KnownPairs

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Block",
    "closeness",
    "draw_blocks",
    "gather",
    "harden",
    "known_blocks",
    "match_rows",
    "partners",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class Block(NamedTuple):
    """Rows of the template and of another view that were matched with each other."""

    template_rows: Indices
    view_rows: Indices
    weights: Tensor | None = None
    """Weight of every row of the view for every row of the template; None where the
    rows are partners as they stand."""


def draw_blocks(
    pairs: KnownPairs,
    view: int,
    template: int,
    size: int | None,
    clamp: bool,
    rng: np.random.RandomState,
) -> list[Block]:
    """Shuffle the rows of the template and of a view into blocks of equal size.

    Known partners share a block, or are left out if they are clamped. Within a block
    the order is random: nothing is to be learned from it.
    """
    n = len(pairs.identities[template])
    beside = pairs.honoured(rng.permutation(n), view, template)
    rows = rng.permutation(n)
    if clamp:
        rows = rows[~np.isin(rows, pairs.partnered(view, template))]
    if not rows.size:
        return []
    parts = np.array_split(rows, -(-len(rows) // (size or n)))
    return [Block(part, rng.permutation(beside[part])) for part in parts]


def known_blocks(
    pairs: KnownPairs, view: int, template: int, size: int | None
) -> list[Block]:
    """Known partners as blocks."""
    of_view, of_template = pairs.between(view, template)
    if not len(of_view):
        return []
    n_parts = -(-len(of_view) // (size or len(of_view)))
    parts = zip(
        np.array_split(of_template, n_parts),
        np.array_split(of_view, n_parts),
        strict=True,
    )
    return [Block(*rows) for rows in parts]


def match_rows(template: Array, view: Array, block: Block, how: str) -> Block:
    """Bring the rows of a block together by their latent distance.

    ``"greedy"``: each row of the template, in turn, takes the nearest free row.
    ``"hungarian"``: the least sum of squared distances.
    """
    match = {"greedy": match_greedy, "hungarian": match_optimal}[how]
    H, other = template[block.template_rows], view[block.view_rows]
    # The nearest point has the largest <h, g> − ½‖g‖².
    ones = np.ones((len(H), 1), H.dtype)
    height = -0.5 * np.square(other).sum(axis=1, keepdims=True)
    nearest = match(np.hstack([H, ones]), np.hstack([other, height]))
    return Block(block.template_rows, block.view_rows[nearest])


def closeness(template: Array, view: Array, block: Block) -> NDArray[np.float64]:
    """Confidence of matches, row by row: share of a partner among its rivals.

    A rival counts by how much nearer it is than the mean row of the block.
    """
    distances = pairwise_distances(
        template[block.template_rows], view[block.view_rows]
    ).astype(np.float64)
    near = np.maximum(distances.mean() - distances, 0)
    return _share(near.diagonal(), near.sum(axis=1))


def partners(block: Block, view: Array) -> Array:
    """Latent partner of every row of the template in a block: P H."""
    if block.weights is None:
        return view[block.view_rows]
    return block.weights.cpu().numpy() @ view[block.view_rows]


def harden(block: Block) -> tuple[Block, NDArray[np.float64]]:
    """Round the weights of a block to a matching; return it and its confidence."""
    assert block.weights is not None
    weights = block.weights.cpu().numpy()
    rows = round_matching(weights.T, "greedy")
    hit = np.take_along_axis(weights, rows[:, None], axis=1)[:, 0]
    confidence = _share(hit, weights.sum(axis=1, dtype=np.float64))
    return Block(block.template_rows, block.view_rows[rows]), confidence


def gather(blocks: list[Block], parts: list[Array]) -> Array:
    """Put what belongs to the template's rows of blocks into the template's order."""
    rows = np.concatenate([block.template_rows for block in blocks])
    joined = np.concatenate(parts)
    ordered = np.empty_like(joined)
    ordered[rows] = joined
    return ordered


def _share(part: Array, whole: Array) -> NDArray[np.float64]:
    """Quotient in [0, 1], zero where the whole is."""
    share = np.zeros(len(part))
    np.divide(part, whole, out=share, where=whole > 0)
    return np.minimum(share, 1.0)
