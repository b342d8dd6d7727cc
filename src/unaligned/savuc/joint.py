"""All views together: trusted pairs become groups, groups become views.

Two views that are aligned describe their objects better together than apart. So the
search goes on between groups: a group is a view again, made of the principal directions
of its members side by side.
"""

import time
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from unaligned.alignment import TRUSTED
from unaligned.kernels.devices import Cores, spawn
from unaligned.kernels.matching import invert
from unaligned.known_pairs import KnownPairs
from unaligned.savuc.couplings import Effort
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.groups import (
    N_BASE,
    Group,
    alone,
    is_thin,
    join_geometry,
    known_between,
    merge,
    thin,
)
from unaligned.savuc.pairs_of_views import (
    Known,
    PairFit,
    align_pair,
    climb_from,
    null_score,
)
from unaligned.savuc.row_matching import Matching, match_rows
from unaligned.savuc.trust import OF_OBJECTS, agreement, is_confirmed, trust_in

__all__ = ["Search", "Tried", "grow_groups", "match_groups", "try_pair"]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Tried = list[tuple[tuple[int, ...], ...]]  # views of every two groups that were

N_SWEEPS = 2
SURE, HOPELESS = 0.95, 0.02  # trust above or below which another try changes nothing
PATIENCE = 2  # searches that must fail before a pair is given up
FOR_A_WITNESS = 2  # further searches, where a find only lacks confirmation


class Search(NamedTuple):
    """How hard to search, and how long."""

    effort: Effort
    n_tries: int
    deadline: float
    cores: Cores
    report: Callable[[tuple[int, ...], tuple[int, ...], PairFit, float], None]
    """Told the two groups that were tried, how they fit and the trust in that."""


class Verdict(NamedTuple):
    """What several searches between two views found."""

    best: PairFit
    trust: float
    confirmed: bool
    """Whether other searches came to the same result."""
    witness: PairFit | None
    """Another search that found something, where the gain does not speak for itself."""


def grow_groups(
    geometries: list[Geometry],
    pairs: KnownPairs,
    search: Search,
    rng: np.random.RandomState,
    groups: list[Group],
    tried: Tried,
) -> Iterator[None]:
    """Join groups that can be trusted to belong together, until none can.

    Changes ``groups`` and ``tried`` in place, and pauses after every two that were.
    """
    while (candidate := _next_pair(groups, tried)) is not None:
        if tried and time.monotonic() > search.deadline:
            break
        one, other = candidate
        tried.append((one.views, other.views))
        with search.cores.busy():
            joined = join_groups(one, other, geometries, pairs, search, rng)
        if joined is not None:
            groups[:] = [g for g in groups if g is not one and g is not other] + [
                joined
            ]
        yield


def match_groups(
    groups: list[Group],
    geometries: list[Geometry],
    pairs: KnownPairs,
    search: Search,
    rng: np.random.RandomState,
) -> list[Group]:
    """Match all rows of groups that grow no more, as well as can be; largest first."""
    groups = [retie(g, geometries, pairs, search.cores, rng) for g in groups]
    # The more rows, the better they were matched the first time.
    n_sweeps = N_SWEEPS if max(len(g.points) for g in geometries) <= N_BASE else 1
    for _ in range(n_sweeps):
        if time.monotonic() < search.deadline:
            groups = [sharpen(g, geometries, pairs, rng) for g in groups]
    return sorted(groups, key=lambda g: (-len(g.views), g.views))


def retie(
    group: Group,
    geometries: list[Geometry],
    pairs: KnownPairs,
    cores: Cores,
    rng: np.random.RandomState,
) -> Group:
    """Match all rows of the members of a group along their strongest ties.

    A view that joined early, by a weak tie, drags the others along where it is wrong.
    Every two members are tied directly, and the spanning tree of the largest scores
    tells who is matched through whom. Two views that are matched already stay so.
    """
    if len(group.views) < 3 and not is_thin(group, geometries):
        return group
    couples = list(combinations(group.views, 2))

    def tie_couple(couple: tuple[int, int], rng: np.random.RandomState) -> Any:
        return tie(*couple, group.rows, geometries, pairs, rng)

    found = cores.map(tie_couple, couples, spawn(rng, len(couples)))
    ties = dict(zip(couples, found, strict=True))
    place = {view: at for at, view in enumerate(group.views)}
    weights = np.zeros((len(place), len(place)))
    for (i, j), (_, strength) in ties.items():
        # The largest scores span the tree; an edge of weight zero would be none.
        weights[place[i], place[j]] = -1 - strength
    tree = minimum_spanning_tree(weights).toarray()
    order, before = breadth_first_order(tree, 0, directed=False)
    first = alone(group.views[0], geometries[group.views[0]])
    rows, confidence = first.rows, first.confidence
    for at in order[1:]:
        i, j = group.views[before[at]], group.views[at]
        one, other = sorted((i, j), key=lambda view: place[view])
        fine = geometries[one].fine, geometries[other].fine
        matching = match_rows(ties[one, other][0], *fine, pairs.between(one, other))
        if one == j:
            matching = turn_round(matching, len(geometries[i].points))
        here = rows[i]
        rows[j] = np.where(here >= 0, matching.partner[here], -1)
        sure = confidence[i] * matching.confidence[here]
        confidence[j] = np.where(rows[j] >= 0, sure, 0.0)
    geometry = join_geometry(group.views, rows, geometries)
    return group._replace(rows=rows, confidence=confidence, geometry=geometry)


