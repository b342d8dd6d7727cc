"""Groups of aligned views: each is a view again, made of those of its members.

Two views that are aligned describe their objects better together than apart. A group is
described by the principal directions of its members side by side, and is searched and
matched like a view.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores
from unaligned.kernels.scaling import unit_rows
from unaligned.known_pairs import KnownPairs
from unaligned.savuc.assign import Matching, match_views
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.refine import Known
from unaligned.savuc.search import PairSearch
from unaligned.savuc.starts import SearchView, part_of, prepare_view
from unaligned.savuc.trust import PairFit

__all__ = [
    "N_THIN",
    "Group",
    "alone",
    "at_full_length",
    "complete_group",
    "known_between",
    "merge",
    "plain",
    "restore",
    "thinned",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_THIN = 6000  # rows of a group while it grows, where there are many more: cost


class Group(NamedTuple):
    """Aligned views, in the row order of the first of them."""

    views: tuple[int, ...]
    rows: dict[int, Indices]
    """Row of each view beside every row of the first, -1 where there is none."""
    confidence: dict[int, Array]
    trust: dict[int, float]
    search_view: SearchView

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.search_view.whitened)


def alone(view: int, search_view: SearchView) -> Group:
    """Make a group of one view."""
    n = len(search_view.whitened)
    return Group(
        (view,), {view: np.arange(n)}, {view: np.ones(n)}, {view: 1.0}, search_view
    )


def plain(group: Group) -> dict[str, Any]:
    """Give all of a group but what the search uses, which follows from the rest."""
    parts = group._asdict()
    del parts["search_view"]
    return parts


def restore(
    parts: dict[str, Any], search_views: list[SearchView], settings: Settings
) -> Group:
    """Make a group of what `plain` gave of it."""
    views, rows = parts["views"], parts["rows"]
    if len(views) == 1:
        return alone(views[0], search_views[views[0]])
    joined = join_views(views, rows, search_views, settings)
    return Group(**parts, search_view=joined)


def join_views(
    views: tuple[int, ...],
    rows: dict[int, Indices],
    search_views: list[SearchView],
    settings: Settings,
) -> SearchView:
    """Describe views whose rows are matched by common principal directions.

    Rows of every member have unit length. Zeros, the mean, stand where a member has no
    row.
    """
    parts = []
    for i in views:
        unit = unit_rows(search_views[i].geometry.points)
        parts.append(np.where(rows[i][:, None] >= 0, unit[rows[i]], 0))
    stacked = np.hstack(parts)
    stacked -= stacked.mean(axis=0)
    _, directions = np.linalg.eigh((stacked.T @ stacked).astype(np.float64))
    directions = directions[:, ::-1][:, : settings.n_directions].astype(np.float32)
    nothing = np.empty(0)
    geometry = Geometry(stacked @ directions, nothing, nothing, nothing, directions)
    # The rows that are drawn follow from the views, so that a group can be restored.
    return prepare_view(geometry, settings, np.random.RandomState(views[0]))


def thinned(
    group: Group,
    known: Known,
    search_views: list[SearchView],
    settings: Settings,
    rng: np.random.RandomState,
) -> Group:
    """Represent a group of many rows by a sample, half of it with known partners.

    Matching all rows costs most, and is of use only when the group is complete.
    """
    n = group.n_rows
    if n <= 1.5 * N_THIN:
        return group
    drawn = rng.permutation(n)
    partnered = np.isin(drawn, known[0] if known else [])
    first = drawn[partnered][: N_THIN // 2]
    rest = drawn[~np.isin(drawn, first)][: N_THIN - len(first)]
    base = np.sort(np.concatenate([first, rest]))
    rows = {i: at[base] for i, at in group.rows.items()}
    confidence = {i: sure[base] for i, sure in group.confidence.items()}
    if len(group.views) == 1:  # keeps the lengths of its rows
        view = part_of(group.search_view, base, rng)
    else:
        view = join_views(group.views, rows, search_views, settings)
    return group._replace(rows=rows, confidence=confidence, search_view=view)


def known_between(one: Group, other: Group, pairs: KnownPairs) -> Known:
    """Rows of two groups that any known pair of their members joins."""
    found = [np.empty((0, 2), dtype=np.intp)]
    for i in one.views:
        for j in other.views:
            rows_i, rows_j = pairs.between(i, j)
            places = np.column_stack(
                [places_of(one.rows[i], rows_i), places_of(other.rows[j], rows_j)]
            )
            found.append(places[(places >= 0).all(axis=1)])
    joined = np.concatenate(found)
    for side in (0, 1):  # of pairs that contradict each other, the first wins
        _, once = np.unique(joined[:, side], return_index=True)
        joined = joined[np.sort(once)]
    return (joined[:, 0], joined[:, 1]) if len(joined) else None


def places_of(rows: Indices, wanted: Indices) -> Indices:
    """Where the wanted rows stand in a list of rows, -1 for those that do not."""
    place = np.full(max(rows.max(initial=-1), wanted.max(initial=-1)) + 1, -1)
    matched = np.flatnonzero(rows >= 0)
    place[rows[matched]] = matched
    return place[wanted]


def merge(
    one: Group,
    other: Group,
    fit: PairFit,
    known: Known,
    search_views: list[SearchView],
    settings: Settings,
) -> Group:
    """Match the rows of two groups, and make one of them, in the order of the first."""
    matching = match_views(
        fit.cross, one.search_view, other.search_view, settings, known
    )
    rows, confidence, trust = dict(one.rows), dict(one.confidence), dict(one.trust)
    partner = matching.partner
    for j in other.views:
        rows[j] = np.where(partner >= 0, other.rows[j][partner], -1)
        sure = matching.confidence * other.confidence[j][partner]
        confidence[j] = np.where(rows[j] >= 0, sure, 0.0)
        trust[j] = min(fit.trust, other.trust[j])
    views = one.views + other.views
    joined = join_views(views, rows, search_views, settings)
    return Group(views, rows, confidence, trust, joined)


def complete_group(
    group: Group,
    search_views: list[SearchView],
    pairs: KnownPairs,
    settings: Settings,
    rng: np.random.RandomState,
    cores: Cores,
) -> Group:
    """Match every member anew to all the others together, with all of their rows.

    Early members were matched when less was known, and rows may have been sampled.
    """
    if len(group.views) == 1:
        return group
    if group.n_rows < len(search_views[group.views[0]].whitened):
        group = with_all_rows(group, search_views, pairs, settings, rng, cores)
    if len(group.views) == 2:
        return group
    rows, confidence = dict(group.rows), dict(group.confidence)
    for i in group.views[1:]:
        others = tuple(j for j in group.views if j != i)
        rest = join_views(others, rows, search_views, settings)
        part = group._replace(views=others, rows=rows, search_view=rest)
        known = known_between(part, alone(i, search_views[i]), pairs)
        matching = match_again(
            rest, search_views[i], rows[i], known, settings, rng, cores
        )
        if matching is not None:
            rows[i], confidence[i] = matching
    joined = join_views(group.views, rows, search_views, settings)
    return group._replace(rows=rows, confidence=confidence, search_view=joined)


def with_all_rows(
    group: Group,
    search_views: list[SearchView],
    pairs: KnownPairs,
    settings: Settings,
    rng: np.random.RandomState,
    cores: Cores,
) -> Group:
    """Match all rows of the members of a sampled group with those of the first."""
    first = group.views[0]
    whole = alone(first, search_views[first])
    rows, confidence = dict(whole.rows), dict(whole.confidence)
    for i in group.views[1:]:
        sampled = np.full(whole.n_rows, -1, dtype=np.intp)
        sampled[group.rows[first]] = group.rows[i]
        known = pairs.between(first, i)
        views = whole.search_view, search_views[i]
        matching = match_again(*views, sampled, known, settings, rng, cores)
        unmatched = Matching(sampled, np.zeros(len(sampled)))
        rows[i], confidence[i] = unmatched if matching is None else matching
    joined = join_views(group.views, rows, search_views, settings)
    return group._replace(rows=rows, confidence=confidence, search_view=joined)


def at_full_length(group: Group, search_views: list[SearchView]) -> Group:
    """Give every row of the first view a place; those that were not drawn are alone."""
    first = group.views[0]
    n = len(search_views[first].whitened)
    if group.n_rows == n:
        return group
    drawn, rows, confidence = group.rows[first], {}, {}
    for i in group.views:
        rows[i], confidence[i] = np.full(n, -1, dtype=np.intp), np.zeros(n)
        rows[i][drawn], confidence[i][drawn] = group.rows[i], group.confidence[i]
    rows[first], confidence[first] = np.arange(n), np.ones(n)
    return group._replace(rows=rows, confidence=confidence)


def match_again(
    one: SearchView,
    other: SearchView,
    partner: Indices,
    known: Known,
    settings: Settings,
    rng: np.random.RandomState,
    cores: Cores,
) -> Matching | None:
    """Refine a matching and match all rows by it; None where no row is matched."""
    cores.check()
    matched = np.flatnonzero(partner >= 0)
    if not matched.size:
        return None
    products = one.whitened[matched].T @ other.whitened[partner[matched]]
    cross = products / len(matched)
    search = PairSearch(one, other, settings, cores, known)
    if len(search.all_rows.one) and len(search.all_rows.other):
        cross, _ = search.refine(cross, rng)
    return match_views(cross, one, other, settings, known)
