"""Base of the methods that take row r of all views for one object."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import count
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from unaligned.base import Iterate, ViewClusterer
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import COMMON
from unaligned.partitions.kmeans import cluster_rows
from unaligned.untested import untested_alignment
from unaligned.views import Views, check_reference_view

__all__ = ["PAIRED", "PairedRowsClusterer", "until_settled"]

# Parameters of every such method.
PAIRED: dict[str, list[Any]] = {
    **COMMON,
    "reference_view": [Interval(Integral, 0, None, closed="left")],
}


def until_settled(
    step: Callable[[Any], Any], state: Any, tol: float, first: int
) -> Iterator[Iterate]:
    """Repeat a step until the objective changes by less than a share of itself.

    Parameters
    ----------
    step : callable
        Gives the next state of a state; states have an ``objective``.
    state
        Where to start.
    tol : float
        The share.
    first : int
        The first iteration after which the change is looked at.
    """
    for iteration in count(1):
        before, state = state.objective, step(state)
        change = abs(before - state.objective)
        converged = iteration >= first and change <= tol * abs(before)
        yield Iterate(state, state.objective, converged)


class PairedRowsClusterer(ViewClusterer):
    """Cluster views as if row r of all of them were one object, whether or not it is.

    Rows whose partners are known (``aligned=``) are brought together first; all others
    meet whoever stands in the same place. Labels are handed back to every view along
    the same lines, and ``alignment_`` says which pairs were merely assumed: their
    confidence is 0. ``template_`` is ``reference_view``, the view whose row order such
    a method is scored in.

    A method supplies `_iterate_rows`, its solver for paired rows, and `_embed`, or its
    own `_label_rows`.
    """

    _n_threads = 1

    @abstractmethod
    def _iterate_rows(
        self, Xs: list[Any], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        """Run the solver on views whose rows stand side by side."""

    def _embed(self, state: Any) -> tuple[NDArray[Any], dict[str, Any]]:
        """Points to cluster the rows of a state by, and further fitted attributes."""
        raise NotImplementedError

    def _label_rows(
        self, state: Any, seed: int
    ) -> tuple[NDArray[np.intp], dict[str, Any]]:
        """Labels of the rows of a state, and further fitted attributes."""
        points, attributes = self._embed(state)
        labels, _ = cluster_rows(points, self.n_clusters, n_init=self.n_init, seed=seed)
        return labels, attributes | {"embedding_": points}

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        check_reference_view(self.reference_view, views)
        orders = self._side_by_side(views, pairs)
        Xs = [X[rows] for X, rows in zip(views.arrays, orders, strict=True)]
        return self._iterate_rows(Xs, rng)

    def _describe(
        self, state: Any, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        labels, attributes = self._label_rows(state, seed)
        orders = self._side_by_side(views, pairs)
        view_labels = [labels[np.argsort(rows)] for rows in orders]
        t, n = self.reference_view, views.n_rows[0]
        known = [pairs.partnered(i, t) for i in range(len(views))]
        confidence = [np.isin(np.arange(n), rows).astype(np.float64) for rows in known]
        return attributes | {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": t,
            "alignment_": untested_alignment(t, orders, confidence, views, pairs),
        }

    def _side_by_side(self, views: Views, pairs: KnownPairs) -> list[NDArray[np.intp]]:
        """Row of each view beside every row of the reference view."""
        rows = np.arange(views.n_rows[0])
        return [pairs.honoured(rows, i, self.reference_view) for i in range(len(views))]
