"""Base of the methods that bring every view into the space of a reference view.

They were made for two views. With more, each is brought to the reference view by
itself. They end with rows in one space; clusters of all these rows together, by
k-means, are an addition of ours.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from unaligned.base import Iterate, ViewClusterer
from unaligned.known_pairs import KnownPairs
from unaligned.new_rows import NewRowsMixin, SharedSpaceMixin
from unaligned.partitions.kmeans import cluster_rows
from unaligned.untested import untested_alignment
from unaligned.views import Views, check_reference_view

__all__ = ["Brought", "Known", "ReferenceSpaceClusterer", "dense", "match_others"]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Known = tuple[Indices, Indices]


class Brought(NamedTuple):
    """A view in the space of the reference view."""

    places: Array
    partner: Indices
    """Row of the view for every row of the reference view; -1: none."""
    confidence: NDArray[np.float64]
    way: dict[str, Any]
    """What leads there, by the name of the fitted attribute that lists it."""


def dense(X: Any) -> Array:
    """Give a view as an array of float64."""
    values = X.toarray() if sparse.issparse(X) else X
    return np.asarray(values, dtype=np.float64)


def match_others(
    n_reference: int,
    n_view: int,
    known: Known,
    match: Callable[[Indices, Indices], tuple[Indices, Indices]],
) -> Indices:
    """Match the rows that have no known partner; return a row per reference row.

    Parameters
    ----------
    n_reference, n_view : int
        Rows of both views.
    known : tuple of ndarray of int
        Rows of the reference view, and their rows of the view.
    match : callable
        Given the free rows of both, finds matched positions among them.
    """
    of_reference, of_view = known
    partner = np.full(n_reference, -1, dtype=np.intp)
    partner[of_reference] = of_view
    free = np.delete(np.arange(n_reference), of_reference)
    free_of_view = np.delete(np.arange(n_view), of_view)
    if free.size and free_of_view.size:
        at, to = match(free, free_of_view)
        partner[free[at]] = free_of_view[to]
    return partner


class ReferenceSpaceClusterer(SharedSpaceMixin, NewRowsMixin, ViewClusterer):
    """Bring every view to a reference view, and cluster all rows there.

    A method supplies `_read`, `_bring` and `_place_rows`. ``template_`` is
    ``reference_view``.
    """

    _accepts_unequal_rows = True
    _n_threads = 1  # rounding of products must not depend on the number of threads

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "places_": ["n p"],
        "cluster_centers_": "k p",
    }

    places_: list[NDArray[np.float32]]

    @abstractmethod
    def _read(self, X: Any) -> Brought:
        """Give a view in its own space, where it is the reference view."""

    @abstractmethod
    def _bring(
        self, reference: Any, X: Any, known: Known, rng: np.random.RandomState
    ) -> Brought:
        """Bring a view into the space of the reference view."""

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        check_reference_view(self.reference_view, views)
        t = self.reference_view
        brought = [
            self._read(X)
            if i == t
            else self._bring(views.arrays[t], X, pairs.between(t, i), rng)
            for i, X in enumerate(views.arrays)
        ]
        yield Iterate(brought, None, converged=True)

    def _describe(
        self, state: list[Brought], views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        places = [view.places.astype(np.float32) for view in state]
        labels, centers = cluster_rows(
            np.vstack(places), self.n_clusters, n_init=self.n_init, seed=seed
        )
        view_labels = np.split(labels, np.cumsum(views.n_rows)[:-1])
        partners = [view.partner for view in state]
        confidence = [view.confidence for view in state]
        t = self.reference_view
        return {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": t,
            "alignment_": untested_alignment(t, partners, confidence, views, pairs),
            "places_": places,
            "cluster_centers_": centers,
            **{name: [view.way[name] for view in state] for name in state[0].way},
        }

    def _predict_rows(self, X: Any, view: int) -> NDArray[np.intp]:
        places = self._place_rows(X, view)
        nearest = pairwise_distances_argmin(places, self.cluster_centers_)
        return np.asarray(nearest, dtype=np.intp)
