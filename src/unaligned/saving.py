"""Models on disk: a zip file of arrays and one manifest, with no code in it.

The manifest is JSON: the version of the format, the version of the library, and the
model, or the checkpoint of a fit, as a tree. Numbers, text, ``None`` and lists stand
for themselves; anything else is an object with one key that names its type. Types come
from a fixed list, and so do classes. Arrays lie beside the manifest in NumPy's format,
without pickle, and without compression, so that they never ask for more memory than the
file is long.
"""

import dataclasses
import inspect
import json
import math
import os
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned._version import __version__
from unaligned.archives import EPOCH, check_sizes, read_array, write_array
from unaligned.drafts import whole_file
from unaligned.plain_files import check_plain
from unaligned.restored import (
    check_fitted,
    check_numbers,
    check_random_numbers,
    check_types,
)

__all__ = ["FORMAT", "SavingMixin", "load", "read_whole", "write_whole"]

FORMAT = 1  # goes up whenever an older version could misread what is written
KINDS = {"model": "unaligned model", "checkpoint": "unaligned checkpoint"}
MANIFEST = "manifest.json"

# Packages whose public estimators can be saved.
PACKAGES = (
    "unaligned",
    "unaligned.baselines",
    "unaligned.distributed",
    "unaligned.selection",
)
# Classes of ours that fitted attributes may hold, and the modules they live in.
RECORDS = {
    "Alignment": "unaligned.alignment",
    "Bridge": "unaligned.savuc.bridge",
    "ClusterEvidence": "unaligned.selection.evidence",
    "Discriminant": "unaligned.partitions.scores",
    "Features": "unaligned.partitions.features",
    "FrozenEncoder": "unaligned.baselines._deep",
    "Geometry": "unaligned.savuc.geometry",
    "GraphCoordinates": "unaligned.savuc.graph_coordinates",
    "GraphEmbedding": "unaligned.kernels.spectral",
    "Labeller": "unaligned.partitions.labeller",
    "Link": "unaligned.savuc.bridge",
    "Look": "unaligned.partitions.legacy",
    "Place": "unaligned.savuc.shared_space",
    "Portrait": "unaligned.partitions.legacy",
    "Projection": "unaligned.partitions.features",
    "Reading": "unaligned.partitions.legacy",
    "Ridge": "unaligned.savuc.bridge_regression",
    "Scaling": "unaligned.baselines._deep",
    "Settings": "unaligned.savuc.config",
    "SharedSpace": "unaligned.savuc.shared_space",
    "ViewFeatures": "unaligned.partitions.features",
}
# Records that had other fields in earlier versions, and what makes new ones of those.
RENEWED = {
    ("Labeller", "portrait"): ("unaligned.partitions.legacy", "renew_labeller"),
}
# What scikit-learn hangs on estimators, and what belongs to a session, not to a model.
NOT_SAVED = (
    "_skl_callbacks",
    "_callback_",
    "_parent_callback_",
    "_metadata_request",
    "_deadline",
)


class SavingMixin:
    """For estimators that can be written to a file and read back.

    One that keeps things no file has a word for, such as networks, says what they are
    made of: `_saved_state` returns arrays, numbers, text, lists, tuples and dicts, and
    `_restore_state` makes the things from them again.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to a file, for `unaligned.load` to read.

        The file appears when it is complete; where anything goes wrong, what was there
        before stays. Callbacks are not saved. Estimators that keep their views, to
        answer later questions about them, write those too.

        Parameters
        ----------
        path : path
            An existing file is replaced.
        """
        write_whole(path, "model", self)

    def _saved_state(self) -> dict[str, Any]:
        """Say what a fit left behind, by attribute."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {
            name: value
            for name, value in vars(self).items()
            if name not in parameters and not name.startswith(NOT_SAVED)
        }

    def _restore_state(self, state: dict[str, Any]) -> None:
        """Take up what `_saved_state` gave."""
        vars(self).update(state)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``model.save(path)`` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        With the parameters and fitted attributes of the one that was saved.

    Raises
    ------
    ValueError
        If the file is no model, is damaged, or was saved by a version whose files
        this one cannot read.

    Examples
    --------
    >>> import os, tempfile
    >>> import unaligned
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.model")
    >>> digits = unaligned.datasets.load_digits_views()
    >>> model = unaligned.baselines.LMVSC(10, random_state=0).fit(digits.Xs)
    >>> model.save(path)
    >>> (unaligned.load(path).labels_ == model.labels_).all()
    np.True_
    """
    return read_whole(path, "model", SavingMixin)


