"""Search for the correspondence of two views: starts, refinement, test."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import TRUSTED
from unaligned.kernels.devices import Cores, spawn
from unaligned.savuc.anchors import MOST_SINGLE, Anchors, single_rows
from unaligned.savuc.assign import match_views, mutual_partners
from unaligned.savuc.config import Settings
from unaligned.savuc.corrections import correct_by_distances, rematch
from unaligned.savuc.many_rows import are_many, learn_likely
from unaligned.savuc.refine import (
    N_TIMES_SAMPLED,
    Fit,
    Known,
    RowPair,
    best_first,
    cycle,
    join_rows,
    refine,
    sample,
    score,
)
from unaligned.savuc.rivals import fit_against_rivals
from unaligned.savuc.samples import draw_rows, nearest_rows
from unaligned.savuc.starts import (
    Family,
    SearchView,
    families_of,
    find_starts,
    have_few_factors,
)
from unaligned.savuc.trust import (
    FEWEST_DIRECTIONS,
    UNTESTED,
    PairFit,
    first_of_equal,
    was_tested,
)

__all__ = ["PairSearch", "search_pair"]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Report = Callable[[str], None]

N_SEARCHES_OF_MANY = 4  # where sketches have a small share of the rows, and may mislead


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

    Where factors are few, and some columns are not predicted by others, it is searched
    for again with less weight on these; the matching of larger excess is taken.
    """
    fit = search_until_trusted(
        PairSearch(one, other, settings, cores, known), rng, report
    )
    if fit.excess == np.inf or not (one.weighted or other.weighted):
        return fit
    first, second = one.weighted or one, other.weighted or other
    if not have_few_factors(first, second):
        return fit
    search = PairSearch(first, second, settings, cores, known)
    again = search_until_trusted(search, rng, report)
    if again.excess <= fit.excess:
        return fit
    partner = match_views(again.cross, first, second, settings, known).partner
    matched = np.flatnonzero(partner >= 0)
    pairs = one.whitened[matched], other.whitened[partner[matched]]
    cross = pairs[0].T @ pairs[1] / len(matched)
    return again._replace(cross=cross, score=score(cross, settings))


