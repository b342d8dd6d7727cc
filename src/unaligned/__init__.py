"""Cluster and align views whose rows do not correspond."""

from unaligned import baselines, datasets, metrics, selection
from unaligned._version import __version__
from unaligned.alignment import Alignment
from unaligned.pavuc import PAVuC
from unaligned.saving import load
from unaligned.savuc import SAVuC, align

__all__ = [
    "Alignment",
    "PAVuC",
    "SAVuC",
    "__version__",
    "align",
    "baselines",
    "datasets",
    "load",
    "metrics",
    "selection",
]
