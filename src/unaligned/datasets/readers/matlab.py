"""MATLAB's files up to version 7, read here element by element.

``scipy.io.loadmat`` reads them too, but trusts what they declare: one in forty of the
files that we damaged at random crashed it, and Python with it. Here every length is
compared with what is left of the file before anything is done with it, and what MATLAB
would run or build (functions, objects) is passed over. Version 7.3 is HDF5.
"""

import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.datasets.readers.contents import (
    DataFileError,
    FileView,
    Options,
    check_memory,
)
from unaligned.datasets.readers.hdf5 import is_hdf5, read_matlab73
from unaligned.datasets.readers.variables import make_sparse, views_of_variables
from unaligned.kernels.memory import available_bytes

__all__ = ["read_matlab"]

HEADER = 128
DEEPEST = 8  # lists in lists in lists

# Types of data elements, and classes of arrays, by MATLAB's numbers.
NUMBER_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4"}
NUMBER_TYPES |= {9: "f8", 12: "i8", 13: "u8"}
TEXT_TYPES = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, CHAR, SPARSE = 1, 2, 4, 5
NUMBER_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4"}
NUMBER_CLASSES |= {13: "u4", 14: "i8", 15: "u8"}
COMPLEX = 0x800


def read_matlab(path: Path, options: Options) -> list[FileView]:
    """Read the variables of a file as views: a cell array of them, or matrices."""
    if is_hdf5(path):
        variables = read_matlab73(path)
    else:
        check_memory(path.stat().st_size, "the file")
        variables = read_variables(path.read_bytes())
    return views_of_variables(variables, path.stem, options)


def read_variables(content: bytes) -> dict[str, Any]:
    """Read the variables of a file: arrays, sparse matrices, text, lists of those."""
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise DataFileError(
            "it is no MATLAB file of version 5 or later; save it in MATLAB with "
            "save(..., '-v7')."
        )
    variables: dict[str, Any] = {}
    elements = Elements(memoryview(content)[HEADER:], order)
    while elements.left:
        kind, data = elements.next()
        if kind == COMPRESSED:
            kind, data = Elements(_unpack(data), order).next()
        if kind == MATRIX:
            name, value = _read_array(Elements(data, order), depth=0)
            variables |= _flat(name, value)
    return variables


