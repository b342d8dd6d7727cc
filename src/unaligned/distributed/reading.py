"""Opening files as views that are not read yet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.distributed.blocks import import_dask, rows_per_part
from unaligned.plain_files import check_plain

__all__ = ["open_views"]

SUFFIXES = "'.npy', '.zarr' or '.parquet'"


def open_views(paths: Any, *, chunks: int | str = "64 MiB") -> Any:
    """Open one file per view as dask arrays; nothing but headers is read.

    Parameters
    ----------
    paths : list or dict of paths
        A 2-D NumPy file (``.npy``, read through a memory map), a Zarr array (``.zarr``)
        or Parquet (``.parquet``: a file, a folder, a list of files or a pattern), rows
        first. For Zarr and Parquet also whatever address dask accepts.
    chunks : int or str, default="64 MiB"
        Rows of a chunk, or about how large it is. As many chunks as there are threads
        are in memory at a time. The partitions of Parquet stay as they are.

    Returns
    -------
    list or dict of dask.array.Array
        In the form of ``paths``: a dict gives the views their names.
    """
    import_dask()
    if isinstance(paths, Mapping):
        return {name: _open(path, chunks) for name, path in paths.items()}
    if isinstance(paths, str | Path):
        raise TypeError(
            f"paths={str(paths)!r} is one path. Give a list or a dict with a path for "
            "every view, as in open_views(['image.npy', 'text.npy'])."
        )
    if not isinstance(paths, list | tuple):
        raise TypeError(
            f"paths is of type {type(paths).__name__}. Give a list or a dict with a "
            "path for every view, as in open_views(['image.npy', 'text.npy'])."
        )
    return [_open(path, chunks) for path in paths]


def _open(path: Any, chunks: int | str) -> Any:
    name = str(path[0] if isinstance(path, list) else path).rstrip("/")
    check_plain(name)
    if name.endswith(".npy"):
        return _open_npy(Path(name), chunks)
    if name.endswith(".zarr"):
        return _open_zarr(str(path), chunks)
    if name.endswith((".parquet", ".parq", ".pq")):
        return _open_parquet(path)
    raise ValueError(
        f"{name!r} ends in none of {SUFFIXES}. Open it with dask itself, e.g. "
        "dask.array.from_array or dask.dataframe.read_csv, and pass that to fit."
    )


def _open_npy(path: Path, chunks: int | str) -> Any:
    import dask.array as da

    header = np.load(path, mmap_mode="r")
    if header.ndim != 2:
        raise ValueError(f"{path} holds a {header.ndim}-D array; a view is 2-D.")
    rows = _rows_per_chunk(header, chunks)
    return da.map_blocks(
        _read_rows,
        str(path.resolve()),
        chunks=da.core.normalize_chunks((rows, -1), header.shape),
        dtype=header.dtype,
        meta=np.empty((0, 0), dtype=header.dtype),
    )


def _read_rows(path: str, block_info: Any = None) -> NDArray[Any]:
    """Read the rows of one block; every worker opens the file by itself."""
    (start, stop), _ = block_info[None]["array-location"]
    # A copy, so that the map and its pages are given back at once.
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _open_zarr(path: str, chunks: int | str) -> Any:
    try:
        import zarr
    except ImportError:
        raise ImportError(
            f"Reading {path!r} needs zarr. Install it with `pip install zarr`."
        ) from None
    import dask.array as da

    array = zarr.open_array(path, mode="r")
    return da.from_zarr(array, chunks=(_rows_per_chunk(array, chunks), -1))


def _open_parquet(path: Any) -> Any:
    try:
        import dask.dataframe as dd
    except ImportError:
        raise ImportError(
            f"Reading {str(path)!r} needs dask's data frames. Install them with "
            "`pip install unaligned[dask,io]`."
        ) from None
    return dd.read_parquet(path).to_dask_array(lengths=True)


def _rows_per_chunk(X: Any, chunks: int | str) -> int:
    """Rows of a chunk, on the grid that `blocks_of` would otherwise move them to."""
    from dask.utils import parse_bytes

    if isinstance(chunks, int):
        rows = chunks
    else:
        rows = parse_bytes(chunks) // (X.dtype.itemsize * X.shape[1])
    grid = rows_per_part(X)
    return min(max(round(rows / grid), 1) * grid, X.shape[0])
