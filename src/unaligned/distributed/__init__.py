"""The paper's method on data larger than memory, and on many machines, with dask."""

from unaligned.distributed.estimator import PAVuC
from unaligned.distributed.reading import open_views

__all__ = ["PAVuC", "open_views"]
