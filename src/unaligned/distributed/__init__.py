"""Data larger than memory, and many machines, with dask."""

from unaligned.distributed.aligning import align
from unaligned.distributed.estimator import PAVuC
from unaligned.distributed.reading import open_views
from unaligned.distributed.savuc import SAVuC

__all__ = ["PAVuC", "SAVuC", "align", "open_views"]