class Elements:
    """The data elements in a stretch of a file, one after the other."""

    def __init__(self, content: bytes | memoryview, order: str) -> None:
        self.content, self.order, self.at = memoryview(content), order, 0

    @property
    def left(self) -> int:
        """Bytes that have not been read."""
        return len(self.content) - self.at

    def take(self, size: int) -> memoryview:
        """Take the next bytes, if there are as many."""
        if size > self.left:
            raise DataFileError(
                f"it is cut short or damaged: {size} bytes are declared where "
                f"{self.left} are left; get it again."
            )
        self.at += size
        return self.content[self.at - size : self.at]

    def next(self) -> tuple[int, memoryview]:
        """Type and content of the next element."""
        kind, size = self.numbers(self.take(8), "u4")
        if kind >> 16:  # up to four bytes, in place of their number
            data = self.content[self.at - 4 : self.at][: kind >> 16]
            return int(kind) & 0xFFFF, data
        data = self.take(int(size))
        if kind != COMPRESSED:
            self.at += min(-int(size) % 8, self.left)
        return int(kind), data

    def next_numbers(self) -> NDArray[Any]:
        """Numbers of the next element."""
        kind, data = self.next()
        if kind not in NUMBER_TYPES:
            raise DataFileError(f"it is damaged: element type {kind} among numbers.")
        return self.numbers(data, NUMBER_TYPES[kind])

    def numbers(self, data: memoryview, kind: str) -> NDArray[Any]:
        """Bytes as numbers."""
        dtype = np.dtype(self.order + kind)
        return np.frombuffer(
            data[: len(data) // dtype.itemsize * dtype.itemsize], dtype
        )


def _unpack(packed: memoryview) -> bytes:
    """Unpack a variable, unless it is larger than memory."""
    most = min(available_bytes(), 2**62)
    stream = zlib.decompressobj()
    content = stream.decompress(packed, max_length=int(most))
    if stream.unconsumed_tail:
        check_memory(most + 1, "a variable in it")
    return content


def _read_array(elements: Elements, depth: int) -> tuple[str, Any]:
    """Name and value of an array; the value is None for what MATLAB would run."""
    if not elements.left:
        return "", np.empty((0, 0))  # how an empty cell is written
    flags = elements.next_numbers()
    dims = [int(size) for size in elements.next_numbers()]
    name = bytes(elements.next()[1]).decode("utf-8", "replace")
    if len(flags) < 2 or len(dims) < 2 or min(dims) < 0:
        raise DataFileError(f"its variable {name!r} declares the shape {dims}.")
    kind, size = int(flags[0]) & 0xFF, prod(dims)
    if kind in NUMBER_CLASSES:
        values = _full(elements.next_numbers(), dims, NUMBER_CLASSES[kind], name)
        if int(flags[0]) & COMPLEX:
            real, imaginary = values, elements.next_numbers()
            values = real.astype(np.result_type(real, np.complex64))
            values.imag = _full(imaginary, dims, NUMBER_CLASSES[kind], name)
        return name, values
    if kind == SPARSE:
        rows, starts, values = (elements.next_numbers() for _ in range(3))
        n_filled = int(starts[-1]) if len(starts) else 0
        # MATLAB reserves more room than it fills.
        parts = [_native(values[:n_filled]), _native(rows[:n_filled]), _native(starts)]
        return name, make_sparse("csc", parts, dims)
    if kind == CHAR:
        return name, _text(*elements.next(), elements.order)
    if kind in (CELL, STRUCT) and depth < DEEPEST:
        names = _field_names(elements) if kind == STRUCT else [""]
        if size * len(names) * 8 > elements.left:
            raise DataFileError(f"its variable {name!r} declares {size} entries.")
        entries = [
            _read_array(Elements(elements.next()[1], elements.order), depth + 1)[1]
            for _ in range(size * len(names))
        ]
        if kind == CELL:
            return name, entries
        return name, dict(zip(names, entries, strict=True)) if size == 1 else None
    return name, None


def _full(values: NDArray[Any], dims: list[int], kind: str, name: str) -> NDArray[Any]:
    """Give numbers their shape and type; MATLAB packs whole ones into fewer bytes."""
    if values.size != prod(dims):
        raise DataFileError(
            f"its variable {name!r} declares the shape {dims} and holds {values.size} "
            "numbers."
        )
    check_memory(values.size * np.dtype(kind).itemsize, f"its variable {name!r}")
    return np.array(values.reshape(dims, order="F"), dtype=kind, order="C")


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers in the byte order of this machine."""
    return values.astype(values.dtype.newbyteorder("="))


def _text(kind: int, data: memoryview, order: str) -> str:
    """Text of one line; of several, what they are when strung together."""
    encoding = TEXT_TYPES.get(kind, "latin-1")
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if order == "<" else "-be"
    return bytes(data).decode(encoding, "replace")


def _field_names(elements: Elements) -> list[str]:
    """Names of the fields of a structure."""
    length = elements.next_numbers()
    names = bytes(elements.next()[1])
    width = int(length[0]) if len(length) else 0
    if width < 1 or len(names) % width:
        raise DataFileError("it is damaged: a structure has no names for its fields.")
    fields = [names[at : at + width] for at in range(0, len(names), width)]
    return [field.split(b"\0")[0].decode("utf-8", "replace") for field in fields]


def _flat(name: str, value: Any) -> dict[str, Any]:
    """Name a variable, or the fields of a structure with dots."""
    if not isinstance(value, dict):
        return {name: value}
    flat: dict[str, Any] = {}
    for field, entry in value.items():
        flat |= _flat(f"{name}.{field}", entry)
    return flat
