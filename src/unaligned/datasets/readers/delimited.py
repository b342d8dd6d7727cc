"""CSV and its relatives, also packed with gzip.

Rows are read in blocks and put together at the end, so that memory holds the numbers
once, and never the text.
"""

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.datasets.readers.columns import Roles, assign_roles, check_ids
from unaligned.datasets.readers.contents import (
    DataFileError,
    FileView,
    Options,
    as_text,
    check_memory,
    check_text,
    most_text,
    need_extra,
)
from unaligned.datasets.readers.csv_layout import MISSING, Layout, find_layout

__all__ = ["read_delimited"]

BLOCK = 1 << 19  # bytes of text read at a time; pyarrow holds some thirty of them
BYTES_OF_TEXT = 64  # that Python takes for any
PIECE = 1 << 25  # bytes of numbers gathered at a time

Block = tuple[NDArray[Any], dict[int, list[Any]]]


def read_delimited(path: Path, options: Options) -> list[FileView]:
    """Read a table of text as one view."""
    stem, suffix = path.stem, path.suffix.lower()
    if suffix == ".gz":
        stem, suffix = Path(stem).stem, Path(stem).suffix.lower()
    with _open_text(path, options.encoding) as stream:
        layout = find_layout(stream, suffix, options)
    numeric = [kind != "text" for kind in layout.kinds]
    roles = assign_roles(layout.names, numeric, options)
    dtype = np.dtype(options.dtype or np.float64)
    if has_pyarrow():
        blocks = _blocks(path, layout, roles, dtype, options.encoding)
    else:
        blocks = iter([_read_plain(path, layout, roles, dtype, options.encoding)])
    X, texts = join_blocks(blocks, len(roles.features), dtype, most_text(path))
    if not len(X):
        raise DataFileError("it holds no rows of numbers.")
    names, row_ids, id_column = layout.names, None, None
    if roles.ids is not None:
        ids = texts.pop(roles.ids)
        row_ids = check_ids(ids, names[roles.ids], roles.ids_certain)
        if row_ids is None:
            texts[roles.ids] = ids
        else:
            id_column = names[roles.ids]
    return [
        FileView(
            stem,
            X,
            row_ids,
            [names[i] for i in roles.features] if layout.header else None,
            {names[i]: as_text(texts[i]) for i in sorted(texts)},
            id_column,
            is_table=True,
        )
    ]


def has_pyarrow() -> bool:
    """Whether pyarrow is installed, which reads faster and more kinds of tables."""
    try:
        need_extra("pyarrow", "io", "this file")
    except ImportError:
        return False
    return True


