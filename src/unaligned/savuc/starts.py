"""Starts of the search: cross-correlations of two views from their geometry alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores, spawn
from unaligned.savuc.anchors import Anchors, Sketch, centres, sketch_rows
from unaligned.savuc.communality import by_communality
from unaligned.savuc.config import Settings
from unaligned.savuc.couplings import couple_centres, couple_rows
from unaligned.savuc.extremes import MOST_FACTORS, couple_extremes
from unaligned.savuc.geometry import Geometry, effective_directions, whiten

__all__ = [
    "Family",
    "SearchView",
    "families_of",
    "find_starts",
    "have_few_factors",
    "part_of",
    "prepare_view",
]

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

    @cached_property
    def weighted(self) -> "SearchView | None":
        """View whose columns count as far as others predict them, where that differs.

        It is the same for every other view that this one is searched with.
        """
        found = by_communality(self.geometry)
        if found is None:
            return None
        whitened = whiten(found.points, self.settings.ridge)
        return SearchView(found, whitened, self.settings, self.drawn)

    def full_rows(self) -> Array:
        """Rows before they were scaled to unit length; a group has no lengths."""
        geometry = self.geometry
        return geometry.at_full_length() if len(geometry.lengths) else geometry.points


Family = Callable[[np.random.RandomState], list[Array]]
"""Finds cross-correlations to start from."""


def prepare_view(
    geometry: Geometry, settings: Settings, rng: np.random.RandomState
) -> SearchView:
    """Whiten a view, and draw the rows of its sketch."""
    whitened = whiten(geometry.points, settings.ridge)
    drawn = np.sort(rng.permutation(len(whitened))[: settings.n_sketched])
    return SearchView(geometry, whitened, settings, drawn)


def part_of(view: SearchView, rows: Indices, rng: np.random.RandomState) -> SearchView:
    """Make a view of some rows of a view, on the scale of the whole."""
    geometry, settings = view.geometry, view.settings
    sketched = np.sort(rng.permutation(len(rows))[: settings.n_sketched])
    some = geometry._replace(
        points=geometry.points[rows], lengths=geometry.lengths[rows]
    )
    return SearchView(some, view.whitened[rows], settings, sketched)


def families_of(
    one: SearchView,
    other: SearchView,
    settings: Settings,
    few_factors: bool,
    rows: tuple[Anchors, Anchors] | None = None,
) -> list[Family]:
    """Ways to find starts: from centres, and from rows where few factors or rows are.

    The longest rows, which lead to some where factors are few, do not change with
    random numbers, and are paired once. ``rows`` are anchors, if there are few.
    """

    @cache
    def extremes() -> list[Array]:
        return from_extremes(one, other, settings)

    families: list[Family] = [lambda rng: from_centres(one, other, settings, rng)]
    if few_factors:
        families.append(lambda _: extremes())
    elif rows:
        families.append(
            lambda rng: crosses_of(couple_rows(*rows, settings, rng), *rows)
        )
    return families


def find_starts(
    families: list[Family], rng: np.random.RandomState, cores: Cores
) -> list[list[Array]]:
    """Cross-correlations to start from, by family."""
    draws = spawn(rng, len(families))
    found = cores.map(lambda family, draw: family(draw), families, draws)
    return [crosses for crosses in found if crosses]


def have_few_factors(one: SearchView, other: SearchView) -> bool:
    """Whether few directions hold the variance of both views.

    A group of views has no lengths to tell its rows apart by.
    """
    return all(
        len(view.geometry.lengths) > 0
        and effective_directions(view.geometry.points) <= MOST_FACTORS
        for view in (one, other)
    )


def from_centres(
    one: SearchView, other: SearchView, settings: Settings, rng: np.random.RandomState
) -> list[Array]:
    """Couple centres of k-means."""
    left, right = (
        centres(view.geometry, view.whitened, view.sketch, settings, rng)
        for view in (one, other)
    )
    return crosses_of(couple_centres(left, right, settings, rng), left, right)


def from_extremes(
    one: SearchView, other: SearchView, settings: Settings
) -> list[Array]:
    """Pair the longest rows."""
    shape = one.whitened.shape[1], other.whitened.shape[1]
    return couple_extremes((one.geometry, other.geometry), shape, settings)


def crosses_of(plans: Array, left: Anchors, right: Anchors) -> list[Array]:
    """Cross-correlations of anchors under couplings."""
    return [left.means.T @ plan @ right.means for plan in plans]
