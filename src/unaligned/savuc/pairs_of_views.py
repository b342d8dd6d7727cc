"""Aligning two views: search, polish, climb, and a null to compare with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores
from unaligned.kernels.neighbors import top_products
from unaligned.savuc.couplings import Effort, place_anchors, search_couplings
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.polish import (
    Rows,
    climb,
    hard_cycle,
    join_rows,
    lift,
    rows_along,
    score,
    soft_cycle,
)

__all__ = [
    "MOST_ROWS",
    "Known",
    "PairFit",
    "align_pair",
    "climb_from",
    "null_score",
    "spawn",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Known = tuple[Indices, Indices] | None
Fit = tuple[Array, float]  # a cross-correlation and its score

MOST_ROWS = 2000  # of a view that take part in plans; more are matched at the end
NULL_ROWS = 1500
N_NULLS = 3  # one, where rows are many and chance has little play
CLEARLY_RIGHT = 1.3  # times the null: no need to look at further candidates
HOPELESS = 1.02  # times the null: no need to climb


class PairFit(NamedTuple):
    """How two views fit together."""

    cross: Array
    """Cross-correlation of their whitened rows under the matching found."""
    score: float
    null: float
    """The score that no relation at all reaches."""

    @property
    def gain(self) -> float:
        """Share by which the score exceeds that of no relation."""
        return self.score / self.null - 1


def align_pair(
    one: Geometry,
    other: Geometry,
    null: float,
    effort: Effort,
    rng: np.random.RandomState,
    cores: Cores,
    known: Known = None,
) -> PairFit:
    """Find the canonical directions two views share, with no pair known or some.

    ``null`` is their `null_score`.
    """
    everyone = join_rows(one.fine, other.fine, known)
    fine = sample_rows(everyone, MOST_ROWS, rng)
    if fine.share == 0:
        return PairFit(fine.fixed, score(fine.fixed), null)
    fits: list[Fit] = []
    if fine.share < 1:
        cross = settle(fine.fixed, fine, everyone, rng)
        fits.append(climb_together(cross, fine, everyone, rng))
        if fits[0][1] > CLEARLY_RIGHT * null:
            return PairFit(*fits[0], null)
    coarse = join_rows(one.coarse, other.coarse, known)
    coarse, fine = sample_rows(coarse, MOST_ROWS, rng, everyone)
    left, right = cores.map(place_anchors, [one, other], spawn(rng, 2))
    plans, _ = search_couplings(left, right, effort, rng, cores)

    def try_plan(plan: Array, rng: np.random.RandomState) -> Fit:
        coupled = left.means.T @ plan @ right.means
        cross = settle(lift(coupled, coarse, fine), fine, everyone, rng)
        return cross, score(cross)

    def try_climb(fit: Fit, rng: np.random.RandomState) -> Fit:
        if fit[1] <= HOPELESS * null:
            return fit
        return climb_together(fit[0], fine, everyone, rng)

    candidates: list[Fit] = []
    # Two by two: what is found must not depend on the number of cores.
    for i in range(0, len(plans), 2):
        candidates += cores.map(try_plan, [*plans[i : i + 2]], spawn(rng, 2))
        if max(value for _, value in candidates) > CLEARLY_RIGHT * null:
            break
    candidates.sort(key=lambda fit: -fit[1])
    fits += cores.map(try_climb, candidates[:2], spawn(rng, 2))
    return PairFit(*max(fits, key=lambda fit: fit[1]), null)


def spawn(rng: np.random.RandomState, n: int) -> list[np.random.RandomState]:
    """Random states for pieces of work that are done side by side."""
    return [np.random.RandomState(seed) for seed in rng.randint(2**31 - 1, size=n)]


def settle(
    cross: Array, rows: Rows, everyone: Rows, rng: np.random.RandomState
) -> Array:
    """Run a soft cycle; on samples a second one, beside the partners found."""
    cross = soft_cycle(cross, rows)
    if len(rows.other) < len(everyone.other):
        cross = soft_cycle(cross, together(cross, rows, everyone, rng))
    return cross


def climb_from(
    cross: Array, one: Array, other: Array, known: Known, rng: np.random.RandomState
) -> Fit:
    """Climb from a matching that is there already."""
    everyone = join_rows(one, other, known)
    if not (len(everyone.one) and len(everyone.other)):
        return cross, score(cross)
    rows = sample_rows(everyone, MOST_ROWS, rng)
    return climb_together(cross, rows, everyone, rng)


def climb_together(
    cross: Array, rows: Rows, everyone: Rows, rng: np.random.RandomState
) -> Fit:
    """Climb on sampled rows that stand beside the partners they have by now."""
    return climb(cross, lambda reached: together(reached, rows, everyone, rng))


def together(
    cross: Array, rows: Rows, everyone: Rows, rng: np.random.RandomState
) -> Rows:
    """Exchange the sample of the second view for the nearest rows among all of it.

    Two samples drawn apart share few objects, and a polish on them stalls half-way.
    """
    size, total = len(rows.other), len(everyone.other)
    if size == total:
        return rows
    A, B = rows_along(cross, rows._replace(other=everyone.other), 40)
    partners = np.unique(top_products(A, B, 1)[0])
    others = np.setdiff1d(rng.permutation(total)[:size], partners)
    chosen = np.concatenate([partners, others])[:size]
    return rows._replace(other=everyone.other[chosen])


def sample_rows(
    rows: Rows, size: int, rng: np.random.RandomState, also: Rows | None = None
) -> Any:
    """Rows that take part in plans: all, or a sample of each view.

    With ``also``, the same rows in other coordinates are sampled alike.
    """
    left, right = _sample(len(rows.one), size, rng), _sample(len(rows.other), size, rng)
    sampled = rows._replace(one=rows.one[left], other=rows.other[right])
    if also is None:
        return sampled
    return sampled, also._replace(one=also.one[left], other=also.other[right])


def _sample(n: int, size: int, rng: np.random.RandomState) -> Any:
    if n <= 1.5 * size:
        return slice(None)
    return np.sort(rng.permutation(n)[:size])


def null_score(
    one: Array, other: Array, rng: np.random.RandomState, cores: Cores
) -> float:
    """Score that random matchings climb to, by the very steps that right ones climb.

    They start from chance and not from Gromov–Wasserstein couplings, which on easy
    pairs find the truth.
    """
    everyone = join_rows(one, other)
    large = max(len(one), len(other)) > 1.5 * MOST_ROWS
    rows = sample_rows(everyone, MOST_ROWS if large else NULL_ROWS, rng)

    def reach(rng: np.random.RandomState) -> float:
        size = min(len(rows.one), len(rows.other))
        left, right = rng.permutation(size), rng.permutation(size)
        cross = rows.one[left].T @ rows.other[right] / size
        if large:
            cross = settle(cross, rows, everyone, rng)
            beside = together(cross, rows, everyone, rng)
        else:
            cross, beside = soft_cycle(cross, rows), rows
        return max(score(cross), score(hard_cycle(cross, beside)))

    return max(cores.map(reach, spawn(rng, 1 if large else N_NULLS)))
