"""Corrections of a refined matching, where rows or factors are few.

A cycle of refinement sees canonical directions alone. Of few rows it fits the noise;
with few factors it may end with one direction wrong. Distances between rows, and the
likelihood of rows at full length, see what a cycle does not.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.savuc.anchors import Anchors
from unaligned.savuc.assign import assign_rest, match_free, with_known
from unaligned.savuc.config import Settings
from unaligned.savuc.couplings import keep_distances, sinkhorn
from unaligned.savuc.refine import (
    N_ROUNDS,
    Known,
    RowPair,
    along_directions,
    dense_kernel,
    join_rows,
)
from unaligned.savuc.starts import SearchView

__all__ = ["N_REMATCHED", "correct_by_distances", "rematch"]

Array = NDArray[Any]

N_CORRECTED = 15  # steps that keep distances. Cost: 50 find no more partners
N_REMATCHED = 2  # times that rows are matched by likelihood, in narrow tables


def correct_by_distances(
    cross: Array, rows: RowPair, anchors: tuple[Anchors, Anchors], settings: Settings
) -> Array:
    """Take steps that keep distances between rows, from the plan of a matching.

    Matches that a cycle has fitted to noise keep no distances, and are given up. The
    anchors are the rows themselves.
    """
    one, other = anchors
    n_directions, temperature = settings.schedule[0]
    kernel = dense_kernel(*along_directions(cross, rows, n_directions), temperature)
    plans = sinkhorn(kernel[None], one.masses, other.masses, N_ROUNDS)
    plan = keep_distances(plans, one, other, N_CORRECTED, settings)[0]
    kept: Array = rows.fixed + rows.share * (rows.one.T @ plan @ rows.other)
    return kept


def rematch(
    cross: Array,
    rows: RowPair,
    known: Known,
    one: SearchView,
    other: SearchView,
    settings: Settings,
) -> Array:
    """Match all rows by likelihood, at full length: what tells narrow tables apart.

    ``rows`` are the whitened ones that are free.
    """
    full = join_rows(one.full_rows(), other.full_rows(), known)
    views = one.whitened, other.whitened
    for _ in range(N_REMATCHED):
        found = match_free(cross, rows, full, settings)
        # Mutual pairs alone would raise the score of any matching.
        free = assign_rest(found.partner, *found.factors)
        partner = with_known(free, np.zeros(len(free)), *views, known).partner
        matched = np.flatnonzero(partner >= 0)
        pairs = views[0][matched], views[1][partner[matched]]
        cross = pairs[0].T @ pairs[1] / len(matched)
    return cross
