"""The estimator SAVuC."""

import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from unaligned.alignment import Alignment
from unaligned.base import Iterate, NewRowsMixin, SharedSpaceMixin, ViewClusterer
from unaligned.checkpoints import CHECKPOINT, Milestone
from unaligned.deadline import NEVER, Deadline, TimeIsUp
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import COMMON, INT_OR_AUTO, POSITIVE
from unaligned.partitions.labeller import fit_labeller
from unaligned.savuc.align import align_steps, memory_need
from unaligned.savuc.bridge import Bridge, fit_bridge
from unaligned.savuc.config import EFFORTS, Settings, settings_of
from unaligned.savuc.consensus import cluster_view
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.growth import Problem
from unaligned.savuc.joint_space import joint_coordinates, place_rows
from unaligned.savuc.labels import (
    Labelled,
    bridged_groups,
    given_suspects,
    label_views,
)
from unaligned.savuc.shapes import (
    FITTED,
    STATE,
    check_links,
    shapes_of_bridge,
    shapes_of_geometries,
    shapes_of_space,
)
from unaligned.savuc.shared_space import SharedSpace, align_new_rows, find_space
from unaligned.savuc.translation import fit_translation
from unaligned.views import Views, check_new_rows, label

__all__ = ["SAVuC"]

# Share of a time limit after which each stage ends. The last ones are cheap, and are
# what a result cannot do without.
TIME_FOR = {"number of clusters": 0.2, "alignment": 0.6, "bridge": 0.7, "labels": 0.9}

Labels = NDArray[np.intp]


class State(NamedTuple):
    """What a fit finds."""

    labelled: Labelled
    space: SharedSpace
    embedding: NDArray[np.float32]
    bridge: Bridge | None
    """Regressions between views, where pairs are known."""
    bridged: tuple[int, ...]
    """Views that are placed by the bridge, not by matched rows."""
    geometries: list[Geometry]


