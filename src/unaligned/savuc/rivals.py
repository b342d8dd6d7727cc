"""The test of a matching against its rivals: others that were found, or random ones.

Wrong matchings with some evidence exist where views are symmetric or rows are few. A
rival is refined and tested in the same way, and only what exceeds it counts.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import spawn
from unaligned.savuc.many_rows import evidence_of_many
from unaligned.savuc.refine import Fit, cycle, sample_rows, score
from unaligned.savuc.trust import (
    SAME,
    UNTESTED,
    Evidence,
    PairFit,
    agreement,
    excess_over,
    held_out_evidence,
    trust_in,
)

if TYPE_CHECKING:
    from unaligned.savuc.search import PairSearch

__all__ = ["fit_against_rivals"]

Array = NDArray[Any]
Tested = tuple[Array, Evidence]
"""A cross-correlation, and the evidence for it."""

NOTHING = Evidence(0.0, 0.0)


def fit_against_rivals(
    search: "PairSearch", fit: Fit, others: list[Array], rng: np.random.RandomState
) -> PairFit:
    """Test a matching against others that were found.

    Where factors are few, the score hardly tells them apart, and the one with the
    most evidence is tested against the rest.
    """
    examined = examine(search, fit[0], others, rng)
    leading, evidence = examined[0]
    if search.few_factors:
        leading, evidence = max(examined, key=lambda each: each[1].lower)
    rivals = [
        NOTHING if found == UNTESTED else found
        for cross, found in examined
        if agreement(cross, leading) <= SAME
    ]
    excess = excess_over(evidence, rivals)
    trust = trust_in(excess, search.settings)
    value = score(leading, search.settings)
    return PairFit(leading, value, evidence, excess, trust, tuple(rivals))


def examine(
    search: "PairSearch",
    cross: Array,
    others: list[Array],
    rng: np.random.RandomState,
) -> list[Tested]:
    """Test a matching and its rivals: give each with the evidence for it.

    Rivals are what else the search found, and random starts where that is not enough.
    They are spared where there is no evidence, but for what was found where factors are
    few.
    """
    settings = search.settings
    evidence, n_matched = evidence_of(search, cross, rng)
    # Few rows are cheap, and chance plays a larger part.
    n_rivals = max(settings.n_rivals, settings.n_rival_rows // max(n_matched, 1))
    if search.few_factors:  # with one of them wrong, the others still give evidence
        n_rivals *= 2
    starts = [*others, *[None] * n_rivals][:n_rivals]
    n_first = len(others) if search.few_factors else 0
    examined = [(cross, evidence), *compete(search, cross, starts[:n_first], rng)]
    if max(found.lower for _, found in examined) > 0:
        examined += compete(search, cross, starts[n_first:], rng)
    return examined


def compete(
    search: "PairSearch",
    cross: Array,
    starts: list[Array | None],
    rng: np.random.RandomState,
) -> list[Tested]:
    """Refine and test other matchings, but for those that come to this one."""
    function = partial(rival, search, cross)
    found = search.cores.map(function, starts, spawn(rng, len(starts)))
    return [each for each in found if each is not None]


def rival(
    search: "PairSearch",
    cross: Array,
    start: Array | None,
    rng: np.random.RandomState,
) -> Tested | None:
    """Refine and test a matching from another start, or a random one, the same way.

    One that comes to the matching that is tested is no rival of it.
    """

    def is_same(reached: Array) -> bool:
        return agreement(reached, cross) > SAME

    start = random_start(search, rng) if start is None else start
    reached, _ = search.refine(start, rng, is_same)
    if is_same(reached):
        return None
    evidence, _ = evidence_of(search, reached, rng, with_known=False)
    return reached, evidence


def evidence_of(
    search: "PairSearch",
    cross: Array,
    rng: np.random.RandomState,
    with_known: bool = True,
) -> tuple[Evidence, int]:
    """Test a matching; also give how many rows it matches, of a sample."""
    if search.are_held_out_for_good:
        return evidence_of_many(search, cross, rng), search.settings.n_refined
    partner = search.matching(cross, rng, with_known)
    evidence = held_out_evidence(*search.whitened, partner, search.settings, rng)
    return evidence, int(np.sum(partner >= 0))


def random_start(search: "PairSearch", rng: np.random.RandomState) -> Array:
    """Take one cycle from random pairs of rows."""
    rows = sample_rows(search.all_rows, search.settings.n_refined, rng)
    n = min(len(rows.one), len(rows.other))
    one, other = (side[rng.permutation(len(side))[:n]] for side in rows[:2])
    return cycle(one.T @ other / n, rows, search.settings)
