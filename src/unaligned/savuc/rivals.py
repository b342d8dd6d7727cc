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
N_AT_ONCE = 4  # rivals that are tested side by side. Cost


def fit_against_rivals(
    search: "PairSearch",
    fit: Fit,
    refined: list[Array],
    others: list[Array],
    rng: np.random.RandomState,
) -> PairFit:
    """Test a matching against others that were found, and against random ones.

    Those that were ``refined`` are the best of their families.
    """
    examined = examine(search, fit[0], refined, others, rng)
    (leading, evidence), rivals = split_off_leading(search, examined)
    excess = excess_over(evidence, rivals)
    trust = trust_in(excess, search.settings)
    value = score(leading, search.settings)
    return PairFit(leading, value, evidence, excess, trust, tuple(rivals))


def examine(
    search: "PairSearch",
    cross: Array,
    refined: list[Array],
    others: list[Array],
    rng: np.random.RandomState,
) -> list[Tested]:
    """Test a matching and its rivals: give each with the evidence for it.

    Rivals are what else the search found, and random starts where that is not enough.
    They are tested as long as the matching exceeds those before: no other would change
    that it does not. Where factors are few, what was refined is tested first, and if
    there is evidence for any of it, all that was found.
    """
    settings = search.settings
    evidence, n_matched = evidence_of(search, cross, rng)
    # Few rows are cheap, and chance plays a larger part.
    n_rivals = max(settings.n_rivals, settings.n_rival_rows // max(n_matched, 1))
    if search.few_factors:  # with one of them wrong, the others still give evidence
        n_rivals *= 2
    found = [*refined, *others]
    starts = [*found, *[None] * n_rivals][:n_rivals]
    draws = spawn(rng, n_rivals)
    examined, at = [(cross, evidence)], 0
    stages = (len(refined) or len(found), len(found)) if search.few_factors else ()
    for end in stages:
        some = slice(at, end)
        is_refined = at < len(refined)
        examined += compete(search, cross, starts[some], draws[some], is_refined)
        at = min(end, n_rivals)
        if max(evidence.lower for _, evidence in examined) <= 0:
            return examined
    while at < n_rivals:
        (_, evidence), rivals = split_off_leading(search, examined)
        if excess_over(evidence, rivals) <= 0:
            break
        batch = slice(at, at + N_AT_ONCE)
        examined += compete(search, cross, starts[batch], draws[batch])
        at += N_AT_ONCE
    return examined


def split_off_leading(
    search: "PairSearch", examined: list[Tested]
) -> tuple[Tested, list[Evidence]]:
    """Give the matching that is tested, and the evidence for its rivals.

    It is the first. But where factors are few, the score hardly tells matchings apart,
    and it is the one with the most evidence.
    """
    leading = examined[0]
    if search.few_factors:
        leading = max(examined, key=lambda each: each[1].lower)
    rivals = [
        NOTHING if evidence == UNTESTED else evidence
        for cross, evidence in examined
        if agreement(cross, leading[0]) <= SAME
    ]
    return leading, rivals


def compete(
    search: "PairSearch",
    cross: Array,
    starts: list[Array | None],
    draws: list[np.random.RandomState],
    is_refined: bool = False,
) -> list[Tested]:
    """Refine and test other matchings, but for those that come to this one."""
    tested = partial(rival, search, cross, is_refined)
    found = search.cores.map(tested, starts, draws)
    return [each for each in found if each is not None]


def rival(
    search: "PairSearch",
    cross: Array,
    is_refined: bool,
    start: Array | None,
    rng: np.random.RandomState,
) -> Tested | None:
    """Refine and test a matching from another start, or a random one, the same way.

    One that comes to the matching that is tested is no rival of it.
    """

    def is_same(reached: Array) -> bool:
        return agreement(reached, cross) > SAME

    reached = random_start(search, rng) if start is None else start
    if not is_refined:
        reached, _ = search.refine(reached, rng, is_same)
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
