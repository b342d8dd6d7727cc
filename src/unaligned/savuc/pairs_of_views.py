"""Aligning two views: search, polish, climb, and a null to compare with."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores, spawn
from unaligned.kernels.neighbors import top_products
from unaligned.savuc.couplings import (
    Effort,
    place_anchors,
    sample_view,
    search_couplings,
)
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
from unaligned.savuc.trust import agreement

__all__ = [
    "MOST_ROWS",
    "Known",
    "PairFit",
    "align_pair",
    "climb_from",
    "null_score",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Known = tuple[Indices, Indices] | None
Result = TypeVar("Result")
Fit = tuple[Array, float]  # a cross-correlation and its score

MOST_ROWS = 2000  # of a view that take part in plans; more are matched at the end
NULL_ROWS = 1500
N_NULLS = 3  # one, where rows are many and chance has little play
CLEARLY_RIGHT = 1.3  # times the null: no need to look at further candidates
HOPELESS = 1.02  # times the null: no need to climb
FEW_ROWS = 600  # up to which steps are cheap, and often miss what is there
MORE_PLACEMENTS = 5  # times those of many rows
N_PARENTS = 6  # fits that are crossed with each other
THE_SAME = 0.95  # agreement of two fits


class PairFit(NamedTuple):
    """How two views fit together."""

    cross: Array
    """Cross-correlation of their whitened rows under the matching found."""
    score: float
    null: float
    """The score that no relation at all reaches."""

    @property
    def gain(self) -> float:
        """Share by which the score exceeds that of no relation; none in nothing."""
        return self.score / self.null - 1 if self.null > 0 else 0.0


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
    bench = Bench(one, other, known, rng, cores)
    fixed = bench.everyone.fixed
    if bench.everyone.share == 0:
        return PairFit(fixed, score(fixed), null)
    fits: list[Fit] = []
    if bench.everyone.share < 1:
        fits = bench.climb(bench.settle([fixed]))
        if fits[0][1] > CLEARLY_RIGHT * null:
            return PairFit(*fits[0], null)
    n_placements, n_crossings = effort.n_placements, 0
    if effort.n_crossings and max(len(one.points), len(other.points)) <= FEW_ROWS:
        n_placements, n_crossings = MORE_PLACEMENTS * n_placements, effort.n_crossings
    found: list[Fit] = []
    for crosses in bench.search(effort, n_placements):
        found += bench.settle(crosses)
        if max(value for _, value in found) > CLEARLY_RIGHT * null:
            break
    found = distinct_fits(found)
    if n_crossings:
        fits += bench.climb(found[:N_PARENTS])
        fits = bench.cross(fits, n_crossings, CLEARLY_RIGHT * null)
    else:
        # No use to climb where not even the first steps led above chance.
        fits += bench.climb([fit for fit in found[:2] if fit[1] > HOPELESS * null])
    return PairFit(*distinct_fits(fits + found)[0], null)


class Bench:
    """A place to work on two views, piece beside piece.

    Pieces come in twos: what is found must not depend on the number of cores.
    """

    def __init__(
        self,
        one: Geometry,
        other: Geometry,
        known: Known,
        rng: np.random.RandomState,
        cores: Cores,
    ) -> None:
        self.views, self.rng, self.cores = (one, other), rng, cores
        self.everyone = join_rows(one.fine, other.fine, known)
        coarse = join_rows(one.coarse, other.coarse, known)
        self.coarse, self.fine = sample_rows(coarse, MOST_ROWS, rng, self.everyone)

    def map(self, work: Callable[..., Result], pieces: Sequence[Any]) -> list[Result]:
        """Work on all pieces, each with random numbers of its own."""
        return self.cores.map(work, pieces, spawn(self.rng, len(pieces)))

    def search(self, effort: Effort, n_placements: int) -> Iterator[Sequence[Array]]:
        """Give cross-correlations of rows that couplings lead to, two by two."""
        samples = self.map(sample_view, self.views)

        def place(_: int, rng: np.random.RandomState) -> list[Array]:
            drawn = zip(self.views, samples, strict=True)
            left, right = (place_anchors(view, rows, rng) for view, rows in drawn)
            plans, _fitness = search_couplings(left, right, effort, rng)
            return [left.means.T @ plan @ right.means for plan in plans]

        def to_rows(coupled: Array) -> Array:
            return lift(coupled, self.coarse, self.fine)

        for _ in range(0, n_placements, 2):
            for coupled in zip(*self.map(place, range(2)), strict=False):
                yield self.cores.map(to_rows, coupled)

    def settle(self, crosses: Sequence[Array]) -> list[Fit]:
        """Take the first steps on rows."""

        def work(cross: Array, rng: np.random.RandomState) -> Fit:
            cross = settle(cross, self.fine, self.everyone, rng)
            return cross, score(cross)

        return self.map(work, crosses)

    def climb(self, fits: Sequence[Fit]) -> list[Fit]:
        """Climb as high as there is."""

        def work(fit: Fit, rng: np.random.RandomState) -> Fit:
            return climb_together(fit[0], self.fine, self.everyone, rng)

        return self.map(work, fits)

    def cross(self, fits: Sequence[Fit], times: int, enough: float) -> list[Fit]:
        """Cross fits that stopped half-way.

        What is right in two of them is the same, what is wrong is not: half-way between
        the two, the truth stands out.
        """
        for _ in range(times):
            parents = distinct_fits(fits)[:N_PARENTS]
            if parents[0][1] > enough:
                return parents
            between = [(a + b) / 2 for (a, _), (b, _) in combinations(parents, 2)]
            children = distinct_fits(self.settle(between))[:N_PARENTS]
            fits = parents + self.climb(children)
        return distinct_fits(fits)


def distinct_fits(fits: Sequence[Fit]) -> list[Fit]:
    """Fits by their score, best first, without those found twice."""
    kept: list[Fit] = []
    for fit in sorted(fits, key=lambda fit: -fit[1]):
        if all(agreement(fit[0], cross) < THE_SAME for cross, _ in kept):
            kept.append(fit)
    return kept


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
