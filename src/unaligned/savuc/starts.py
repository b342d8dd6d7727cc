"""Starts of the search: cross-correlations of two views from their geometry alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores, spawn
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.anchors import Anchors, Sketch, centres, single_rows, sketch_rows
from unaligned.savuc.config import Settings
from unaligned.savuc.couplings import couple_centres, couple_rows
from unaligned.savuc.extremes import couple_extremes
from unaligned.savuc.geometry import Geometry, whiten
from unaligned.savuc.refine import correlate, join_rows, plan_rows

__all__ = ["SearchView", "are_narrow", "find_starts", "prepare_view"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class SearchView:
    """What the search uses of a view."""

    geometry: Geometry
    whitened: Array
    settings: Settings
    drawn: Indices
    """Rows of the sketch."""

    @cached_property
    def sketch(self) -> Sketch:
        """Made when it is first asked for: it costs most, and few may be needed."""
        return sketch_rows(self.geometry, self.drawn, self.settings)


Family = Callable[
    [SearchView, SearchView, Settings, np.random.RandomState], list[Array]
]


def prepare_view(
    geometry: Geometry, settings: Settings, rng: np.random.RandomState
) -> SearchView:
    """Whiten a view, and draw the rows of its sketch."""
    whitened = whiten(geometry.points, settings.ridge)
    drawn = np.sort(rng.permutation(len(whitened))[: settings.n_sketched])
    return SearchView(geometry, whitened, settings, drawn)


def find_starts(
    one: SearchView,
    other: SearchView,
    settings: Settings,
    rng: np.random.RandomState,
    cores: Cores,
) -> list[Array]:
    """Cross-correlations to start from, of all families that the views allow."""
    families: list[Family] = [from_signatures, from_centres]
    if max(len(one.whitened), len(other.whitened)) <= 2 * settings.n_singles:
        families.append(from_single_rows)
    if are_narrow(one, other, settings):
        families.append(from_extremes)

    def start(family: Family, rng: np.random.RandomState) -> list[Array]:
        return family(one, other, settings, rng)

    found = cores.map(start, families, spawn(rng, len(families)))
    return [cross for crosses in found for cross in crosses]


def are_narrow(one: SearchView, other: SearchView, settings: Settings) -> bool:
    """Whether both views have fewer directions than centres are computed in.

    A group of views has no lengths, and is wide enough.
    """
    return all(
        len(view.geometry.lengths) > 0 and view.whitened.shape[1] <= settings.n_leading
        for view in (one, other)
    )


def from_signatures(
    one: SearchView, other: SearchView, settings: Settings, rng: np.random.RandomState
) -> list[Array]:
    """Match sketched rows by their signatures."""
    _, temperature, _ = settings.schedule[-1]
    A, B = (unit_rows(view.sketch.signatures) for view in (one, other))
    left, right = (view.whitened[view.sketch.rows] for view in (one, other))
    plan = plan_rows(A, B, temperature, 20, settings)
    return [correlate(plan, join_rows(left, right))]


def from_centres(
    one: SearchView, other: SearchView, settings: Settings, rng: np.random.RandomState
) -> list[Array]:
    """Couple centres of k-means."""
    left, right = (
        centres(view.geometry, view.whitened, view.sketch, settings, rng)
        for view in (one, other)
    )
    return crosses_of(couple_centres(left, right, settings, rng), left, right)


def from_single_rows(
    one: SearchView, other: SearchView, settings: Settings, rng: np.random.RandomState
) -> list[Array]:
    """Couple single rows."""
    left, right = (
        single_rows(view.whitened, view.sketch, settings, rng) for view in (one, other)
    )
    return crosses_of(couple_rows(left, right, settings), left, right)


def from_extremes(
    one: SearchView, other: SearchView, settings: Settings, rng: np.random.RandomState
) -> list[Array]:
    """Assign the longest rows."""
    geometries = one.geometry, other.geometry
    return couple_extremes(geometries, (one.whitened, other.whitened), settings)


def crosses_of(plans: Array, left: Anchors, right: Anchors) -> list[Array]:
    """Cross-correlations of anchors under couplings."""
    return [left.means.T @ plan @ right.means for plan in plans]
