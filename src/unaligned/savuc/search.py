"""Search for the correspondence of two views: starts, refinement, test."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores, spawn
from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.anchors import (
    Anchors,
    Sketch,
    centres,
    extremes,
    single_rows,
    sketch_view,
)
from unaligned.savuc.assign import mutual_partners
from unaligned.savuc.config import Settings
from unaligned.savuc.couplings import couple_centres, couple_rows
from unaligned.savuc.geometry import Geometry, whiten
from unaligned.savuc.refine import (
    Known,
    RowPair,
    along_directions,
    correlate,
    join_rows,
    plan_rows,
    refine,
    score,
    soft_cycle,
)
from unaligned.savuc.trust import (
    FEWEST_DIRECTIONS,
    SAME,
    UNTESTED,
    Evidence,
    Rival,
    agreement,
    excess_over,
    held_out_evidence,
    trust_in,
)

__all__ = [
    "PairFit",
    "PairSearch",
    "SearchView",
    "prepare_view",
    "sample_rows",
    "search_pair",
]

Array = NDArray[Any]
Report = Callable[[str], None]
Fit = tuple[Array, float]
"""A cross-correlation and its score."""

N_REFINED = 2  # starts that are refined, the best after one soft cycle
CERTAIN = 0.95  # trust from which no further search is made


@dataclass(frozen=True)
class SearchView:
    """What the search uses of a view."""

    geometry: Geometry
    whitened: Array
    settings: Settings
    rng: np.random.RandomState

    @cached_property
    def sketch(self) -> Sketch:
        """Made when it is first asked for: it costs most, and few may be needed."""
        return sketch_view(self.geometry, self.settings, self.rng)


class PairFit(NamedTuple):
    """The best matching of two views that a search found, and the trust in it."""

    cross: Array
    """Cross-correlation of their whitened rows under the matching."""
    score: float
    evidence: Evidence
    excess: float
    """Evidence beyond its error and beyond that of rivals."""
    trust: float


def prepare_view(
    geometry: Geometry, settings: Settings, rng: np.random.RandomState
) -> SearchView:
    """Whiten a view; its sketch is drawn with the random numbers when needed."""
    whitened = whiten(geometry.points, settings.ridge)
    return SearchView(geometry, whitened, settings, rng)


def search_pair(
    one: SearchView,
    other: SearchView,
    settings: Settings,
    rng: np.random.RandomState,
    cores: Cores,
    known: Known = None,
    report: Report = lambda stage: None,
) -> PairFit:
    """Search for the matching of two views, and test it.

    Searches are repeated with other anchors, and the matching of largest score is
    tested each time there is a new one, until it is certain.
    """
    search = PairSearch(one, other, settings, cores, known)
    if search.all_rows.share == 0:  # all partners are known
        fixed = search.all_rows.fixed
        return PairFit(fixed, score(fixed, settings), UNTESTED, np.inf, 1.0)
    best = PairFit(search.all_rows.fixed, -np.inf, UNTESTED, -np.inf, 0.0)
    if min(one.whitened.shape[1], other.whitened.shape[1]) < FEWEST_DIRECTIONS:
        return best  # no result could be tested
    n_searches = settings.n_searches * (settings.n_narrow if search.is_narrow() else 1)
    for _ in range(n_searches):
        report("searching")
        cross, value = search.best_matching(rng)
        if value > (1 + settings.least_gain) * best.score:
            report("testing")
            evidence, excess = search.test(cross, value, rng)
            trust = trust_in(excess, settings)
            best = PairFit(cross, value, evidence, excess, trust)
        if best.trust >= CERTAIN:
            break
    return best


class PairSearch:
    """Two views, the rows of them that take part in plans, and where to compute."""

    def __init__(
        self,
        one: SearchView,
        other: SearchView,
        settings: Settings,
        cores: Cores,
        known: Known = None,
    ) -> None:
        self.views, self.settings, self.cores = (one, other), settings, cores
        self.known = known
        self.all_rows = join_rows(one.whitened, other.whitened, known)

    def best_matching(self, rng: np.random.RandomState) -> tuple[Array, float]:
        """Cross-correlation of largest score that the starts lead to, and its score.

        Every start takes one soft cycle; the best few of them are refined.
        """
        rows = sample_rows(self.all_rows, self.settings.n_refined, rng)
        starts = self.starts(rows, rng)

        def settle(cross: Array, rng: np.random.RandomState) -> Fit:
            beside = self.beside(cross, rows, rng)
            settled = soft_cycle(cross, beside, self.settings)
            return settled, score(settled, self.settings)

        def refine_further(fit: Fit, rng: np.random.RandomState) -> Fit:
            return self.refine(fit[0], rows, rng)

        fits = self.cores.map(settle, starts, spawn(rng, len(starts)))
        fits = sorted(fits, key=lambda fit: -fit[1])[:N_REFINED]
        fits = self.cores.map(refine_further, fits, spawn(rng, len(fits)))
        return max(fits, key=lambda fit: fit[1])

    def refine(self, cross: Array, rows: RowPair, rng: np.random.RandomState) -> Fit:
        """Refine on sampled rows, beside the partners that they have by now."""
        return refine(
            cross, lambda reached: self.beside(reached, rows, rng), self.settings
        )

    def starts(self, rows: RowPair, rng: np.random.RandomState) -> list[Array]:
        """Cross-correlations to start from, cheap ones first."""
        settings, views = self.settings, self.views
        pieces: list[Callable[[np.random.RandomState], list[Array]]] = [
            self.from_signatures,
            self.from_centres,
        ]
        if max(len(view.whitened) for view in views) <= 2 * settings.n_singles:
            pieces.append(self.from_single_rows)
        if self.is_narrow():
            pieces.append(self.from_extremes)
        states = spawn(rng, len(pieces))
        found = self.cores.map(lambda piece, rng: piece(rng), pieces, states)
        crosses = [cross for family in found for cross in family]
        if rows.share < 1:
            crosses.append(rows.fixed)
        return crosses

    def is_narrow(self) -> bool:
        """Whether both views have fewer directions than centres are computed in.

        A group of views has no lengths, and is wide enough.
        """
        return all(
            len(view.geometry.lengths) > 0
            and view.whitened.shape[1] <= self.settings.n_leading
            for view in self.views
        )

    def from_signatures(self, rng: np.random.RandomState) -> list[Array]:
        """Match sketched rows by their signatures."""
        _, temperature, _ = self.settings.schedule[-1]
        A, B = (unit_rows(view.sketch.signatures) for view in self.views)
        one, other = (view.whitened[view.sketch.rows] for view in self.views)
        plan = plan_rows(A, B, temperature, 20, self.settings)
        return [correlate(plan, join_rows(one, other))]

    def from_centres(self, rng: np.random.RandomState) -> list[Array]:
        """Couple centres of k-means."""
        left, right = (
            centres(view.geometry, view.whitened, view.sketch, self.settings, rng)
            for view in self.views
        )
        plans = couple_centres(left, right, self.settings, rng)
        return crosses_of(plans, left, right)

    def from_single_rows(self, rng: np.random.RandomState) -> list[Array]:
        """Couple single rows."""
        left, right = (
            single_rows(view.whitened, view.sketch, self.settings, rng)
            for view in self.views
        )
        return crosses_of(couple_rows(left, right, self.settings), left, right)

    def from_extremes(self, rng: np.random.RandomState) -> list[Array]:
        """Couple the longest rows."""
        left, right = (
            extremes(view.geometry, view.whitened, self.settings) for view in self.views
        )
        plans = couple_centres(left, right, self.settings, rng)
        return crosses_of(plans, left, right)

    def beside(
        self, cross: Array, rows: RowPair, rng: np.random.RandomState
    ) -> RowPair:
        """Exchange the sample of the second view for its rows nearest to the first's.

        Two samples drawn apart share few objects, and refinement on them stalls.
        """
        size, total = len(rows.other), len(self.all_rows.other)
        if size == total:
            return rows
        n_directions = self.settings.schedule[-1][0]
        everything = rows._replace(other=self.all_rows.other)
        A, B = along_directions(cross, everything, n_directions)
        partners = np.unique(top_products(A, B, 1)[0])
        others = np.setdiff1d(rng.permutation(total)[:size], partners)
        chosen = np.concatenate([partners, others])[:size]
        return rows._replace(other=self.all_rows.other[chosen])

    def test(
        self, cross: Array, value: float, rng: np.random.RandomState
    ) -> tuple[Evidence, float]:
        """Evidence for a matching of some score, and its excess over rivals.

        Rivals cost most, and are spared where the evidence is too small without them.
        """
        settings = self.settings
        one, other = self.matched_rows(cross, rng)
        partner = np.arange(len(one))
        evidence = held_out_evidence(one, other, partner, settings, rng)
        if evidence.lower <= 0:
            return evidence, evidence.lower

        def compete(rng: np.random.RandomState) -> Rival | None:
            return self.rival(cross, rng)

        # Few rows are cheap, and chance plays a larger part.
        n_rivals = max(settings.n_rivals, settings.n_rival_rows // max(len(one), 1))
        found = self.cores.map(compete, spawn(rng, n_rivals))
        rivals = [rival for rival in found if rival is not None]
        return evidence, excess_over(evidence, value, rivals)

    def rival(self, cross: Array, rng: np.random.RandomState) -> Rival | None:
        """Refine and test a matching from a random start, in the same way.

        One that comes to the matching that is tested is no rival of it.
        """
        rows = sample_rows(self.all_rows, self.settings.n_refined, rng)
        n = min(len(rows.one), len(rows.other))
        one, other = (side[rng.permutation(len(side))[:n]] for side in rows[:2])
        start = soft_cycle(one.T @ other / n, rows, self.settings)
        rival, value = self.refine(start, rows, rng)
        if agreement(rival, cross) > SAME:
            return None
        matched = self.matched_rows(rival, rng, with_known=False)
        partner = np.arange(len(matched[0]))
        found = held_out_evidence(*matched, partner, self.settings, rng)
        return Rival(value, 0.0 if found == UNTESTED else found.upper)

    def matched_rows(
        self, cross: Array, rng: np.random.RandomState, with_known: bool = True
    ) -> tuple[Array, Array]:
        """Whitened rows of both views beside their partners, known pairs included.

        Known pairs are tested like any others: what holds for them holds for rows whose
        partner is not known.
        """
        rows = sample_rows(self.all_rows, self.settings.n_refined, rng)
        rows = self.beside(cross, rows, rng)
        one, other = rows.one[:0], rows.other[:0]
        if len(rows.one) and len(rows.other):
            partner = mutual_partners(cross, rows, self.settings)
            matched = np.flatnonzero(partner >= 0)
            one, other = rows.one[matched], rows.other[partner[matched]]
        if with_known and self.known is not None:
            given, partners = self.known
            one = np.vstack([one, self.views[0].whitened[given]])
            other = np.vstack([other, self.views[1].whitened[partners]])
        return one, other


def crosses_of(plans: Array, left: Anchors, right: Anchors) -> list[Array]:
    """Cross-correlations of anchors under couplings."""
    return [left.means.T @ plan @ right.means for plan in plans]


def sample_rows(rows: RowPair, size: int, rng: np.random.RandomState) -> RowPair:
    """Rows that take part in plans: all, or a sample of each view."""

    def sample(side: Array) -> Array:
        if len(side) <= 1.5 * size:
            return side
        return side[np.sort(rng.permutation(len(side))[:size])]

    return rows._replace(one=sample(rows.one), other=sample(rows.other))