def write_whole(path: str | os.PathLike[str], kind: str, content: Any) -> None:
    """Write a model or a checkpoint; the file appears when it is complete."""
    with whole_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        manifest = {
            "kind": KINDS[kind],
            "format": FORMAT,
            "version": __version__,
            kind: Writer(archive).pack(content),
        }
        text = json.dumps(manifest, indent=1, allow_nan=False)
        archive.writestr(zipfile.ZipInfo(MANIFEST, EPOCH), text)


def read_whole(path: str | os.PathLike[str], kind: str, expected: type) -> Any:
    """Read what `write_whole` wrote, or say what is wrong with the file."""
    version = __version__
    check_plain(path)
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive, os.path.getsize(path))
                manifest = json.loads(archive.read(MANIFEST))
                if manifest["kind"] != KINDS[kind]:
                    raise ValueError(f"it holds a {manifest['kind']!r}")
                version, form = manifest["version"], manifest["format"]
                if form > FORMAT:
                    raise ValueError(f"formats up to {FORMAT} are known, not {form}")
                content = Reader(archive).unpack(manifest[kind])
                if not isinstance(content, expected):
                    raise ValueError(f"it holds a {type(content).__name__}")
                return content
        # A hostile file can make any part of the reading fail in any way.
        except Exception as error:
            raise ValueError(_complaint(path, kind, version, error)) from error


# What to do about a file that cannot be read, written by this version or by another.
WAYS_OUT = {
    "model": (
        "Save the model again with model.save(path)",
        "Use the version it was saved with, or fit and save the model again",
    ),
    "checkpoint": (
        "Name another file as checkpoint, or delete this one to start anew",
        "Go on with the version that wrote it, or delete it to start anew",
    ),
}


def _complaint(path: Any, kind: str, version: Any, error: Exception) -> str:
    """Say why a file cannot be read, and the way out."""
    why = str(error).rstrip(".") or type(error).__name__
    again, other_version = WAYS_OUT[kind]
    if version == __version__:
        return (
            f"{path} is not a {kind} that unaligned {__version__} can read, or it is "
            f"damaged: {why}. {again}."
        )
    return (
        f"{path} was saved by unaligned {version}, and unaligned {__version__} cannot "
        f"read it: {why}. {other_version}."
    )


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
        if isinstance(value, SavingMixin):
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
        if name not in RECORDS:
            raise ValueError(f"it holds a {name!r}, which is unknown")
        module, maker = RECORDS[name], name
        for (old, field), made_by in RENEWED.items():
            if name == old and field in fields:
                module, maker = made_by
        cls = getattr(import_module(module), maker)
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


def public_name(cls: type) -> str:
    """Name of a class in the innermost of our packages that it comes from."""
    around = [name for name in PACKAGES if f"{cls.__module__}.".startswith(f"{name}.")]
    return f"{max(around, key=len, default=cls.__module__)}.{cls.__name__}"


def find_estimator(name: str) -> Any:
    """Class of an estimator by its public name, or None if it is none of ours."""
    package, _, last = name.rpartition(".")
    if package not in PACKAGES or last not in (ours := import_module(package)).__all__:
        return None
    found = getattr(ours, last)
    is_estimator = isinstance(found, type) and issubclass(found, SavingMixin)
    return found if is_estimator else None


def fields_of(record: Any) -> tuple[str, ...]:
    """Names of the fields of a named tuple or of a data class."""
    if dataclasses.is_dataclass(record):
        return tuple(field.name for field in dataclasses.fields(record))
    if inspect.isfunction(record):  # that makes a record of old fields
        return tuple(inspect.signature(record).parameters)
    return tuple(record._fields)


def needed_by(record: Any) -> tuple[str, ...]:
    """Names of those fields that have no default."""
    parameters = inspect.signature(record).parameters
    return tuple(
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
    )
