"""Cluster and align views whose rows do not correspond."""

from unaligned import datasets, metrics
from unaligned._version import __version__
from unaligned.alignment import Alignment
from unaligned.pavuc import PAVuC

__all__ = ["Alignment", "PAVuC", "__version__", "datasets", "metrics"]
