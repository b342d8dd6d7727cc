"""The classes that model files may name, and the fields of each."""

import dataclasses
import inspect
from collections.abc import Container
from importlib import import_module
from typing import Any

__all__ = [
    "RECORDS",
    "fields_of",
    "find_estimator",
    "find_record",
    "needed_by",
    "public_name",
]

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
    is_estimator = isinstance(found, type) and hasattr(found, "_saved_state")
    return found if is_estimator else None


def find_record(name: str, fields: Container[str]) -> Any:
    """Class of a record with these fields, or what makes one; None if there is none."""
    if name not in RECORDS:
        return None
    module, maker = RECORDS[name], name
    for (old, field), made_by in RENEWED.items():
        if name == old and field in fields:
            module, maker = made_by
    return getattr(import_module(module), maker)


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
