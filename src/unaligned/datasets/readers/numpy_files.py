"""NumPy's own files, with pickle off: ``.npy`` and ``.npz``."""

import zipfile
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
from unaligned.datasets.readers.variables import views_of_variables
from unaligned.kernels.memory import available_bytes
from unaligned.persistence.archives import check_sizes, read_array, read_header

__all__ = ["npz_shapes", "read_npy", "read_npz"]

MOST_ARRAYS = 10_000
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # all that NumPy writes


def read_npy(path: Path, options: Options) -> list[FileView]:
    """Read one array as one view, or leave it on disk if the user wants that."""
    # Mapping compares the declared shape with the length of the file.
    X: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    if X.ndim != 2 or X.dtype.kind not in "biufc":
        raise DataFileError(
            f"it holds {X.dtype} of shape {X.shape}; a view is a table of numbers, "
            "rows × columns."
        )
    if not options.mmap:
        check_memory(X.nbytes, f"its array of shape {X.shape}")
        X = np.array(X)
    return [FileView(path.stem, X)]


def read_npz(path: Path, options: Options) -> list[FileView]:
    """Read the arrays of an archive as views."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MOST_ARRAYS:
            raise DataFileError(f"it holds {len(members)} arrays, over {MOST_ARRAYS}.")
        if any(member.compress_type not in PACKED for member in members):
            raise DataFileError(
                "it is packed in a way that NumPy does not use; write it again with "
                "numpy.savez_compressed."
            )
        check_sizes(archive, most=available_bytes())
        arrays: dict[str, Any] = {
            member.filename.removesuffix(".npy"): read_array(archive, member.filename)
            for member in members
        }
    return views_of_variables(arrays, path.stem, options)


def npz_shapes(path: Path) -> list[tuple[int, ...]]:
    """Shapes of the views in a file of the library's own form, without their numbers.

    Empty where it is no such file.
    """
    shapes: list[tuple[int, ...]] = []
    try:
        with zipfile.ZipFile(path) as archive:
            while True:
                key = f"view{len(shapes)}"
                if f"{key}.npy" in archive.namelist():
                    with archive.open(f"{key}.npy") as file:
                        shapes.append(read_header(file)[0])
                elif f"{key}_shape.npy" in archive.namelist():
                    shape = read_array(archive, f"{key}_shape.npy")
                    shapes.append(tuple(int(size) for size in shape.ravel()[:2]))
                else:
                    return shapes
    except Exception:  # damaged, and so not of that form
        return []
