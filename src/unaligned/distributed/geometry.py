"""Geometry of a view that stays where it is, by map-reduce over its blocks.

The first pass finds the means and scales of the columns, the second the principal
directions of rows at unit length, which need both, the third the coordinates. Sums are
taken part by part, and parts are the same however a view is chunked.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.distributed.blocks import Block, blocks_of, complain_of_numbers
from unaligned.distributed.passes import look_through, settle, stream
from unaligned.kernels.blocks import row_parts
from unaligned.kernels.scaling import row_lengths
from unaligned.savuc.geometry import Geometry, leading_vectors, unit_length

__all__ = ["read_geometry", "split_view", "take_rows"]

Array = NDArray[Any]


class Columns(NamedTuple):
    """What the first pass finds in a block: see `Numbers`, and sums of its parts."""

    n_values: int
    largest: float
    n_nan: int
    n_infinite: int
    first_bad: tuple[int, int] | None
    moments: list[tuple[int, Array, Array]]
    """Of every part: rows, means of the columns, and sums of squares around them."""


def split_view(i: int, X: Any) -> list[Block]:
    """Blocks of a view whose ends do not depend on its chunks."""
    return blocks_of(i, X, n_anchors=X.shape[1])


def parts_of(X: Array) -> list[slice]:
    """Parts of a block: as long as those of the whole view."""
    return row_parts(X, n_sums=X.shape[1] ** 2)


def over_blocks(function: Callable[..., Any], blocks: list[Block], *more: Any) -> Any:
    """Stream what a function makes of every block."""
    import dask

    task = dask.delayed(function, pure=False)
    return stream(task(block.values, *more) for block in blocks)


def read_geometry(name: str, blocks: list[Block], n_directions: int) -> Geometry:
    """Geometry of a view as `unaligned.savuc.geometry` has it, from its blocks.

    Parameters
    ----------
    name : str
        Of the view, for complaints.
    blocks : list of Block
        From `split_view`.
    n_directions : int
        Principal directions that are kept, at most.

    Returns
    -------
    Geometry
        With the coordinates of all rows, in this process.
    """
    found = list(over_blocks(columns_of_block, blocks))
    complain_of_numbers(name, blocks, found, np.dtype(np.float64))
    n, mean, squares = merged([part for block in found for part in block.moments])
    variance = squares / n
    constant = variance <= (1e-6 * np.abs(mean)) ** 2
    scale = np.where(constant, np.inf, np.sqrt(variance))

    sums, gram = np.zeros(len(mean)), np.zeros((len(mean), len(mean)))
    for shares in over_blocks(products_of_block, blocks, mean, scale):
        for part_sums, part_gram in shares:
            sums += part_sums
            gram += part_gram
    center = sums / n
    directions = leading_vectors(
        gram - n * np.outer(center, center), max(1, min(n_directions, n - 1))
    )
    nowhere = np.empty((0, directions.shape[1]), dtype=np.float32)
    geometry = Geometry(nowhere, mean, scale, center @ directions, directions)

    points = np.empty((n, directions.shape[1]), dtype=np.float32)
    lengths = np.empty(n)
    for block, (rows, long) in zip(
        blocks, over_blocks(coordinates_of_block, blocks, geometry), strict=True
    ):
        points[block.rows], lengths[block.rows] = rows, long
    return geometry._replace(points=points, lengths=lengths)


def columns_of_block(X: Any) -> Columns:
    """First pass: are all values finite, and the moments of every part."""
    X = settle(X)
    numbers = look_through(X)
    if numbers.first_bad is not None:
        return Columns(*numbers, [])
    moments = []
    for part in parts_of(X):
        rows = X[part].astype(np.float64)
        mean = rows.mean(axis=0)
        moments.append((len(rows), mean, ((rows - mean) ** 2).sum(axis=0)))
    return Columns(*numbers, moments)


def merged(moments: list[tuple[int, Array, Array]]) -> tuple[int, Array, Array]:
    """Rows, means and sums of squares of parts together, by Chan's formula."""
    n, mean, squares = moments[0]
    for n_part, mean_part, squares_part in moments[1:]:
        total, apart = n + n_part, mean_part - mean
        squares = squares + squares_part + apart**2 * (n * n_part / total)
        mean = mean + apart * (n_part / total)
        n = total
    return n, mean, squares


def products_of_block(X: Any, mean: Array, scale: Array) -> list[tuple[Array, Array]]:
    """Second pass: sums and products of the columns, of rows at unit length."""
    X, shares = settle(X), []
    for part in parts_of(X):
        rows = unit_length(X[part], settle(mean), settle(scale))
        shares.append((rows.sum(axis=0), rows.T @ rows))
    return shares


def coordinates_of_block(X: Any, geometry: Geometry) -> tuple[Array, Array]:
    """Third pass: principal coordinates of the rows, and their lengths."""
    X, way = settle(X), Geometry(*map(settle, geometry))
    points = [way.read(X[part]) for part in parts_of(X)]
    lengths = [row_lengths(X[part], way.mean, way.scale) for part in parts_of(X)]
    return np.concatenate(points), np.concatenate(lengths)


def take_rows(blocks: list[Block], wanted: NDArray[np.intp]) -> Array:
    """Read some rows of a view, given in ascending order."""
    import dask

    task = dask.delayed(rows_of_block, pure=False)
    ends = [block.rows.stop for block in blocks]
    groups = np.split(wanted, np.searchsorted(wanted, ends[:-1]))
    asked = [
        (block, group - block.rows.start)
        for block, group in zip(blocks, groups, strict=True)
        if group.size
    ]
    return np.concatenate(
        list(stream(task(block.values, group) for block, group in asked))
    )


def rows_of_block(X: Any, rows: NDArray[np.intp]) -> Array:
    """Copy some rows out of a block."""
    taken: Array = np.asarray(X)[rows]
    return taken
