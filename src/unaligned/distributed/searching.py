"""Search of two views of many rows: found on samples, tested among all rows.

Samples of two views have few objects in common, but what is found on them leads near
the matching of all rows, in seconds. So many samples are searched; the matching of
largest score is refined beside all rows of the second view, where those of a sample of
the first have their partners, and tested there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import TRUSTED
from unaligned.kernels.devices import Cores
from unaligned.savuc.config import Settings
from unaligned.savuc.groups import N_THIN
from unaligned.savuc.refine import Fit, Known, best_first
from unaligned.savuc.rivals import fit_against_rivals
from unaligned.savuc.search import PairSearch, search_pair
from unaligned.savuc.starts import SearchView, part_of
from unaligned.savuc.trust import (
    FEWEST_DIRECTIONS,
    SAME,
    PairFit,
    agreement,
    was_tested,
)

__all__ = ["search_many_rows"]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Pairs = tuple[Indices, Indices]

MANY = 1.5 * N_THIN  # rows from which a search is on samples, as in memory
N_BESIDE = 30_000  # rows of the second view that a sample has. Cost
N_SAMPLES = 2  # pairs of samples for every search that the settings allow. Cost
N_TESTED = 3  # matchings that are tested, at most, until one is trusted. Cost


def search_many_rows(
    one: SearchView,
    other: SearchView,
    known: Known,
    settings: Settings,
    rng: np.random.RandomState,
) -> tuple[PairFit, Pairs]:
    """Search two views; also give some rows that the matching pairs, if it is trusted.

    Parameters
    ----------
    one, other : SearchView
        With all rows.
    known : tuple of ndarray or None
        Rows of both that are known to be pairs.
    settings : Settings
    rng : RandomState
    """
    cores, n = Cores(), len(one.whitened)
    few = max(n, len(other.whitened)) <= MANY
    with cores.busy():
        drawn = np.arange(n) if few else draw_rows(n, N_THIN, given_rows(known, 0), rng)
        sample = one if few else part_of(one, drawn, rng)
        given = known_among(known, drawn, np.arange(len(other.whitened)))
        search = PairSearch(sample, other, settings, cores, given)
        fewest = min(side.shape[1] for side in search.whitened)
        if few or search.all_rows.share == 0 or fewest < FEWEST_DIRECTIONS:
            fit = search_pair(sample, other, settings, rng, cores, given)
        else:
            found = search_samples(one, other, known, settings, rng, cores)
            fit = tested_among_all(search, found, rng)
        if fit.trust < TRUSTED:
            return fit, (np.arange(0), np.arange(0))
        partner = search.matching(fit.cross, rng)
    matched = np.flatnonzero(partner >= 0)
    return fit, (drawn[matched], partner[matched])


def search_samples(
    one: SearchView,
    other: SearchView,
    known: Known,
    settings: Settings,
    rng: np.random.RandomState,
    cores: Cores,
) -> list[Array]:
    """Cross-correlations that searches of samples lead to, largest score first."""
    fits: list[Fit] = []
    for _ in range(N_SAMPLES * settings.n_searches):
        rows = [
            draw_rows(len(view.whitened), size, given_rows(known, side), rng)
            for side, (view, size) in enumerate(((one, N_THIN), (other, N_BESIDE)))
        ]
        views = [part_of(v, at, rng) for v, at in zip((one, other), rows, strict=True)]
        given = known_among(known, *rows)
        search = PairSearch(views[0], views[1], settings, cores, given)
        (best, *_), _ = search.matchings(rng)
        fits = best_first([*fits, best])
        if len(fits) > 1 and agreement(fits[0][0], fits[1][0]) > SAME:
            break  # two samples lead to one matching, and none to a better one
    return [cross for cross, _ in fits]


def tested_among_all(
    search: PairSearch, found: list[Array], rng: np.random.RandomState
) -> PairFit:
    """Refine and test matchings one after the other until one is trusted.

    One that comes to a matching that was tested before is left out.
    """
    fits: list[PairFit] = []
    for start in found:
        cross, value = search.refine(start, rng)
        if was_tested(cross, fits):
            continue
        others = [rival for rival in found if agreement(cross, rival) <= SAME]
        fits.append(fit_against_rivals(search, (cross, value), [], others, rng))
        if fits[-1].trust >= TRUSTED or len(fits) == N_TESTED:
            break
    return max(fits, key=lambda fit: fit.trust)


def given_rows(known: Known, side: int) -> Indices:
    """Rows of either view whose partner is known."""
    return np.arange(0) if known is None else known[side]


def draw_rows(n: int, size: int, given: Indices, rng: np.random.RandomState) -> Indices:
    """Draw rows of a view, in ascending order.

    Of those whose partner is known, the first ones are among them, up to half.
    """
    first = given[: size // 2]
    others = np.setdiff1d(rng.permutation(n)[:size], first)
    others = rng.permutation(others)[: size - len(first)]
    return np.sort(np.concatenate([first, others]))


def known_among(known: Known, rows: Indices, partners: Indices) -> Known:
    """Known pairs of drawn rows of two views, as places among them."""
    if known is None or not known[0].size:
        return None
    places = [
        np.minimum(np.searchsorted(drawn, given), len(drawn) - 1)
        for drawn, given in zip((rows, partners), known, strict=True)
    ]
    there = (rows[places[0]] == known[0]) & (partners[places[1]] == known[1])
    return (places[0][there], places[1][there]) if there.any() else None