def tie(
    i: int,
    j: int,
    rows: dict[int, Indices],
    geometries: list[Geometry],
    pairs: KnownPairs,
    rng: np.random.RandomState,
) -> tuple[Array, float]:
    """Canonical directions of two views and their score, from how they are matched."""
    one, other = geometries[i].fine, geometries[j].fine
    both = np.flatnonzero((rows[i] >= 0) & (rows[j] >= 0))
    if not both.size:  # only others, each with other rows, hold them together
        return np.zeros((one.shape[1], other.shape[1])), 0.0
    cross = one[rows[i][both]].T @ other[rows[j][both]] / len(both)
    return climb_from(cross, one, other, pairs.between(i, j), rng)


def turn_round(matching: Matching, n_rows: int) -> Matching:
    """Tell a matching from the other side, which has so many rows."""
    partner = invert(matching.partner, n_rows)
    confidence = np.where(partner >= 0, matching.confidence[partner], 0.0)
    return Matching(partner, confidence)


def sharpen(
    group: Group,
    geometries: list[Geometry],
    pairs: KnownPairs,
    rng: np.random.RandomState,
) -> Group:
    """Match every member of a group of three or more anew, to all the others together.

    Early members were matched when less was known.
    """
    if len(group.views) < 3:
        return group
    rows, confidence = dict(group.rows), dict(group.confidence)
    for i in group.views[1:]:
        others = tuple(j for j in group.views if j != i)
        rest = group._replace(
            views=others, rows=rows, geometry=join_geometry(others, rows, geometries)
        )
        known = known_between(rest, alone(i, geometries[i]), pairs)
        one, other = rest.geometry.fine, geometries[i].fine
        matched = np.flatnonzero(rows[i] >= 0)
        if not matched.size:
            continue
        cross = one[matched].T @ other[rows[i][matched]] / len(matched)
        cross, _ = climb_from(cross, one, other, known, rng)
        matching = match_rows(cross, one, other, known)
        rows[i], confidence[i] = matching.partner, matching.confidence
    geometry = join_geometry(group.views, rows, geometries)
    return group._replace(rows=rows, confidence=confidence, geometry=geometry)


def _next_pair(groups: list[Group], tried: Tried) -> tuple[Group, Group] | None:
    """Two groups not tried yet: large ones first, they know most."""
    ordered = sorted(groups, key=lambda g: (-len(g.views), g.views))
    # By the sum of their places: the largest group meets every other one early.
    for one, other in sorted(combinations(range(len(ordered)), 2), key=sum):
        pair = ordered[one], ordered[other]
        views = tuple(group.views for group in pair)
        if views not in tried and views[::-1] not in tried:
            return pair
    return None


def join_groups(
    one: Group,
    other: Group,
    geometries: list[Geometry],
    pairs: KnownPairs,
    search: Search,
    rng: np.random.RandomState,
) -> Group | None:
    """Align two groups; None where the result cannot be trusted."""
    if is_thin(other, geometries):  # two samples have few objects in common
        other = retie(other, geometries, pairs, search.cores, rng)
    known = known_between(one, other, pairs)
    n = min(len(one.geometry.points), len(other.geometry.points))
    share = 0.0 if known is None else len(known[0]) / n
    one = thin(one, known, rng)
    known = known_between(one, other, pairs)

    def report(fit: PairFit, trust: float) -> None:
        search.report(one.views, other.views, fit, max(trust, share))

    found = try_pair(one.geometry, other.geometry, search, rng, known, report)
    trust = max(found.trust, share)
    if trust < TRUSTED:
        return None
    fine = one.geometry.fine, other.geometry.fine
    matching = match_rows(found.best.cross, *fine, known)
    if found.witness is not None:
        matching = compare(matching, match_rows(found.witness.cross, *fine, known))
    return merge(one, other, matching.partner, matching.confidence, trust, geometries)


def try_pair(
    one: Geometry,
    other: Geometry,
    search: Search,
    rng: np.random.RandomState,
    known: Known = None,
    report: Callable[[PairFit, float], None] | None = None,
) -> Verdict:
    """Align two views, again and again until that is settled."""
    n = min(len(one.points), len(other.points))
    null = null_score(one.fine, other.fine, rng, search.cores)
    fits: list[PairFit] = []
    unclear = False
    while len(fits) < search.n_tries + (FOR_A_WITNESS if unclear else 0):
        fit = align_pair(one, other, null, search.effort, rng, search.cores, known)
        fits.append(fit)
        verdict = judge(fits, n)
        trust = verdict.trust
        if report is not None:
            report(verdict.best, trust)
        unclear = trust < SURE and trust_in(verdict.best.gain, n) > TRUSTED
        given_up = trust < HOPELESS and len(fits) >= PATIENCE
        certain = trust > SURE and (verdict.best.gain > OF_OBJECTS or len(fits) > 1)
        if certain or given_up or time.monotonic() > search.deadline:
            break
    return verdict


def judge(fits: list[PairFit], n_rows: int) -> Verdict:
    """Tell the best of several searches and whether to trust it."""
    best = max(fits, key=lambda fit: fit.gain)
    others = [fit for fit in fits if fit is not best and fit.gain > best.gain / 2]
    witness = max(
        others, key=lambda fit: agreement(best.cross, fit.cross), default=None
    )
    confirmed = is_confirmed([fit.cross for fit in (best, *others)])
    trust = trust_in(best.gain, n_rows, confirmed)
    return Verdict(best, trust, confirmed, witness if best.gain < OF_OBJECTS else None)


def compare(matching: Matching, again: Matching) -> Matching:
    """Doubt matches that a second search does not confirm.

    Where only the classes of two views agree, every search matches other rows.
    """
    same = matching.partner == again.partner
    doubt = np.where(same, 1.0, same.mean())
    return matching._replace(confidence=matching.confidence * doubt)
