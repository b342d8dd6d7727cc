"""The attack: rows of two tables matched by their geometry alone, tested or not.

It is the search of `unaligned.align`, but matches that fail the test are counted, too,
because an attacker may use them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores
from unaligned.savuc.assign import match_views
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.search import PairSearch, search_pair
from unaligned.savuc.starts import SearchView, prepare_view

__all__ = ["Attack", "Matches", "prepare_attack"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class Matches(NamedTuple):
    """Rows of the second table that rows of the first were matched to."""

    partner: Indices
    """-1: none."""
    confidence: Array

    @property
    def pairs(self) -> Indices:
        """Matched rows of both tables, in two columns."""
        rows = np.flatnonzero(self.partner >= 0)
        return np.column_stack([rows, self.partner[rows]])


class Attack(NamedTuple):
    """Two tables, prepared for matching."""

    views: tuple[SearchView, SearchView]
    settings: Settings

    def search(self, rng: np.random.RandomState) -> tuple[Matches, float]:
        """Match rows without known pairs; also return the trust in the result."""
        cores = Cores()
        with cores.busy():
            found = search_pair(*self.views, self.settings, rng, cores)
            return self._matches(found.cross), found.trust

    def from_truth(self, pairs: Indices, rng: np.random.RandomState) -> Matches:
        """Match rows with a start from the true pairs, which are not kept."""
        one, other = (view.whitened for view in self.views)
        start = one[pairs[:, 0]].T @ other[pairs[:, 1]] / len(pairs)
        cores = Cores()
        with cores.busy():
            search = PairSearch(*self.views, self.settings, cores)
            return self._matches(search.refine(start, rng)[0])

    def _matches(self, cross: Array) -> Matches:
        return Matches(*match_views(cross, *self.views, self.settings))


def prepare_attack(
    original: Any, released: Any, settings: Settings, rng: np.random.RandomState
) -> Attack:
    """Read the geometry of two matrices of numbers."""
    first, second = (
        prepare_view(read_geometry(X, settings.n_directions, rng), settings, rng)
        for X in (original, released)
    )
    return Attack((first, second), settings)
