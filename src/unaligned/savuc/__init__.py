"""SAVuC: structure-first alignment of views of which no pair of rows is known.

In the order of the data: `geometry` of each view, `anchors` that stand for it,
`couplings` of anchors, `refine` from anchors to rows, `assign` partners, `trust` from
held-out rows and directions, `search` of one pair of views, `groups` of aligned views,
`align` for all of them; `config` holds the settings of all these.
"""

from unaligned.savuc.align import align
from unaligned.savuc.estimator import SAVuC

__all__ = ["SAVuC", "align"]