def search_until_trusted(
    search: "PairSearch", rng: np.random.RandomState, report: Report
) -> PairFit:
    """Search for a matching and test it, until one is trusted.

    Every search has other anchors; what else it found are rivals of its matching. The
    first test of a matching counts: if it may be tested until it passes, chance passes.
    Where factors are few, the test chooses the matching that leads, so that it is
    known only then. The fit of largest excess is given.
    """
    settings = search.settings
    if search.all_rows.share == 0:  # all partners are known
        fixed = search.all_rows.fixed
        return PairFit(fixed, score(fixed, settings), UNTESTED, np.inf, 1.0)
    if min(side.shape[1] for side in search.whitened) < FEWEST_DIRECTIONS:
        # No result could be tested.
        return PairFit(search.all_rows.fixed, -np.inf, UNTESTED, -np.inf, 0.0)
    fits: list[PairFit] = []
    fewest = N_SEARCHES_OF_MANY if search.many_rows else 1
    for _ in range(max(settings.n_searches, fewest)):
        report("searching")
        (found, *refined), others = search.matchings(rng)
        if was_tested(found[0], fits) and not search.few_factors:
            continue
        report("testing")
        leading, starts = ([cross for cross, _ in some] for some in (refined, others))
        fit = fit_against_rivals(search, found, leading, starts, rng)
        if was_tested(fit.cross, fits):
            continue
        fits.append(fit)
        if fit.trust >= TRUSTED:
            break
    return max(fits, key=lambda fit: fit.excess)


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
        self.views, self.known = (one, other), known
        self.settings, self.cores = settings, cores
        self.whitened = one.whitened, other.whitened
        self.all_rows = join_rows(*self.whitened, known)
        given = known or ((), ())
        self.free = tuple(
            np.delete(np.arange(len(side)), np.asarray(rows, dtype=np.intp))
            for side, rows in zip(self.whitened, given, strict=True)
        )
        self.few_factors = have_few_factors(one, other)
        n_rows = max(map(len, self.whitened))
        self.few_rows = n_rows <= N_TIMES_SAMPLED * settings.n_refined
        self.many_rows = n_rows > settings.n_dense

    def matchings(self, rng: np.random.RandomState) -> tuple[list[Fit], list[Fit]]:
        """Cross-correlations that the starts lead to, best first.

        Every start takes one cycle; the best of each family is refined. These are in
        the first list, and the others in the second.
        """
        families = find_starts(self.families, rng, self.cores)
        if self.all_rows.share < 1:
            families.append([self.all_rows.fixed])

        def settle(cross: Array, rng: np.random.RandomState) -> Fit:
            settled = cycle(cross, self.draw_rows(cross, rng), self.settings)
            return settled, score(settled, self.settings)

        leading, others = [], []
        for starts in families:
            fits = self.cores.map(settle, starts, spawn(rng, len(starts)))
            first, *rest = best_first(fits)
            leading.append(self.refine(first[0], rng))
            others += rest
        return best_first(leading), best_first(others)

    def refine(
        self,
        cross: Array,
        rng: np.random.RandomState,
        arrived: Callable[[Array], bool] = lambda cross: False,
    ) -> Fit:
        """Refine on rows that are drawn anew for every cycle.

        A cycle fits the noise of its rows; on other rows, that part does not persist.
        Few rows leave no others to draw, and their distances correct what was fitted.
        """

        def draw(reached: Array) -> RowPair:
            return self.draw_rows(reached, rng)

        def settle(cross: Array) -> Fit:
            return refine(cross, draw, self.settings, arrived)

        fit, rises, anchors = settle(cross), True, self.anchors
        while anchors and rises and not arrived(fit[0]):
            kept = correct_by_distances(fit[0], self.all_rows, anchors, self.settings)
            again = settle(kept)
            rises = again[1] > fit[1]
            fit = again if rises else fit
        if not (self.few_factors and (self.few_rows or self.many_rows)):
            return fit
        if self.many_rows:
            found = fit[0], self.all_rows, self.full_rows
            cross, _ = learn_likely(*found, self.settings, rng)
        else:
            free = fit[0], self.all_rows, self.known
            cross = rematch(*free, *self.views, self.settings)
        return cross, score(cross, self.settings)

    @cached_property
    def families(self) -> list[Family]:
        """Ways to find starts."""
        return families_of(*self.views, self.settings, self.few_factors, self.anchors)

    @cached_property
    def distinct(self) -> tuple[Indices, Indices]:
        """Rows of either view, one of each set of equal ones."""
        one, other = self.whitened
        return first_of_equal(one), first_of_equal(other)

    @cached_property
    def are_held_out_for_good(self) -> bool:
        """Whether rows are so many that those tested need not be learned from."""
        return self.many_rows and are_many(self.distinct, self.settings)

    @cached_property
    def full_rows(self) -> RowPair:
        """Free rows of both views before they were scaled to unit length."""
        one, other = (view.full_rows() for view in self.views)
        return join_rows(one, other, self.known)

    @cached_property
    def anchors(self) -> tuple[Anchors, Anchors] | None:
        """Free rows of both views as anchors, where they are few."""
        if max(map(len, self.whitened)) > min(MOST_SINGLE, self.settings.n_sketched):
            return None
        one, other = (
            single_rows(view.whitened, view.sketch, rows)
            for view, rows in zip(self.views, self.free, strict=True)
        )
        return one, other

    def draw_rows(self, cross: Array, rng: np.random.RandomState) -> RowPair:
        """Rows for a cycle."""
        return draw_rows(cross, self.all_rows, self.settings, rng)

    def matching(
        self, cross: Array, rng: np.random.RandomState, with_known: bool = True
    ) -> Indices:
        """Mutual best partner of rows of the first view, known ones included.

        -1 stands for rows without one, and outside the sample. Known pairs are tested
        like others: what holds for them holds for rows whose partner is not known.
        """
        rows, size = self.all_rows, self.settings.n_refined
        at_one, at_other = (sample(len(side), size, rng) for side in rows[:2])
        sampled = rows._replace(one=rows.one[at_one], other=rows.other[at_other])
        if len(at_other) < len(rows.other):
            at_other = nearest_rows(cross, sampled, rows.other, self.settings, rng)
            sampled = sampled._replace(other=rows.other[at_other])
        partner = np.full(len(self.whitened[0]), -1, dtype=np.intp)
        if len(at_one) and len(at_other):
            found = mutual_partners(cross, sampled, self.settings)
            matched = np.flatnonzero(found >= 0)
            free_one, free_other = self.free
            partner[free_one[at_one[matched]]] = free_other[at_other[found[matched]]]
        if with_known and self.known is not None:
            given, partners = self.known
            partner[given] = partners
        return partner
