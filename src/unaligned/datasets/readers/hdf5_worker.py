"""Reads an HDF5 file in a process of its own and hands it on through a pipe.

The HDF5 library takes damaged files at their word: text in them can crash the process
or keep it busy for ever. Here that is the end of this process only. `hdf5.py` starts it
and reads its answer: an empty line when it has begun, a line of JSON that says what
there is, and then the bytes of the arrays one after the other. This file imports
nothing of ours, so it starts quickly.
"""

import faulthandler
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

__all__ = ["main"]

BLOCK = 1 << 24  # bytes read at a time
BYTES_OF_TEXT = 64  # that Python takes for any
NO_MEMORY = "it takes more memory than there is."
DEEPEST = 8  # lists in lists in lists
MOST_VARIABLES = 10_000  # with the cells of all of them
LONGEST_LIST = 300  # characters of names in a complaint
TEXT_WITH_GAPS = "nullable-string-array"  # what anndata writes of pandas 3


class Complaint(Exception):
    """What is wrong with the file, for people to read."""


class Worker:
    """One file, the arrays found in it so far, and how much may be taken."""

    def __init__(
        self, file: Any, memory: float, patience: float, most_text: float = float("inf")
    ) -> None:
        self.file, self.memory, self.patience = file, memory, patience
        self.text_left = min(memory, most_text)
        self.arrays: list[Any] = []
        self.n_variables = 0
        self.nowhere = open(os.devnull, "w")  # noqa: SIM115

    def still_alive(self) -> None:
        """Start the clock again that ends this process when it runs out."""
        faulthandler.dump_traceback_later(self.patience, exit=True, file=self.nowhere)

    # Reading

    def get(self, item: Any, path: str) -> Any:
        """Get a group or dataset by a path on which no link leads elsewhere."""
        for name in path.split("/"):
            self.still_alive()
            is_group = isinstance(item, h5py.Group)
            link = item.get(name, getlink=True) if is_group else None
            if link is None:
                there = ", ".join(map(repr, item)) if is_group else ""
                held = f", which holds {there}" if 0 < len(there) < LONGEST_LIST else ""
                raise Complaint(f"there is no {name!r} in {_name(item)}{held}.")
            if not isinstance(link, h5py.HardLink):
                raise Complaint(f"{name!r} is a link elsewhere, which is not followed.")
            item = item[name]
        return self.own(item)

    def own(self, item: Any) -> Any:
        """Pass on anything but a dataset whose numbers lie in other files."""
        if isinstance(item, h5py.Dataset) and (item.is_virtual or item.external):
            raise Complaint(f"{_name(item)} lies in other files, which are not read.")
        return item

    def array(self, dataset: Any, ndim: int) -> dict[str, Any]:
        """Remember an array for later, and say where it will stand."""
        if not isinstance(dataset, h5py.Dataset) or not _is_numbers(dataset.dtype):
            raise Complaint(f"{_name(dataset)} is no array of numbers.")
        if dataset.ndim != ndim:
            raise Complaint(f"{_name(dataset)} has the shape {dataset.shape}.")
        self.arrays.append(dataset)
        return {"array": len(self.arrays) - 1}

    def strings(self, dataset: Any) -> list[str]:
        """Texts, or numbers as texts."""
        self.still_alive()
        if _encoding(dataset) == TEXT_WITH_GAPS:
            dataset = self.get(dataset, "values")
        if not isinstance(dataset, h5py.Dataset) or dataset.ndim != 1:
            raise Complaint(f"{_name(dataset)} is no list.")
        if BYTES_OF_TEXT * dataset.size > self.text_left:
            raise Complaint(f"{_name(dataset)} declares {dataset.size} texts.")
        is_text = h5py.check_string_dtype(dataset.dtype) is not None
        source = dataset.asstr("utf-8", "replace") if is_text else dataset
        found: list[str] = []
        # Texts of one length take it, and those of any length may all be one long text.
        step = max(1, min(1024, BLOCK // max(1, dataset.dtype.itemsize)))
        for start in range(0, dataset.size, step):
            self.still_alive()
            some = [str(text) for text in source[start : start + step]]
            self.text_left -= sum(BYTES_OF_TEXT + len(text) for text in some)
            if self.text_left < 0:
                raise Complaint(
                    f"{_name(dataset)} unpacks to far more than the file; get it again "
                    "or write it anew."
                )
            found += some
        return found

    def sparse(self, group: Any, form: str, parts: list[str], shape: Any) -> Any:
        """Remember the parts of a sparse matrix."""
        arrays = [self.array(self.get(group, part), 1)["array"] for part in parts]
        return {"sparse": form, "parts": arrays, "shape": [int(n) for n in shape]}

    # MATLAB 7.3

    def matlab(self, _: str) -> Any:
        """Variables of a MATLAB file."""
        names = [name for name in self.file if not name.startswith("#")]
        return {name: self.variable(self.get(self.file, name), 0) for name in names}

    def variable(self, item: Any, depth: int) -> Any:
        """One variable: an array, a cell, a structure, or None for all else."""
        self.still_alive()
        self.n_variables += 1
        if self.n_variables > MOST_VARIABLES:  # groups may hold each other
            raise Complaint(f"it holds more than {MOST_VARIABLES} variables and cells.")
        kind = _attribute(item, "MATLAB_class")
        if isinstance(item, h5py.Group):
            if "MATLAB_sparse" in item.attrs:
                n_rows = int(item.attrs["MATLAB_sparse"])
                shape = n_rows, self.get(item, "jc").size - 1
                return self.sparse(item, "csc", ["data", "ir", "jc"], shape)
            if depth >= DEEPEST:
                return None
            fields = {name: self.get(item, name) for name in item}
            return {
                "fields": {n: self.variable(v, depth + 1) for n, v in fields.items()}
            }
        if "MATLAB_empty" in item.attrs or item.ndim != 2:
            return None
        if kind == "cell" and depth < DEEPEST:
            if item.size > MOST_VARIABLES or item.dtype != h5py.ref_dtype:
                raise Complaint(f"{_name(item)} declares {item.size} cells.")
            cells = [self.own(self.file[reference]) for reference in item[()].ravel()]
            return {"cells": [self.variable(cell, depth + 1) for cell in cells]}
        if kind == "char":
            codes = item[()].T.ravel() if item.size < MOST_VARIABLES else []
            return {"text": "".join(chr(int(code)) for code in codes)}
        return self.array(item, 2) if _is_numbers(item.dtype) else None

    # AnnData and MuData

    def anndata(self, matrix: str) -> Any:
        """Read an AnnData file: one view."""
        return [self.modality(self.file, "", matrix)]

    def mudata(self, matrix: str) -> Any:
        """Read a MuData file: its modalities, in its own order."""
        modalities = self.get(self.file, "mod")
        order = [_text(name) for name in modalities.attrs.get("mod-order", modalities)]
        return [
            self.modality(self.get(modalities, name), name, matrix) for name in order
        ]

    def modality(self, group: Any, name: str, matrix: str) -> Any:
        """Read a matrix, the names of its rows and columns, and its other columns."""
        item = self.get(group, matrix or "X")
        if isinstance(item, h5py.Group):
            form = {"csr_matrix": "csr", "csc_matrix": "csc"}.get(_encoding(item))
            if form is None:
                raise Complaint(f"{_name(item)} is no matrix that can be read here.")
            X = self.sparse(
                item, form, ["data", "indices", "indptr"], item.attrs["shape"]
            )
        else:
            X = self.array(item, 2)
        obs, var = self.get(group, "obs"), self.get(group, "var")
        of_genes = matrix in ("", "X") or matrix.startswith("layers/")
        columns = [_text(name) for name in obs.attrs.get("column-order", [])]
        found = {column: self.column(self.get(obs, column)) for column in columns}
        return {
            "name": name,
            "X": X,
            "row_ids": self.names(obs),
            "feature_names": self.names(var) if of_genes else None,
            "other": {name: column for name, column in found.items() if column},
        }

    def names(self, frame: Any) -> list[str]:
        """Index of a data frame."""
        index = _attribute(frame, "_index")
        if index is None or not isinstance(frame, h5py.Group):
            raise Complaint(
                f"{_name(frame)} was written by an old version of anndata; read it "
                "with anndata and write it again."
            )
        return self.strings(self.get(frame, index))

    def column(self, item: Any) -> Any:
        """One column of a data frame; None for kinds that are not read here."""
        if isinstance(item, h5py.Dataset):
            return (
                self.array(item, 1)
                if _is_numbers(item.dtype)
                else {"text": self.strings(item)}
            )
        if _encoding(item) == TEXT_WITH_GAPS:
            return {"text": self.strings(item)}
        if _encoding(item) == "categorical":
            words = self.strings(self.get(item, "categories"))
            return {**self.array(self.get(item, "codes"), 1), "words": words}
        return None

    # Writing

    def write(self, answer: Any, pipe: Any) -> None:
        """Write the answer, and then the arrays in blocks."""
        specs = [
            {"dtype": _plain(array.dtype).str, "shape": array.shape}
            for array in self.arrays
        ]
        pipe.write(json.dumps({"arrays": specs, "answer": answer}).encode() + b"\n")
        for array in self.arrays:
            for block in _blocks(array):
                self.still_alive()
                pipe.write(np.ascontiguousarray(block, _plain(array.dtype)).data)
        pipe.flush()


def _blocks(dataset: Any) -> Iterator[Any]:
    """Stretches of rows, whole chunks where the dataset has some."""
    n_rows = dataset.shape[0]
    row_bytes = max(1, dataset.nbytes // max(1, n_rows))
    step = max(1, BLOCK // row_bytes)
    if dataset.chunks:
        step = -(-step // dataset.chunks[0]) * dataset.chunks[0]
    for start in range(0, n_rows, step):
        yield dataset[start : start + step]


def _is_numbers(dtype: Any) -> bool:
    return dtype.kind in "biuf"


def _plain(dtype: Any) -> Any:
    """Use this machine's byte order."""
    return np.dtype(dtype.kind + str(dtype.itemsize)).newbyteorder("=")


def _name(item: Any) -> str:
    return getattr(item, "name", None) or "a part of it"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _attribute(item: Any, name: str) -> str | None:
    return _text(item.attrs[name]) if name in item.attrs else None


def _encoding(item: Any) -> str:
    return _attribute(item, "encoding-type") or ""


def limit_process(memory: float) -> None:
    """Bound the memory this process can take, and let a crash leave nothing behind."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory < 2**60:
        most = int(memory) + (1 << 30)  # the libraries' own address space
        limits = resource.getrlimit(resource.RLIMIT_AS)  # which cannot be raised
        set_already = [limit for limit in limits if limit != resource.RLIM_INFINITY]
        most = min([most, *set_already])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(
    kind: str,
    path: str,
    matrix: str,
    memory: str,
    patience: str,
    most_text: str = "inf",
) -> str | None:
    """Do the work; return what went wrong, if anything did."""
    limit_process(float(memory))
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    try:
        with h5py.File(path, "r") as file:
            worker = Worker(file, float(memory), float(patience), float(most_text))
            worker.write(getattr(worker, kind)(matrix), sys.stdout.buffer)
    except Complaint as complaint:
        return str(complaint)
    except MemoryError:
        return NO_MEMORY
    except Exception as error:  # HDF5 says anything at all of damaged files
        said = str(error)[:200]
        if "watchdog" in said:  # the thread that watches over this one needs memory
            return NO_MEMORY
        return f"the HDF5 library says {said!r}; get it again or write it anew."
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
