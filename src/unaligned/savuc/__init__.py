"""SAVuC: structure-first alignment of views of which no pair of rows is known.

Data walk through the rooms in this order: `geometry` of each view, `couplings` of its
anchors with another view's, `polish` from anchors to rows, `pairs_of_views` with a null
to compare with, `row_matching`, all views together in `joint`, `trust`, the
`predictability` of a partition from a view, and `fusion` of partitions.
"""

from unaligned.savuc.align import align
from unaligned.savuc.estimator import SAVuC

__all__ = ["SAVuC", "align"]