def join_blocks(
    blocks: Iterator[Block], width: int, dtype: np.dtype[Any], most: int
) -> tuple[NDArray[Any], dict[int, list[Any]]]:
    """Put blocks of rows together.

    They are gathered in large pieces, whose memory goes back to the system one by one
    while the whole is filled. Texts that are all different, as ids are, may take
    ``most`` bytes.
    """
    pieces: list[Any] = []
    texts: dict[int, list[Any]] = {}
    room, n_rows, n_bytes = 0, 0, 0
    for block, columns in blocks:
        n_rows += len(block)
        while len(block):
            if room == 0:
                room = max(1, PIECE // (width * dtype.itemsize))
                pieces.append(np.empty((room, width), dtype))
                check_memory(2 * pieces[-1].nbytes, f"a table of over {n_rows} rows")
            now, block = block[:room], block[room:]
            start = len(pieces[-1]) - room
            pieces[-1][start : start + len(now)] = now
            room -= len(now)
        for i, values in columns.items():
            texts.setdefault(i, []).extend(values)
            if isinstance(values, list):
                n_bytes += sum(BYTES_OF_TEXT + len(text or "") for text in values)
                check_text(n_bytes, most)
    X = np.empty((n_rows, width), dtype)
    start = 0
    for i, piece in enumerate(pieces):
        end = min(n_rows, start + len(piece))
        X[start:end] = piece[: end - start]
        start, pieces[i], piece = end, None, None
    return X, texts


def _open_bytes(path: Path) -> Any:
    """Open a file, and unpack it where it is packed with gzip."""
    with open(path, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else open(path, "rb")


def _open_text(path: Path, encoding: str) -> Any:
    stream = _open_bytes(path)
    try:
        encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
        return io.TextIOWrapper(stream, encoding=encoding, newline="")
    except (LookupError, ValueError):  # unknown, or no word at all
        stream.close()
        raise DataFileError(
            f"no encoding is called {encoding!r}; try 'utf-8' or 'latin-1'."
        ) from None


def _blocks(
    path: Path, layout: Layout, roles: Roles, dtype: np.dtype[Any], encoding: str
) -> Iterator[Block]:
    """Blocks of rows, read by pyarrow."""
    import pyarrow as pa
    from pyarrow import csv

    # Columns go by position: names may occur twice.
    columns = [str(i) for i in range(len(layout.names))]
    number = pa.from_numpy_dtype(dtype)
    kinds = {"number": number, "boolean": pa.bool_()}
    types = {columns[i]: kinds[layout.kinds[i]] for i in roles.features}
    texts = [i for i in range(len(columns)) if i not in set(roles.features)]
    # Ids differ; other texts repeat, and are kept once.
    types |= {columns[i]: pa.dictionary(pa.int32(), pa.string()) for i in roles.others}
    if roles.ids is not None:
        types[columns[roles.ids]] = pa.string()
    missing = {form for word in MISSING for form in (word, word.upper(), word.title())}
    missing |= {"NaN", "-NaN"}
    features = [columns[i] for i in roles.features]
    schema = pa.schema([(name, number) for name in features])
    boolean = pa.bool_() in types.values()
    try:
        with _open_bytes(path) as stream:
            reader = csv.open_csv(
                stream,
                csv.ReadOptions(
                    use_threads=False,  # or complaints do not tell the line
                    block_size=max(BLOCK, 4 * layout.longest),
                    column_names=columns,
                    skip_rows_after_names=layout.skip,
                    encoding=encoding,
                ),
                csv.ParseOptions(
                    delimiter=layout.delimiter, newlines_in_values=bool(texts)
                ),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=[pad + form for form in missing for pad in ("", " ")],
                    decimal_point=layout.decimal,
                ),
            )
            for batch in reader:
                numbers = batch.select(features)
                numbers = numbers.cast(schema) if boolean else numbers
                X = numbers.to_tensor(null_to_nan=True).to_numpy()
                yield X, {i: _strings(batch.column(i)) for i in texts}
    except pa.ArrowInvalid as error:
        raise DataFileError(_explain(str(error), layout.names)) from None


def _strings(column: Any) -> Any:
    """Strings of a column, each different one made once."""
    if not hasattr(column, "dictionary"):
        return column.to_pylist()
    words = column.dictionary.to_numpy(zero_copy_only=False)
    return words[column.indices.to_numpy()]


def _explain(message: str, names: list[str]) -> str:
    """Pyarrow's complaint in our words."""
    slip = re.search(r"column #(\d+): Row #(\d+): .* value '(.*)'", message)
    if slip:
        column, line, value = slip.groups()
        name = names[int(column)]
        return (
            f"line {line}, column {name!r} holds {value!r}, which is not a number; "
            f"correct it, or keep the column out with exclude=[{name!r}]."
        )
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if ragged:
        line, expected, got = ragged.groups()
        return f"line {line} should have {expected} fields and has {got}."
    if "UTF8" in message:
        return "it is not utf-8 text; name its encoding, as in encoding='latin-1'."
    return f"it is no table of text ({message.splitlines()[0]})."


def _read_plain(
    path: Path, layout: Layout, roles: Roles, dtype: np.dtype[Any], encoding: str
) -> Block:
    """All rows, read by NumPy, which knows no gaps and no decimal commas."""
    if layout.decimal != "." or "boolean" in layout.kinds:
        need_extra("pyarrow", "io", "a table with decimal commas or true and false")
    form: dict[str, Any] = {
        "delimiter": layout.delimiter,
        "skiprows": layout.skip,
        "comments": None,
        "quotechar": '"',
        "ndmin": 2,
    }
    try:
        with _open_text(path, encoding) as stream:
            X = np.loadtxt(stream, dtype, usecols=roles.features, **form)
        texts = [i for i in range(len(layout.names)) if i not in set(roles.features)]
        columns: dict[int, list[Any]] = {}
        for i in texts:
            with _open_text(path, encoding) as stream:
                column = np.loadtxt(
                    stream, object, usecols=[i], converters={i: str}, **form
                )
            columns[i] = list(column.ravel())
    except ValueError as error:
        raise DataFileError(
            f"{str(error).rstrip('.')}. Missing values need pyarrow, which is not "
            "installed: pip install 'unaligned[io]'."
        ) from None
    return X, columns
