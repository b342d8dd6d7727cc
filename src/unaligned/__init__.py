"""Cluster and align views whose rows do not correspond."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unaligned._version import __version__

if TYPE_CHECKING:
    from unaligned import baselines, datasets, metrics, selection, spaces
    from unaligned.alignment import Alignment
    from unaligned.disclosure import audit
    from unaligned.pavuc import PAVuC
    from unaligned.persistence.saving import load
    from unaligned.preparation import prepare
    from unaligned.savuc import SAVuC, align

__all__ = [
    "Alignment",
    "PAVuC",
    "SAVuC",
    "__version__",
    "align",
    "audit",
    "baselines",
    "datasets",
    "load",
    "metrics",
    "prepare",
    "selection",
    "spaces",
]

# Loaded when first asked for: scikit-learn alone takes a second to import.
_HOMES = {
    "Alignment": "unaligned.alignment",
    "PAVuC": "unaligned.pavuc",
    "SAVuC": "unaligned.savuc",
    "align": "unaligned.savuc",
    "audit": "unaligned.disclosure",
    "load": "unaligned.persistence.saving",
    "prepare": "unaligned.preparation",
}
_MODULES = {"baselines", "datasets", "metrics", "selection", "spaces"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"unaligned.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unaligned' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
