"""Values as trees of JSON, with their arrays in an archive, and back again.

Numbers, text, ``None`` and lists stand for themselves; anything else is an object with
one key that names its type. Types come from a fixed list, and so do classes. Arrays lie
in NumPy's format, without pickle, and without compression, so that they never ask for
more memory than the file is long.
"""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.persistence.archives import read_array, write_array
from unaligned.persistence.restored import (
    check_fitted,
    check_numbers,
    check_random_numbers,
    check_types,
)
from unaligned.persistence.saved_classes import (
    RECORDS,
    fields_of,
    find_estimator,
    find_record,
    needed_by,
    public_name,
)

__all__ = ["Reader", "Writer"]


class Writer:
    """Packs values into JSON, and their arrays into an archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        # By identity, arrays kept alive: one that is held twice is written once.
        self.written: dict[int, tuple[str, Any]] = {}

    def pack(self, value: Any) -> Any:
        """Tree of JSON for a value."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, np.ndarray):
            return self._pack_array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._member(np.asarray(value))}
        if isinstance(value, int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, Path):
            return {"path": str(value)}
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.pack(value.get_state(legacy=True))}
        if hasattr(value, "_saved_state"):
            return {"estimator": self._pack_estimator(value)}
        if sparse.issparse(value):
            return {"sparse": self._pack_sparse(value)}
        if type(value).__name__ in RECORDS:
            return {"record": self._pack_record(value)}
        if type(value) is dict:
            items = [[self.pack(key), self.pack(item)] for key, item in value.items()]
            return {"dict": items}
        if type(value) in (list, tuple):
            items = [self.pack(item) for item in value]
            return items if isinstance(value, list) else {"tuple": items}
        raise TypeError(f"it holds a {type(value).__name__}, unknown to model files")

    def _pack_array(self, array: NDArray[Any]) -> Any:
        if array.dtype != object:
            return {"array": self._member(array)}
        if array.ndim == 1 and all(isinstance(item, str) for item in array):
            return {"strings": [str(item) for item in array]}
        raise TypeError(f"it holds an array of objects of shape {array.shape}")

    def _member(self, array: NDArray[Any]) -> str:
        if id(array) not in self.written:
            name = f"arrays/{len(self.written)}.npy"
            write_array(self.archive, name, array)
            self.written[id(array)] = name, array
        return self.written[id(array)][0]

    def _pack_sparse(self, matrix: Any) -> dict[str, Any]:
        if matrix.format not in ("csr", "csc"):
            raise TypeError(f"it holds a sparse matrix of format {matrix.format!r}")
        return {
            "class": type(matrix).__name__,
            "shape": list(matrix.shape),
            "parts": self.pack([matrix.data, matrix.indices, matrix.indptr]),
        }

    def _pack_record(self, record: Any) -> dict[str, Any]:
        fields = {name: self.pack(getattr(record, name)) for name in fields_of(record)}
        return {"class": type(record).__name__, "fields": fields}

    def _pack_estimator(self, model: Any) -> dict[str, Any]:
        cls = type(model)
        if find_estimator(public_name(cls)) is not cls:
            raise TypeError(
                f"{cls.__name__} is not an estimator of unaligned. Only those can be "
                "saved, since loading a class from elsewhere would run its code."
            )
        return {
            "class": public_name(cls),
            "parameters": self._pack_named(cls, model.get_params(deep=False)),
            "fitted": self._pack_named(cls, model._saved_state()),
        }

    def _pack_named(self, cls: type, values: dict[str, Any]) -> dict[str, Any]:
        packed = {}
        for name, value in values.items():
            try:
                packed[name] = self.pack(value)
            except TypeError as error:
                raise TypeError(
                    f"{cls.__name__}.{name} cannot be saved: {error}"
                ) from None
        return packed


class Reader:
    """Makes values from JSON and the arrays of an archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self.arrays: dict[str, NDArray[Any]] = {}

    def unpack(self, tree: Any) -> Any:
        """Value of a tree of JSON."""
        if isinstance(tree, list):
            return [self.unpack(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        ((kind, content),) = tree.items()
        match kind:
            case "array":
                return self._array(content)
            case "scalar":
                return self._array(content)[()]
            case "strings":
                return np.array(content, dtype=object)
            case "float":
                return float(content)
            case "path":
                return Path(content)
            case "tuple":
                return tuple(self.unpack(content))
            case "dict":
                return {self.unpack(key): self.unpack(item) for key, item in content}
            case "random_state":
                generator = np.random.RandomState()
                generator.set_state(check_random_numbers(self.unpack(content)))
                return generator
            case "sparse":
                return self._sparse(**content)
            case "record":
                return self._record(content["class"], content["fields"])
            case "estimator":
                return self._estimator(content["class"], content)
        raise ValueError(f"it holds a {kind!r}, which is unknown")

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            self.arrays[name] = read_array(self.archive, name)
        return self.arrays[name]

    def _sparse(self, **content: Any) -> Any:
        classes = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
        if content["class"] not in classes:
            raise ValueError(f"{content['class']!r} is not a sparse matrix")
        parts = tuple(self.unpack(content["parts"]))
        cls = getattr(sparse, content["class"])
        matrix = cls(parts, shape=tuple(content["shape"]))
        matrix.check_format(full_check=True)  # indices outside crash compiled code
        return matrix

    def _record(self, name: str, fields: dict[str, Any]) -> Any:
        cls = find_record(name, fields)
        if cls is None:
            raise ValueError(f"it holds a {name!r}, which is unknown")
        # What came later has a default, which says that there was none of it.
        if not set(needed_by(cls)) <= set(fields) <= set(fields_of(cls)):
            raise ValueError(f"{name} had other fields when it was saved")
        unpacked = {field: self.unpack(tree) for field, tree in fields.items()}
        check_types(cls, unpacked)
        if name != "Alignment":  # which is checked as a whole, with its views
            check_numbers(unpacked)
        return cls(**unpacked)

    def _estimator(self, name: str, content: dict[str, Any]) -> Any:
        cls = find_estimator(name)
        if cls is None:
            raise ValueError(f"{name!r} is not an estimator of this version")
        unknown = set(content["parameters"]) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{name} has no parameter {min(unknown)!r} any more")
        unpacked = {
            key: self.unpack(tree) for key, tree in content["parameters"].items()
        }
        model = cls(**unpacked)
        model._validate_params()
        shadowed = [key for key in content["fitted"] if hasattr(cls, key)]
        if shadowed:
            raise ValueError(
                f"{shadowed[0]!r} is not something that a fit leaves behind"
            )
        state = {key: self.unpack(tree) for key, tree in content["fitted"].items()}
        model._restore_state(state)
        check_fitted(model)
        return model
