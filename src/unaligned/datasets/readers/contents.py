"""What every reader gives back, and how it complains."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.memory import available_bytes

__all__ = [
    "DataFileError",
    "FileView",
    "Options",
    "as_text",
    "check_memory",
    "check_text",
    "is_matrix",
    "listed",
    "most_text",
    "need_extra",
]


SMALL = 1 << 20  # bytes that need no second thought
# Texts are packed by ten or twenty at most where they name things. More than so many
# bytes, and so many times their file, are no names.
MOST_TEXT, MOST_TEXT_PER_BYTE = 1 << 28, 64


class DataFileError(ValueError):
    """A file that cannot be read as views: what is wrong, where, and the way out."""


class FileView(NamedTuple):
    """One view out of a file."""

    name: str
    X: Any
    """The numbers, rows × columns: an array or a sparse matrix."""
    row_ids: list[str] | None = None
    """What the file calls its rows, if anything."""
    feature_names: list[str] | None = None
    """What the file calls its columns, if anything."""
    other_columns: dict[str, NDArray[Any]] = {}
    """One value per row each: text, dates, classes and columns left out."""
    id_column: str | None = None
    """The column that the ids come from, if it is one."""
    is_table: bool = False
    """Whether columns are of different kinds, as in tables of text and Parquet."""
    excluded: tuple[str, ...] = ()
    """Names of those among ``other_columns`` that ``exclude`` left out."""


class Options(NamedTuple):
    """What a user says about files; `unaligned.datasets.read_view` explains it."""

    view: str | None = None
    id_column: str | int | bool | None = None
    exclude: tuple[str | int, ...] = ()
    header: bool | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    dtype: Any = None
    mmap: bool = False
    use_rep: str | None = None
    layer: str | None = None

    @property
    def matrix(self) -> str | None:
        """Place of another matrix than X in AnnData and MuData files."""
        if self.use_rep is not None and self.layer is not None:
            raise DataFileError("give use_rep= or layer=, not both.")
        if self.use_rep is not None and self.use_rep != "X":
            return f"obsm/{self.use_rep}"
        return None if self.layer is None else f"layers/{self.layer}"


def check_memory(n_bytes: float, what: str) -> None:
    """Complain before more memory is taken than there is."""
    if n_bytes < SMALL:
        return
    free = available_bytes()
    if n_bytes > free:
        raise DataFileError(
            f"{what} would take {n_bytes / 1e9:.3g} GB, and {free / 1e9:.3g} GB of "
            "memory are free; take fewer rows or columns, or a machine with more."
        )


def most_text(path: Path) -> int:
    """Bytes that ids and other texts of a file may take once they are unpacked."""
    return max(MOST_TEXT, MOST_TEXT_PER_BYTE * path.stat().st_size)


def check_text(n_bytes: int, most: int) -> None:
    """Complain of a small file whose texts fill the memory."""
    if n_bytes > most:
        raise DataFileError(
            f"its ids and texts unpack to more than {most / 1e6:.0f} MB, which is too "
            "much for a file of this size; get it again, or write it anew without them."
        )


def is_matrix(value: Any) -> bool:
    """Whether something is a table of numbers, dense or sparse."""
    return getattr(value, "ndim", 0) == 2 and value.dtype.kind in "biufc"


def listed(names: Iterable[Any]) -> str:
    """Names in a sentence: all if they are few, or else the first ten."""
    names, most = list(names), 10
    shown = ", ".join(repr(str(name)) for name in names[:most]) or "none"
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def need_extra(package: str, extra: str, what: str) -> None:
    """Complain if a package that a format needs is not installed."""
    if importlib.util.find_spec(package) is None:
        raise ImportError(
            f"{what} needs {package}, which is not installed: "
            f"pip install 'unaligned[{extra}]'."
        )


def as_text(values: Iterable[Any]) -> NDArray[Any]:
    """Strings in an array that holds each of them once, however long they are."""
    values = list(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
