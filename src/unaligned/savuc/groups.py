"""Groups of aligned views: each is a view again, made of those of its members.

What describes a group are the principal directions of its members side by side.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import unit_rows
from unaligned.known_pairs import KnownPairs
from unaligned.savuc.geometry import N_DIRECTIONS, Geometry
from unaligned.savuc.pairs_of_views import Known

__all__ = [
    "N_BASE",
    "Group",
    "alone",
    "is_thin",
    "join_geometry",
    "known_between",
    "merge",
    "plain",
    "restore",
    "thin",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_BASE = 6000  # rows that speak for a group while it grows, where there are many more


class Group(NamedTuple):
    """Aligned views, told in the row order of the first of them."""

    views: tuple[int, ...]
    rows: dict[int, Indices]
    """Row of each view beside every row of the first, -1 where there is none."""
    confidence: dict[int, Array]
    trust: dict[int, float]
    geometry: Geometry


def alone(view: int, geometry: Geometry) -> Group:
    """Make a group of one view."""
    n = len(geometry.points)
    return Group(
        (view,), {view: np.arange(n)}, {view: np.ones(n)}, {view: 1.0}, geometry
    )


def plain(group: Group) -> dict[str, Any]:
    """Give all of a group but its geometry, which follows from the rest."""
    return {name: part for name, part in group._asdict().items() if name != "geometry"}


def restore(parts: dict[str, Any], geometries: list[Geometry]) -> Group:
    """Make a group of what `plain` gave of it."""
    views, rows = parts["views"], parts["rows"]
    if len(views) == 1:
        return alone(views[0], geometries[views[0]])
    return Group(**parts, geometry=join_geometry(views, rows, geometries))


def thin(group: Group, known: Known, rng: np.random.RandomState) -> Group:
    """Let a sample of rows speak for a group of many, half of it with known partners.

    Matching all rows costs most, and is of use only when the group is complete.
    """
    n = len(group.geometry.points)
    if n <= 1.5 * N_BASE:
        return group
    drawn = rng.permutation(n)
    partnered = np.isin(drawn, known[0] if known else [])
    first = drawn[partnered][: N_BASE // 2]
    rest = drawn[~np.isin(drawn, first)][: N_BASE - len(first)]
    base = np.sort(np.concatenate([first, rest]))
    return group._replace(
        rows={i: rows[base] for i, rows in group.rows.items()},
        confidence={i: sure[base] for i, sure in group.confidence.items()},
        geometry=group.geometry._replace(points=group.geometry.points[base]),
    )


def is_thin(group: Group, geometries: list[Geometry]) -> bool:
    """Whether rows of the first view are missing from a group."""
    return len(group.geometry.points) < len(geometries[group.views[0]].points)


def known_between(one: Group, other: Group, pairs: KnownPairs) -> Known:
    """Rows of two groups that any known pair of their members joins."""
    found = [np.empty((0, 2), dtype=np.intp)]
    for i in one.views:
        for j in other.views:
            rows_i, rows_j = pairs.between(i, j)
            places = np.column_stack(
                [_places(one.rows[i], rows_i), _places(other.rows[j], rows_j)]
            )
            found.append(places[(places >= 0).all(axis=1)])
    joined = np.concatenate(found)
    for side in (0, 1):  # of pairs that contradict each other, the first wins
        _, once = np.unique(joined[:, side], return_index=True)
        joined = joined[np.sort(once)]
    return (joined[:, 0], joined[:, 1]) if len(joined) else None


def _places(rows: Indices, wanted: Indices) -> Indices:
    """Where the wanted rows stand in a list of rows, -1 for those that do not."""
    place = np.full(max(rows.max(initial=-1), wanted.max(initial=-1)) + 1, -1)
    matched = np.flatnonzero(rows >= 0)
    place[rows[matched]] = matched
    return place[wanted]


def merge(
    one: Group,
    other: Group,
    partner: Indices,
    confidence: Array,
    trust: float,
    geometries: list[Geometry],
) -> Group:
    """One group of two, in the row order of the first."""
    rows, sure, faith = dict(one.rows), dict(one.confidence), dict(one.trust)
    for j in other.views:
        beside = np.where(partner >= 0, other.rows[j][partner], -1)
        rows[j] = beside
        sure[j] = np.where(beside >= 0, confidence * other.confidence[j][partner], 0.0)
        faith[j] = min(trust, other.trust[j]) if j != other.views[0] else trust
    views = one.views + other.views
    return Group(views, rows, sure, faith, join_geometry(views, rows, geometries))


def join_geometry(
    views: tuple[int, ...], rows: dict[int, Indices], geometries: list[Geometry]
) -> Geometry:
    """Put members side by side, rows at unit length, in common principal directions.

    Where a member has no row, it says nothing: zeros are the mean.
    """
    parts = [
        np.where(rows[i][:, None] >= 0, unit_rows(geometries[i].points)[rows[i]], 0)
        for i in views
    ]
    stacked = np.hstack(parts)
    stacked -= stacked.mean(axis=0)
    _, directions = np.linalg.eigh((stacked.T @ stacked).astype(np.float64))
    directions = directions[:, ::-1][:, :N_DIRECTIONS].astype(np.float32)
    nothing = np.empty(0)
    return Geometry(stacked @ directions, nothing, nothing, nothing, directions)
