"""Zip archives of arrays: written whole or not at all, read without trust.

What an archive declares is compared with what it can hold before memory is taken for
it. Nothing in it is executed.
"""

import os
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "check_sizes",
    "read_array",
    "read_header",
    "remove_abandoned",
    "whole_file",
    "write_array",
]

PLAIN_KINDS = "biufcSU"  # NumPy's letters for numbers and text

# The first instant a zip file can tell: the same content always makes the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once it is complete.

    It is written beside ``path`` under another name. Where anything goes wrong it
    disappears, and what was at ``path`` before is still there. Only a kill leaves it
    behind, and then the next writer to ``path`` removes it.
    """
    path = Path(path)
    remove_abandoned(path)
    beside, file = _open_beside(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _open_beside(path: Path) -> tuple[Path, BinaryIO]:
    """Open a new file beside a path, locked for as long as somebody writes to it."""
    while True:
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        file = open(beside, "xb")  # noqa: SIM115  it is the caller's
        if fcntl is not None:
            with suppress(OSError):  # a disk that knows no locks
                fcntl.flock(file, fcntl.LOCK_EX)
        if beside.exists():
            return beside, file
        file.close()  # before it was locked, somebody took it for abandoned


def remove_abandoned(path: Path) -> None:
    """Remove what writers to ``path`` that were killed left beside it."""
    with suppress(OSError):  # a folder that must not be listed
        for beside in path.absolute().parent.iterdir():
            if beside.name.startswith(f".{path.name}.") and beside.suffix == ".part":
                with suppress(OSError):  # somebody is writing to it
                    _remove_unless_locked(beside)


def _remove_unless_locked(path: Path) -> None:
    if fcntl is None:  # Windows removes no file that is open
        path.unlink()
        return
    with open(path, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


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
