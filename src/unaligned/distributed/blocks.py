"""Views as dask arrays: checks of what users pass, and the row blocks of a view."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unaligned.extras import import_extra
from unaligned.kernels.blocks import row_parts
from unaligned.matrices import (
    as_floats,
    complain_if_too_large,
    complain_of_infinity,
)
from unaligned.views import label

__all__ = [
    "Block",
    "blocks_of",
    "check_dask_matrix",
    "complain_of_numbers",
    "cut_at_grid",
    "import_dask",
    "rows_per_part",
]


class Block(NamedTuple):
    """Consecutive rows of a view, not read yet."""

    view: int
    rows: slice
    values: Any
    """A dask ``Delayed`` of the rows."""


def check_dask_matrix(X: Any, label: str) -> Any:
    """One view as a dask array of floats with known chunks, all columns in one.

    Nothing is read, unless dask does not know the lengths of the chunks.
    """
    dask = import_dask()
    if not dask.is_dask_collection(X):
        raise TypeError(
            f"{label} is a {type(X).__name__}, and unaligned.distributed takes dask "
            "arrays. Use what has the same name in unaligned for data that fit into "
            "memory, dask.array.from_array(X, chunks=(100_000, -1)) to try this on "
            "them, or unaligned.distributed.open_views(paths) for files."
        )
    if hasattr(X, "to_dask_array"):  # a data frame, which does not know its lengths
        X = X.to_dask_array(lengths=True)
    if np.isnan(X.shape).any():
        X = X.copy().compute_chunk_sizes()  # of a copy: it changes the array itself
    if sparse.issparse(X._meta):
        raise TypeError(
            f"{label} has sparse chunks, which are not supported here. Use "
            "X.map_blocks(lambda block: block.toarray()), or unaligned.PAVuC, which "
            "keeps a sparse matrix sparse."
        )
    if X.dtype.kind not in "biufc":
        raise ValueError(
            f"{label} has the dtype {X.dtype}, which does not hold numbers. Encode "
            "text and categories first, or drop those columns."
        )
    return as_floats(X, label).rechunk({1: -1})


def import_dask() -> Any:
    """Import dask with its arrays."""
    dask = import_extra("dask", "dask", "unaligned.distributed")
    import_extra("dask.array", "dask", "unaligned.distributed")
    return dask


def blocks_of(view: int, X: Any, n_anchors: int) -> list[Block]:
    """Row blocks of a dask array, cut where sums in memory pause, too.

    A matrix product rounds its last rows in another way than those in the middle, and
    the greedy matching depends on every bit of float32. Blocks that consist of the
    parts in which sums are made in memory give every row the same bits as there.
    """
    grid = rows_per_part(X, X.shape[1] * n_anchors)
    X = X.rechunk({0: cut_at_grid(X.chunks[0], grid)})
    ends = np.cumsum(X.chunks[0]).tolist()
    starts = [0, *ends[:-1]]
    return [
        Block(view, slice(start, stop), values)
        for start, stop, values in zip(
            starts, ends, X.to_delayed().ravel(), strict=True
        )
    ]


def rows_per_part(X: Any, n_sums: int = 1) -> int:
    """Rows that memory would sum up by themselves, see `row_parts`."""
    return row_parts(X, n_sums)[0].stop


def cut_at_grid(chunks: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Move the ends of chunks to the nearest multiples of a step.

    Examples
    --------
    >>> cut_at_grid((100, 30, 70, 55), step=64)
    (128, 64, 63)
    """
    ends = np.cumsum(chunks)
    on_grid = np.rint(ends / step).astype(int) * step
    on_grid = np.minimum(on_grid, ends[-1])
    on_grid[-1] = ends[-1]
    cuts = np.unique(np.append(on_grid, 0))
    return tuple(np.diff(cuts).tolist())


def complain_of_numbers(
    name: str, blocks: list[Block], surveys: list[Any], dtype: np.dtype[Any]
) -> None:
    """Complain about values of a view that are not finite, or whose squares are not."""
    bad = [
        (block.rows.start + survey.first_bad[0], survey.first_bad[1])
        for block, survey in zip(blocks, surveys, strict=True)
        if survey.first_bad is not None
    ]
    if bad:
        complain_of_infinity(
            label(name),
            sum(survey.n_nan for survey in surveys),
            sum(survey.n_infinite for survey in surveys),
            bad[0],
            "dask.array.nan_to_num or dask.dataframe's fillna",
        )
    largest = max(survey.largest for survey in surveys)
    n_values = sum(survey.n_values for survey in surveys)
    complain_if_too_large(label(name), largest, n_values, dtype)
