"""HDF5 files: MATLAB 7.3, AnnData and MuData, read by a process of their own.

`hdf5_worker.py` says why. What it sends is checked like any other file.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.datasets.readers.columns import check_ids, column_position
from unaligned.datasets.readers.contents import (
    DataFileError,
    FileView,
    Options,
    as_text,
    check_memory,
    most_text,
    need_extra,
)
from unaligned.datasets.readers.variables import make_sparse
from unaligned.kernels.memory import available_bytes

__all__ = ["is_hdf5", "read_anndata", "read_matlab73", "read_mudata"]

SIGNATURE = b"\x89HDF\r\n\x1a\n"
WORKER = Path(__file__).with_name("hdf5_worker.py")
NOT_BEGUN = "The worker ended before it could begin"
PATIENCE = 60.0  # seconds without a sign of life


def is_hdf5(path: Path) -> bool:
    """Whether a file is HDF5, perhaps after a header of its own."""
    with open(path, "rb") as file:
        for start in (0, 512, 1024, 2048):
            file.seek(start)
            if file.read(len(SIGNATURE)) == SIGNATURE:
                return True
    return False


def read_matlab73(path: Path) -> dict[str, Any]:
    """Variables of a MATLAB file of version 7.3, in MATLAB's orientation."""
    answer, arrays = ask_worker("matlab", path, "MATLAB 7.3 files")
    flat: dict[str, Any] = {}
    for name, node in answer.items():
        _flatten(name, node, arrays, flat)
    return flat


def read_anndata(path: Path, options: Options) -> list[FileView]:
    """Read the matrix of an AnnData file as one view."""
    matrix = options.view or options.matrix
    answer, arrays = ask_worker("anndata", path, "AnnData files", matrix)
    views = [_modality(node, arrays, options.id_column) for node in answer]
    return [view._replace(name=path.stem) for view in views]


def read_mudata(path: Path, options: Options) -> list[FileView]:
    """Read the modalities of a MuData file as views."""
    answer, arrays = ask_worker("mudata", path, "MuData files", options.matrix)
    names = [node["name"] for node in answer]
    if options.view is not None and options.view not in names:
        raise DataFileError(
            f"there is no modality {options.view!r}; the modalities are {names}."
        )
    return [
        _modality(node, arrays, options.id_column)
        for node in answer
        if options.view in (None, node["name"])
    ]


def ask_worker(
    kind: str, path: Path, what: str, matrix: str | None = None
) -> tuple[Any, list[NDArray[Any]]]:
    """Have a file read by a process of its own."""
    need_extra("h5py", "io", what)
    command = [sys.executable, "-P", os.fspath(WORKER), kind, os.fspath(path)]
    command += [matrix or "", str(available_bytes()), str(PATIENCE)]
    command += [str(most_text(path))]
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as worker,
    ):
        try:
            return _receive(worker.stdout)
        except EOFError as error:
            code = worker.wait()
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace").strip()
            reason = said.splitlines()[-1] if said else ""
            if error.args == (NOT_BEGUN,):
                reason = (
                    f"h5py, which reads it in a process of its own, cannot be started "
                    f"({reason[:200] or 'it says nothing'}); give this one more memory "
                    "(ulimit -v), or mend the installation of h5py."
                )
            elif code < 0 or not reason:
                reason = "the HDF5 library crashes on it or finds no end; get it again."
            raise DataFileError(reason) from None
        finally:
            worker.kill()


def _receive(pipe: Any) -> tuple[Any, list[NDArray[Any]]]:
    """Read an answer off the pipe."""
    if not pipe.readline().endswith(b"\n"):
        raise EOFError(NOT_BEGUN)
    line = pipe.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    answer = json.loads(line)
    specs = [(spec["shape"], np.dtype(spec["dtype"])) for spec in answer["arrays"]]
    sizes = [float(np.prod(s, dtype=float)) * dtype.itemsize for s, dtype in specs]
    check_memory(sum(sizes), "what it declares")
    arrays = []
    for shape, dtype in specs:
        array = np.empty(shape, dtype)
        if (
            array.size
            and pipe.readinto(array.reshape(-1).view(np.uint8)) < array.nbytes
        ):
            raise EOFError
        arrays.append(array)
    return answer["answer"], arrays


def _matrix(node: dict[str, Any], arrays: list[NDArray[Any]]) -> Any:
    if "array" in node:
        return arrays[node["array"]]
    parts = [arrays[i] for i in node["parts"]]
    return make_sparse(node["sparse"], parts, node["shape"])


def _modality(
    node: dict[str, Any], arrays: list[NDArray[Any]], id_column: str | int | bool | None
) -> FileView:
    """Put a view together from the parts that AnnData describes."""
    X = _matrix(node["X"], arrays)
    ids, features = node["row_ids"], node["feature_names"]
    others = {name: _column(column, arrays) for name, column in node["other"].items()}
    lengths = {len(ids), *(len(column) for column in others.values())}
    if lengths != {X.shape[0]} or (features and len(features) != X.shape[1]):
        raise DataFileError(
            f"its matrix of shape {X.shape} does not fit its names and columns."
        )
    name = "obs_names"
    if isinstance(id_column, str):
        name = list(others)[column_position(list(others), id_column)]
        ids = others.pop(name)
    row_ids = None if id_column is False else check_ids(ids, name, certain=True)
    return FileView(node["name"], X, row_ids, features, others)


def _column(node: dict[str, Any], arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Numbers, text, or words given by their numbers."""
    if "text" in node:
        return as_text(node["text"])
    values = arrays[node["array"]]
    if "words" not in node:
        return values
    words = as_text([*node["words"], None])  # -1, nothing, is the last
    if values.size and not -1 <= values.min() <= values.max() < len(words) - 1:
        raise DataFileError("a column of categories in it names one that is not there.")
    return words[values.astype(np.intp)]


def _flatten(
    name: str, node: Any, arrays: list[NDArray[Any]], flat: dict[str, Any]
) -> None:
    """Note a variable, or the fields of a structure under dotted names."""
    if isinstance(node, dict) and "fields" in node:
        for field, entry in node["fields"].items():
            _flatten(f"{name}.{field}", entry, arrays, flat)
    else:
        flat[name] = _value(node, arrays)


def _value(node: Any, arrays: list[NDArray[Any]]) -> Any:
    if node is None or "fields" in node:
        return None
    if "text" in node:
        return node["text"]
    if "cells" in node:
        return [_value(cell, arrays) for cell in node["cells"]]
    if "array" in node:
        return arrays[node["array"]].T  # HDF5 has the last axis first
    return _matrix(node, arrays)
