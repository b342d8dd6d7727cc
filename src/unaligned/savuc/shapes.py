"""Shapes of what a fit leaves, and of its state in a checkpoint.

`unaligned.shapes` explains the words. A view i has m{i} principal directions and
f{i} features of its bridge, and r is the number of directions that views share.
"""

from collections.abc import Iterable
from itertools import combinations, pairwise, permutations
from typing import Any

from unaligned.savuc.bridge import Bridge
from unaligned.savuc.shared_space import SharedSpace

__all__ = [
    "FITTED",
    "STATE",
    "check_links",
    "check_places",
    "shapes_of_bridge",
    "shapes_of_geometries",
    "shapes_of_space",
]

FITTED: dict[str, Any] = {"embedding_": "t _", "_views": ["n d"]}
STATE: dict[str, Any] = {
    "groups": None,
    "tried": None,
    "best": "v",
    "rng": None,
    "start": None,
}


def shapes_of_geometries(views: Iterable[int]) -> dict[int, Any]:
    """Shapes of the way to the principal directions of every view."""
    return {
        i: {
            "mean": f"d{i}",
            "scale": f"inf d{i}",  # of a constant column
            "center": f"m{i}",
            "directions": f"d{i} m{i}",
        }
        for i in views
    }


def shapes_of_space(space: SharedSpace) -> dict[str, Any]:
    """Shapes of the places of views in a space, and of what leads between them."""
    geometries = shapes_of_geometries(space.places)
    places = {
        i: {"geometry": shapes, "spread": f"m{i}", "directions": f"m{i} r"}
        for i, shapes in geometries.items()
    }
    pairs = combinations(space.places, 2)
    return {"places": places, "crosses": {(i, j): f"m{i} m{j}" for i, j in pairs}}


def check_places(space: SharedSpace, n_views: int) -> None:
    """Check that places in a space are those of views that there are."""
    for i in space.places:
        if i not in range(n_views):
            raise ValueError(f"its space has a place for {i!r}, which is no view")


def shapes_of_bridge(bridge: Bridge) -> dict[str, Any]:
    """Shapes of the features of all views, and of the regressions between them."""
    n_views = len(bridge.features)
    graphs = {
        i: {"rows": f"n{i} m{i}", "vectors": f"n{i} g{i}", "values": f"g{i}"}
        for i in range(n_views)
    }
    return {
        "graphs": graphs,
        "features": {i: f"n{i} f{i}" for i in range(n_views)},
        "links": {(i, j): _shapes_of_link(i, j) for i, j in bridge.links},
        "quality": "v v",
        "before": "int v v",
    }


def check_links(bridge: Bridge) -> None:
    """Check that known pairs are rows of their views, and lead where it is said."""
    views = range(len(bridge.features))
    if sorted(i for group in bridge.groups for i in group) != list(views):
        raise ValueError("its bridge does not have every view in one group")
    for group in bridge.groups:
        for i, j in permutations(group, 2):
            for step in pairwise(bridge.way(i, j)):
                if (min(step), max(step)) not in bridge.links:
                    raise ValueError(f"its bridge has no pairs of views {step}")
    for pair, link in bridge.links.items():
        for i, rows in zip(pair, link.rows, strict=True):
            if rows.min() < 0 or rows.max() >= len(bridge.features[i]):
                raise ValueError(f"its bridge names rows beyond those of view {i}")
        for ridge in (link.there, link.back):
            if not (float(ridge.penalty) >= 0 and float(ridge.typical) >= 0):
                raise ValueError("its bridge has a negative penalty")


def _shapes_of_link(i: int, j: int) -> dict[str, Any]:
    p = f"p{i},{j}"
    return {
        "rows": {0: f"int {p}", 1: f"int {p}"},
        "weights": p,
        "there": _shapes_of_ridge(p, f"f{i}", f"f{j}"),
        "back": _shapes_of_ridge(p, f"f{j}", f"f{i}"),
        "suspicion": p,
    }


def _shapes_of_ridge(p: str, f: str, t: str) -> dict[str, str]:
    return {
        "slopes": f"{f} {t}",
        "intercept": t,
        "variance": t,
        "total": t,
        "left_out": f"{p} {t}",
        "center": f,
        "spread": f"{f} _",
    }
