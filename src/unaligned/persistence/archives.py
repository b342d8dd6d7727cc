"""Zip archives of arrays, read without trust.

What an archive declares is compared with what it can hold before memory is taken for
it. Nothing in it is executed.
"""

import zipfile
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_sizes", "read_array", "read_header", "write_array"]

PLAIN_KINDS = "biufcSU"  # NumPy's letters for numbers and text

# The first instant a zip file can tell: the same content always makes the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


def check_sizes(archive: zipfile.ZipFile, most: float) -> None:
    """Complain if the files in an archive are larger than ``most`` bytes together.

    Reading a member never gives more bytes than it declares, so this settles how much
    memory an archive can ask for, however well it is packed.
    """
    total = sum(member.file_size for member in archive.infolist())
    if total > most:
        raise ValueError(f"it unpacks to {total} bytes, more than {most:.0f}")


def write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    """Add an array to an archive, in NumPy's format and not compressed."""
    if array.dtype.kind not in PLAIN_KINDS:
        raise TypeError(f"arrays of {array.dtype} cannot be written without pickle")
    member = zipfile.ZipInfo(name, EPOCH)
    with archive.open(member, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array of numbers or text, if it is as large as its header says."""
    with archive.open(name) as file:
        shape, dtype = read_header(file)
        held = archive.getinfo(name).file_size - file.tell()
    if dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"{name} holds {dtype}, neither numbers nor text")
    if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != held:
        raise ValueError(
            f"{name} declares {dtype} of shape {shape}, but holds {held} bytes"
        )
    with archive.open(name) as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def read_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that an array in NumPy's format declares."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of NumPy's format is unknown")
    return shape, dtype
