"""The space that aligned views share, and the places of new rows in it."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.savuc.assign import match_rows
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry, spread_of

__all__ = [
    "Place",
    "SharedSpace",
    "align_new_rows",
    "find_space",
    "shared_directions",
]

Array = NDArray[Any]

N_SHARED = 40  # directions that views share, at most


class Directions(NamedTuple):
    """Directions that views share, strongest first."""

    common: Array
    """Coordinates of the rows by all views together, at unit length: (n, r)."""
    weights: Array
    """Where each lies between one view's own (0) and shared by all (1)."""
    of_views: list[Array]
    """For each view, what its whitened rows add to the coordinates: (d, r)."""


def shared_directions(whitened: list[Array]) -> Directions:
    """Find what whitened views share: generalised canonical correlations.

    Side by side, a direction of one view alone has squared singular value 1, one that
    all V views share has V.
    """
    n, V = len(whitened[0]), len(whitened)
    left, s, right = np.linalg.svd(np.hstack(whitened), full_matrices=False)
    excess = (s**2 / n - 1) / (V - 1)
    kept = min(max(1, int(np.count_nonzero(excess > 0))), N_SHARED)
    weights = np.maximum(excess[:kept], 1e-3)
    ends = np.cumsum([rows.shape[1] for rows in whitened])[:-1]
    return Directions(
        left[:, :kept],
        weights,
        np.split(right[:kept].T / np.where(s > 0, s, 1)[:kept], ends),
    )


class Place(NamedTuple):
    """What leads from the rows of one view to the shared space."""

    geometry: Geometry
    """Without the points it was read from."""
    spread: Array
    directions: Array

    def whitened(self, X: Any) -> Array:
        """Read new rows in the view's own directions, at even variance."""
        rows: Array = self.geometry.read(X) / self.spread
        return rows

    def embed(self, X: Any) -> Array:
        """Coordinates of new rows in the shared space."""
        embedded: Array = self.whitened(X) @ self.directions
        return embedded


class SharedSpace(NamedTuple):
    """Places of the views that share a space, and how each two of them correlate."""

    places: dict[int, Place]
    crosses: dict[tuple[int, int], Array]
    """Cross-correlation of the whitened rows of view i and view j, i before j."""


def find_space(
    geometries: list[Geometry],
    alignment: Alignment,
    fused: tuple[int, ...],
    ridge: float,
) -> tuple[SharedSpace, Array]:
    """Find the space that fused views share, and the template's rows in it.

    Every view says where a row stands; its place is the mean of what is said by those
    views that have it. One view alone spans a space of its own.
    """
    points = {i: geometries[i].points for i in fused}
    bare = {i: geometries[i].without_rows() for i in fused}
    if len(fused) == 1:
        (only,) = fused
        ones = np.ones(points[only].shape[1], dtype=np.float32)
        return SharedSpace({only: Place(bare[only], ones, np.diag(ones))}, {}), points[
            only
        ]
    spread = {i: spread_of(points[i], ridge) for i in fused}
    there = {i: alignment.permutations[i] >= 0 for i in fused}
    # Where a view has no row it says nothing: zeros are the mean.
    beside = {
        i: np.where(
            there[i][:, None], points[i][alignment.permutations[i]] / spread[i], 0
        )
        for i in fused
    }
    complete = np.all([*there.values()], axis=0)
    if complete.sum() < 2:  # no row is in all views, or just one
        complete[:] = True
    whole = {i: rows[complete] for i, rows in beside.items()}
    found = shared_directions([*whole.values()])
    scale = len(fused) * np.sqrt(complete.sum()) * found.weights
    places = {
        i: Place(bare[i], spread[i], (directions * scale).astype(np.float32))
        for i, directions in zip(fused, found.of_views, strict=True)
    }
    said = sum(beside[i] @ place.directions for i, place in places.items())
    voices = np.stack([*there.values()]).sum(axis=0, dtype=np.float32)
    crosses = {
        (i, j): whole[i].T @ whole[j] / len(whole[i]) for i, j in combinations(fused, 2)
    }
    return SharedSpace(places, crosses), said / voices[:, None]


def align_new_rows(
    space: SharedSpace,
    Xs: dict[int, Any],
    trust: Array,
    names: list[str],
    settings: Settings,
) -> Alignment:
    """Align new rows of some of the views, along the directions learned before."""
    template, *others = Xs
    n = Xs[template].shape[0]
    here = space.places[template].whitened(Xs[template])
    permutations, confidence = [np.arange(n)], [np.ones(n)]
    for i in others:
        there = space.places[i].whitened(Xs[i])
        first = template < i
        cross = space.crosses[(template, i) if first else (i, template)]
        matching = match_rows(cross if first else cross.T, here, there, settings)
        permutations.append(matching.partner)
        confidence.append(matching.confidence)
    shared = np.array([1.0, *(min(trust[template], trust[i]) for i in others)])
    return Alignment(0, permutations, confidence, shared, [names[i] for i in Xs])
