"""The estimator SAVuC."""

import os
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from threadpoolctl import threadpool_limits

from unaligned.base import Iterate, ViewClusterer
from unaligned.checkpoints import CHECKPOINT, Milestone
from unaligned.deadline import NEVER, Deadline
from unaligned.known_pairs import KnownPairs
from unaligned.new_rows import NewRowsMixin, SharedSpaceMixin
from unaligned.parameters import COMMON, INT_OR_AUTO, POSITIVE
from unaligned.partitions.labeller import fit_labeller
from unaligned.progress import say
from unaligned.savuc.align import align_steps, memory_need
from unaligned.savuc.config import EFFORTS, Settings, settings_of
from unaligned.savuc.consensus import cluster_view
from unaligned.savuc.growth import Problem
from unaligned.savuc.joint_space import place_rows
from unaligned.savuc.new_rows import NewRowsOfViewsMixin
from unaligned.savuc.outcome import TIME_FOR, Outcome, label_aligned
from unaligned.savuc.shapes import (
    FITTED,
    STATE,
    check_links,
    check_places,
    shapes_of_bridge,
    shapes_of_geometries,
    shapes_of_space,
)
from unaligned.views import Views

__all__ = ["SAVuC"]

Labels = NDArray[np.intp]


class SAVuC(NewRowsOfViewsMixin, SharedSpaceMixin, NewRowsMixin, ViewClusterer):
    """Structure-first view-unaligned clustering: align for real, or say that it cannot.

    Finds which rows of the views belong together (`unaligned.align`), fuses partitions
    of the views that can be trusted into one, chosen by how well every view predicts
    it, and labels every row of every view. Where pairs of rows are known, but the other
    rows cannot be matched, a bridge learned from the pairs gives the clusters of all
    views common names: the verdict is "classes". A view that nothing links is labelled
    from its own structure alone: its trust is below 0.5, it is not in
    ``fused_views_``, and its clusters have nothing to do with those of the others.
    Where views belong together, but not with the template, they are labelled together:
    ``alignment_.others`` says which.

    Parameters
    ----------
    n_clusters : int or "auto", default=10
        "auto": see `unaligned.selection.select_n_clusters`.
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How hard to search for the correspondence.
    time_limit : float, default=None
        Seconds that a fit may take. Half of them are for the search for the
        correspondence, and views that it did not come to are not matched; then fewer
        partitions are made of each view, where time is short. The least that is done
        for a view takes up to a tenth of a second.
    checkpoint : path, default=None
        File that keeps a fit after every pair of views that was tried. The same fit
        goes on from it after a kill, to the same result; when done, it removes the
        file.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Whether to print which views are searched, the best trust so far and the time
        left: a line at least every two seconds.

    Attributes
    ----------
    labels_ : ndarray
        Cluster of every row of the first view.
    view_labels_ : list of ndarray
        Cluster of every row of each view, in that view's own row order.
    fused_views_ : tuple of int
        Views whose clusters have common names; just the template where none is trusted.
    single_view_labels_ : list of ndarray
        Clusters of each view from its own structure alone: what fusion has to beat.
    template_ : int
        The view that the others were aligned to; where no rows are matched, the one
        whose clusters are predicted best from it.
    best_view_ : int
        The view whose labels to take where those of one view are wanted: that whose
        clusters are predicted best, from it alone or from the views it is matched with
        together. The template where no rows are matched, or where known pairs link it
        with others.
    alignment_ : Alignment
        Row correspondence, verdicts, trust, and known pairs that the data contradict.
    embedding_ : ndarray of shape (rows of the template, n_directions)
        The template's rows in the space that the fused views share.
    n_clusters_ : int
        Number of clusters that was asked for or chosen.
    clusters_evidence_ : ClusterEvidence or None
        What an automatic choice rests on: interval, alternatives, and whether the
        evidence is flat. None where the number was given.
    n_views_, n_features_per_view_, view_names_in_, n_features_in_
        What was fitted.

    See Also
    --------
    unaligned.align : The correspondence alone.
    unaligned.PAVuC : The paper's method.

    Notes
    -----
    Views may have different numbers of rows. Rows without a partner are labelled by
    what the labelled rows of their own view look like, and so are new rows in
    ``predict``.

    Examples
    --------
    >>> from unaligned import SAVuC
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> views = [digits.Xs[0][:300], digits.Xs[3][:300]]
    >>> data = unalign(views, random_state=0)
    >>> SAVuC(10, effort="quick", random_state=0).fit(data.Xs).fused_views_
    (0, 1)
    """

    _accepts_unequal_rows = True
    _tests_matches = True
    _fitted_shapes: ClassVar[dict[str, Any]] = FITTED
    _state_shapes: ClassVar[dict[str, Any]] = STATE
    _single_view_labels: list[Labels] | None
    _bridged: tuple[int, ...]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: COMMON[name] for name in COMMON if name != "n_init"},
        "n_clusters": INT_OR_AUTO,
        "effort": [StrOptions(set(EFFORTS)), Settings],
        "time_limit": [POSITIVE, None],
        "checkpoint": CHECKPOINT,
    }

    def __init__(
        self,
        n_clusters: int | str = 10,
        *,
        effort: str | Settings = "normal",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.effort = effort
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        return memory_need(views)

    def _set_out(self, *arguments: Any) -> Any:
        self._deadline = Deadline(self.time_limit)
        return super()._set_out(*arguments)

    def _count_clusters(
        self, views: Views, rng: np.random.RandomState, deadline: Deadline = NEVER
    ) -> tuple[int, Any]:
        until = self._deadline.at(TIME_FOR["number of clusters"])
        return super()._count_clusters(views, rng, until)

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate | Milestone]:
        return self._solve(views, pairs, rng)

    def _go_on(
        self, views: Views, pairs: KnownPairs, state: dict[str, Any], n_iter: int
    ) -> Iterator[Iterate | Milestone]:
        return self._solve(views, pairs, state["rng"], state)

    def _plain_state(self, state: dict[str, Any]) -> dict[str, Any]:
        return state  # of a milestone, which is plain

    def _solve(
        self,
        views: Views,
        pairs: KnownPairs,
        rng: np.random.RandomState,
        reached: dict[str, Any] | None = None,
    ) -> Iterator[Iterate | Milestone]:
        settings, deadline = settings_of(self.effort), self.__dict__.pop("_deadline")
        # What is drawn for labels does not hang on what the search has drawn.
        draw = deepcopy(rng if reached is None else reached["start"])
        until = deadline.at(TIME_FOR["alignment"])
        problem = Problem(views, pairs, settings, until, self.verbose)
        alignment, geometries = yield from align_steps(problem, rng, reached)
        if self.verbose:
            say(f"[SAVuC] clustering {len(views)} views")
        outcome = label_aligned(
            problem, alignment, geometries, self.n_clusters_, (rng, draw), deadline
        )
        yield Iterate(outcome, None, converged=True)

    @threadpool_limits.wrap(limits=1)
    def _describe(
        self, state: Outcome, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        view_labels, alignment, common, best_view = state.labelled
        return {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": alignment.template,
            "alignment_": alignment,
            "fused_views_": common,
            "best_view_": best_view,
            "embedding_": state.embedding,
            "_space": state.space,
            "_bridge": state.bridge,
            "_bridged": state.bridged,
            "_geometries": state.geometries,
            "_labellers": [
                fit_labeller(X, labels)
                for X, labels in zip(views.arrays, view_labels, strict=True)
            ],
            "_views": views.arrays,
            "_single_view_labels": None,
            "_seed": seed,
        }

    def _restore_state(self, state: dict[str, Any]) -> None:
        super()._restore_state(state)
        check_places(self._space, self.n_views_)
        if "template_" in state:  # models saved before have no best view
            self.best_view_ = state.get("best_view_", state["template_"])
        # Models saved before there was a bridge have none.
        if "_bridge" not in state:
            self._bridge, self._bridged = None, ()
        elif self._bridge is not None:
            check_links(self._bridge)

    def _shapes(self) -> dict[str, Any]:
        shapes = {**super()._shapes(), "_space": shapes_of_space(self._space)}
        if "_geometries" in vars(self):  # which models saved before do not have
            shapes["_geometries"] = shapes_of_geometries(range(self.n_views_))
        if self._bridge is not None:
            shapes["_bridge"] = shapes_of_bridge(self._bridge)
        return shapes

    def _predict_rows(self, X: Any, view: int) -> Labels:
        return np.asarray(self._labellers[view].predict(X), dtype=np.intp)

    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        if self._bridge is not None and view in self._bridged:
            return place_rows(self._bridge, self._geometries[view].read(X), view)
        self._check_matched(view)
        return self._space.places[view].embed(X)

    @property
    def single_view_labels_(self) -> list[Labels]:
        """Clusters of each view from its own structure, computed when asked for."""
        if self._single_view_labels is None:
            self._single_view_labels = [
                cluster_view(X, self.n_clusters_, np.random.RandomState(self._seed))[0]
                for X in self._views
            ]
        return self._single_view_labels
