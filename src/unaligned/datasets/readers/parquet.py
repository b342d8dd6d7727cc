"""Parquet files, read by pyarrow in blocks of rows."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.datasets.readers.columns import assign_roles, check_ids
from unaligned.datasets.readers.contents import (
    DataFileError,
    FileView,
    Options,
    as_text,
    check_memory,
    need_extra,
)

__all__ = ["read_parquet"]

BLOCK = 1 << 24  # bytes of numbers read at a time, more or less


def read_parquet(path: Path, options: Options) -> list[FileView]:
    """Read a table as one view; lists of numbers are as many columns."""
    need_extra("pyarrow", "io", "Parquet")
    import pyarrow as pa
    from pyarrow import parquet

    schema = parquet.read_schema(path)
    names = list(schema.names)
    texts = [f.name for f in schema if f.type in (pa.string(), pa.large_string())]
    if options.id_column is None:
        options = options._replace(id_column=_index_of_pandas(schema))
    kinds = [_number_type(field.type) for field in schema]
    roles = assign_roles(names, [kind is not None for kind in kinds], options)
    dtype = options.dtype or np.result_type(*(kinds[i] for i in roles.features))
    dtype = np.dtype(dtype if np.dtype(dtype).kind == "f" else np.float64)
    asides = [i for i in range(len(names)) if i not in set(roles.features)]
    aside: dict[int, list[Any]] = {i: [] for i in asides}
    X: NDArray[Any] | None = None
    start = 0
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        n_rows = file.metadata.num_rows
        check_memory(8.0 * n_rows * len(names), f"a table of {n_rows} rows")
        size = min(max(BLOCK // (8 * len(names)), 1024), 1 << 16)
        for batch in file.iter_batches(batch_size=size, use_threads=False):
            end = start + len(batch)
            blocks = [_numbers(batch.column(i), names[i]) for i in roles.features]
            widths = [block.shape[1] for block in blocks]
            if X is None:
                check_memory(1.0 * n_rows * sum(widths) * dtype.itemsize, "its numbers")
                X = np.empty((n_rows, sum(widths)), dtype)
            X[start:end] = np.hstack(blocks, dtype=dtype, casting="same_kind")
            for i in asides:
                aside[i].extend(_texts(batch.column(i)))
            start = end
    if X is None or start != n_rows:
        raise DataFileError(f"it declares {n_rows} rows and holds {start or 'none'}.")
    row_ids = None
    if roles.ids is not None:
        row_ids = check_ids(aside[roles.ids], names[roles.ids], roles.ids_certain)
        if row_ids is not None:
            del aside[roles.ids]
    features = [
        names[i] if width == 1 else f"{names[i]}[{at}]"
        for i, width in zip(roles.features, widths, strict=True)
        for at in range(width)
    ]
    others = {names[i]: as_text(aside[i]) for i in sorted(aside)}
    id_column = names[roles.ids] if row_ids and roles.ids is not None else None
    return [FileView(path.stem, X, row_ids, features, others, id_column, True)]


def _index_of_pandas(schema: Any) -> str | None:
    """Name the column in which pandas wrote the index of a data frame, if any."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    return next((c for c in columns if isinstance(c, str) and c in schema.names), None)


def _number_type(kind: Any) -> np.dtype[Any] | None:
    """NumPy's type for a column of numbers or of lists of numbers; None for others."""
    import pyarrow.types as is_

    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        kind = kind.value_type
    if is_.is_decimal(kind) or is_.is_boolean(kind):
        return np.dtype(np.float64)
    if is_.is_integer(kind) or is_.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    return None


def _numbers(column: Any, name: str) -> NDArray[Any]:
    """Make a block of a column, of numbers or lists of one length, a matrix."""
    import pyarrow as pa
    from pyarrow import compute

    n_rows = len(column)
    if hasattr(column, "flatten") and pa.types.is_nested(column.type):
        lengths = compute.list_value_length(column).to_numpy(zero_copy_only=False)
        if (lengths != lengths[0]).any():
            raise DataFileError(
                f"column {name!r} holds lists of different length, {lengths.min()} to "
                f"{lengths.max()}; make them equal, or keep it out with "
                f"exclude=[{name!r}]."
            )
        column = column.flatten()
    if pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values.reshape(n_rows, -1)


def _texts(column: Any) -> Any:
    """Make a block of any other column strings, None where there is nothing."""
    if hasattr(column, "dictionary"):  # each different one is made once
        words = as_text([*_texts(column.dictionary), None])
        return words[column.indices.fill_null(len(words) - 1).to_numpy()]
    return [None if value is None else str(value) for value in column.to_pylist()]