class SAVuC(SharedSpaceMixin, NewRowsMixin, ViewClusterer):
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
        Whether to print a line per pair of views.

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
        The view that the others were aligned to; where nothing corresponds, the one
        whose own clusters are predicted best from it.
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
    _bridge: Bridge | None
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
        state = self._label(problem, alignment, geometries, rng, draw, deadline)
        yield Iterate(state, None, converged=True)

    @threadpool_limits.wrap(limits=1)
    def _label(
        self,
        problem: Problem,
        alignment: Alignment,
        geometries: list[Geometry],
        rng: np.random.RandomState,
        draw: np.random.RandomState,
        deadline: Deadline,
    ) -> State:
        """Label aligned views, and find the space that they share."""
        views, pairs, bridge = problem.views, problem.pairs, None
        label_all = partial(label_views, views, pairs, settings=problem.settings)
        wanted, until = self.n_clusters_, deadline.at(TIME_FOR["labels"])
        try:
            if any(ids.max(initial=-1) >= 0 for ids in pairs.identities):
                before = deadline.at(TIME_FOR["bridge"])
                known = pairs.with_found(alignment)
                bridge = fit_bridge(
                    geometries, known, problem.settings, rng, deadline=before
                )
                alignment = replace(alignment, suspects=given_suspects(bridge, pairs))
            labelled = label_all(alignment, bridge, wanted, draw, deadline=until)
        except TimeIsUp:  # for a bridge: views that are not matched stand alone
            bridge = None
            labelled = label_all(alignment, None, wanted, draw, deadline=until)
        alignment = labelled.alignment
        matched, template = tuple(alignment.matched()), alignment.template
        ridge = problem.settings.ridge
        space, embedding = find_space(geometries, alignment, matched, ridge)
        bridged = tuple(i for group in bridged_groups(alignment, bridge) for i in group)
        if bridge is not None and template in bridged:
            embedding = joint_coordinates(bridge)[template]
        bare = [geometry.without_rows() for geometry in geometries]
        return State(labelled, space, embedding, bridge, bridged, bare)

    @threadpool_limits.wrap(limits=1)
    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        view_labels, alignment, common = state.labelled
        return {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": alignment.template,
            "alignment_": alignment,
            "fused_views_": common,
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

    def translate(
        self,
        X: Any,
        from_view: int | str,
        to_view: int | str,
        *,
        return_std: bool = False,
    ) -> Any:
        """Estimate rows of one view in the columns of another.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features of from_view)
        from_view, to_view : int or str
            Two views that known pairs link, or whose rows are matched.
        return_std : bool, default=False
            Whether to give standard errors, too.

        Returns
        -------
        estimate : ndarray of shape (n_rows, n_features of to_view)
        error : ndarray of the same shape
            Root of the expected squared error of each entry; if ``return_std``.
        """
        check_is_fitted(self)
        X, at = check_new_rows(X, estimator=self, view=from_view)
        to = self.alignment_.index_of(to_view)
        bridge = self._bridge if self._bridge is not None else self._matched_bridge()
        if at == to or not bridge.linked(at, to):
            names = [label(self.view_names_in_[i]) for i in (at, to)]
            raise ValueError(
                f"Nothing leads from {names[0]} to {names[1]}: no pair of their rows "
                "is known or was matched. Give some pairs to fit(aligned=...)."
            )
        translation = fit_translation(bridge, self._views[to], at, to)
        features = bridge.read(self._geometries[at].read(X), at)
        estimate, error = translation.estimate(features)
        return (estimate, error) if return_std else estimate

    def _matched_bridge(self) -> Bridge:
        """Learn a bridge from matches alone."""
        if "_geometries" not in vars(self):
            raise ValueError(
                "This model was saved by an earlier version, which translated no rows. "
                "Fit it again."
            )
        nothing = [np.full(X.shape[0], -1, dtype=np.intp) for X in self._views]
        pairs = KnownPairs(nothing).with_found(self.alignment_)
        geometries = [
            geometry._replace(points=geometry.read(X))
            for geometry, X in zip(self._geometries, self._views, strict=True)
        ]
        settings, rng = settings_of(self.effort), np.random.RandomState(self._seed)
        return fit_bridge(geometries, pairs, settings, rng)

    def align_new(self, Xs: Mapping[int | str, Any]) -> Alignment:
        """Align new rows of fused views along the directions learned in ``fit``.

        Parameters
        ----------
        Xs : dict of array-likes or sparse matrices
            New rows by view, ``{view: X}`` with views by index or by name: two or
            more. They may have different numbers of rows.

        Returns
        -------
        Alignment
            Of those views only, in the order given; the first is the template.
        """
        check_is_fitted(self)
        if not isinstance(Xs, Mapping) or len(Xs) < 2:
            raise ValueError(
                "align_new needs new rows of two or more views as a dict "
                f"{{view: X}}, got {type(Xs).__name__}."
            )
        rows = {}
        for view, X in Xs.items():
            X, index = check_new_rows(X, estimator=self, view=view)
            self._check_matched(index)
            rows[index] = X
        trust, names = self.alignment_.trust, self.view_names_in_
        settings = settings_of(self.effort)
        return align_new_rows(self._space, rows, trust, names, settings)

    def _check_matched(self, view: int) -> None:
        """Refuse a view whose rows could not be matched."""
        if view not in self._space.places:
            name, trust = self.view_names_in_[view], self.alignment_.trust[view]
            matched = ", ".join(self.view_names_in_[i] for i in self._space.places)
            raise ValueError(
                f"{label(name)} could not be aligned (trust {trust:.2f}): it has no "
                f"place in the space that these views share: {matched}."
            )

    @property
    def single_view_labels_(self) -> list[Labels]:
        """Clusters of each view from its own structure, computed when asked for."""
        if self._single_view_labels is None:
            self._single_view_labels = [
                cluster_view(X, self.n_clusters_, np.random.RandomState(self._seed))[0]
                for X in self._views
            ]
        return self._single_view_labels
