"""Where rows are many: directions by likelihood, and a test on rows drawn at random.

A held-out row must find its partner among all rows of the other view. Two thirds of the
directions tell ten thousand rows apart only if they are exact and if the lengths of
rows count. So directions are learned by the likelihood of rows at full length, as all
rows are matched in the end, from some thousands of rows.

Few rows are all needed to learn from, so that they are held out in turn. Of many, some
are held out for good, and no matching has to say which rows are tested.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unaligned.savuc.assign import FEWEST_PAIRS, match_likely, mutual_pairs
from unaligned.savuc.config import Settings
from unaligned.savuc.corrections import N_REMATCHED
from unaligned.savuc.gains import gains_of_split, splits_of
from unaligned.savuc.likelihood import (
    LEAST_BELIEVED,
    Canonical,
    learn_directions,
    ratio_factors,
)
from unaligned.savuc.refine import (
    Plan,
    RowPair,
    along_directions,
    cycle,
    join_rows,
    near_pairs,
    sample,
)
from unaligned.savuc.samples import draw_rows
from unaligned.savuc.trust import (
    UNTESTED,
    Evidence,
    relearning,
    weighted_mean,
)

if TYPE_CHECKING:
    from unaligned.savuc.search import PairSearch

__all__ = ["are_many", "evidence_of_many", "learn_likely"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

MOST_HELD_OUT = 3  # at most one row in so many is tested; the others are learned from
# Share of the tested rows that find a partner, at least. Right matchings had 0.7 and
# more; of 1,500 unrelated rows, 20 far from the mean did, with much evidence by chance.
LEAST_FOUND = 0.1


def learn_likely(
    cross: Array,
    rows: RowPair,
    full: RowPair,
    settings: Settings,
    rng: np.random.RandomState,
) -> tuple[Array, Canonical]:
    """Learn directions from probable pairs of sampled rows and rows near to them.

    Parameters
    ----------
    cross : ndarray of shape (d, e)
        Cross-correlation to start from.
    rows, full : RowPair
        Whitened free rows, and the same at full length.
    settings : Settings
    rng : RandomState

    Returns
    -------
    cross : ndarray of shape (d, e)
    canonical : Canonical
        Of rows at full length.
    """
    n_directions, temperature = settings.schedule[-1]
    for _ in range(N_REMATCHED):
        drawn = np.sort(rng.permutation(len(rows.one))[: settings.n_dense])
        one, full_one = rows.one[drawn], full.one[drawn]
        A, B = along_directions(cross, rows._replace(one=one), n_directions)
        near = near_pairs(A, B, temperature, settings)
        partner = mutual_pairs(Plan(near, np.ones(len(A)), np.ones(len(B))))
        probable = match_likely(full_one, full.other, partner, near).probable
        at = np.repeat(np.arange(len(one)), np.diff(probable.indptr))
        pairs = at, np.asarray(probable.indices, dtype=np.intp), probable.data
        believed = pairs[2] >= LEAST_BELIEVED
        if pairs[2][believed].sum() < FEWEST_PAIRS:  # too few to learn from
            matched = np.flatnonzero(partner >= 0)
            pairs = matched, partner[matched], np.ones(len(matched))
        else:
            pairs = pairs[0][believed], pairs[1][believed], pairs[2][believed]
        left, right, weights = pairs
        canonical = learn_directions(full_one, full.other, *pairs)
        products = (one[left] * weights[:, None]).T @ rows.other[right]
        cross = rows.fixed + rows.share * products / weights.sum()
    return cross, canonical


def evidence_of_many(
    search: "PairSearch", cross: Array, rng: np.random.RandomState
) -> Evidence:
    """Test a cross-correlation on rows of the shorter view, drawn at random.

    Directions are learned again without them; along some directions they find partners
    among all rows of the other view, and the other directions judge. It is done again
    with other directions, unless the first ones speak against the matching.
    """
    settings, at = search.settings, search.distinct
    with_lengths = all(len(view.geometry.lengths) > 0 for view in search.views)
    views = [
        (
            view.whitened[rows],
            (view.full_rows() if with_lengths else view.whitened)[rows],
        )
        for view, rows in zip(search.views, at, strict=True)
    ]
    if len(at[0]) > len(at[1]):
        views, cross = views[::-1], cross.T
    (one, full_one), (other, full_other) = views
    order = rng.permutation(len(one))
    n_tested = most_tested(len(one), settings)
    tested, rest = np.sort(order[:n_tested]), np.sort(order[n_tested:])
    rows, full = (
        join_rows(s[rest], o) for s, o in ((one, other), (full_one, full_other))
    )
    for schedule in relearning(settings):
        drawn = draw_rows(cross, rows, settings, rng)
        cross = cycle(cross, drawn, settings, schedule)
    _, canonical = learn_likely(cross, rows, full, settings, rng)
    A = canonical.read(full_one[np.concatenate([tested, rest])], 0)
    B, correlations = canonical.read(full_other, 1), canonical.correlations
    size = settings.n_dense
    around = sample(len(A), size, rng), sample(len(B), size, rng)
    sums, counts = np.zeros(n_tested), np.zeros(n_tested)
    # As many rows are tested in all as where rows are few.
    n_splits = max(1, settings.n_splits * settings.n_tested // settings.n_refined)
    for split in range(n_splits):
        for finding in splits_of(len(correlations), 1, rng):
            found, gain = likely_gains(
                A, B, correlations, finding, n_tested, around, settings
            )
            sums[found] += gain
            counts[found] += 1
        if split == 0 and sums.sum() <= 0:
            break
    if np.mean(counts > 0) < LEAST_FOUND:
        return UNTESTED
    return weighted_mean(sums, counts)


def are_many(at: tuple[Indices, Indices], settings: Settings) -> bool:
    """Tell whether enough distinct rows can be held out for good.

    No fewer are tested than where rows are few.
    """
    fewest, most = sorted(map(len, at))
    enough = most_tested(fewest, settings) >= settings.n_tested
    return most > settings.n_dense and enough


def most_tested(n_rows: int, settings: Settings) -> int:
    """Give the number of rows that are held out of so many."""
    return min(settings.n_refined, n_rows // MOST_HELD_OUT)


def likely_gains(
    A: Array,
    B: Array,
    correlations: Array,
    finding: NDArray[np.bool_],
    n_tested: int,
    around: tuple[Indices, Indices],
    settings: Settings,
) -> tuple[Indices, Array]:
    """Gains of rows that find their partner by likelihood along some directions."""
    along = A[:, finding], B[:, finding], correlations[finding]
    left, right = (np.asarray(s, np.float32) for s in ratio_factors(*along))
    weighted = A * correlations, B * correlations
    sizes = n_tested, settings.n_runners_up
    return gains_of_split(weighted, ~finding, *sizes, (left, right), around)
