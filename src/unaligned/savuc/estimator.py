"""The estimator SAVuC."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from unaligned.alignment import TRUSTED, Alignment
from unaligned.base import Iterate, NewRowsMixin, SharedSpaceMixin, ViewClusterer
from unaligned.checkpoints import CHECKPOINT, Milestone
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import COMMON, INT_OR_AUTO, POSITIVE
from unaligned.partitions.labeller import fit_labeller
from unaligned.savuc.align import align_steps, memory_need, only_known, rebase
from unaligned.savuc.config import EFFORTS, Settings, settings_of
from unaligned.savuc.consensus import cluster_view, fuse_views
from unaligned.savuc.growth import Problem
from unaligned.savuc.shared_space import (
    Place,
    SharedSpace,
    align_new_rows,
    find_space,
)
from unaligned.views import Views, check_new_rows, label

__all__ = ["SAVuC"]

Labels = NDArray[np.intp]

MATCHED_OBJECTS = 0.3  # mean confidence of matches of one object, not just one class
DOUBTFUL = 0.1  # confidence below which a match is wrong more often than right
SURE = 0.95  # trust above which all rows have partners, and any template will do
ENOUGH_PER_CLUSTER = 10  # rows that are in all views, to cluster views together


class State(NamedTuple):
    """What a fit finds."""

    alignment: Alignment
    view_labels: list[Labels]
    fused: tuple[int, ...]
    """Views whose labels mean the same: those aligned with the template, and it."""
    space: SharedSpace
    embedding: NDArray[np.float32]


class SAVuC(SharedSpaceMixin, NewRowsMixin, ViewClusterer):
    """Structure-first view-unaligned clustering: align for real, or say that it cannot.

    Finds which rows of the views belong together (`unaligned.align`), fuses partitions
    of the views that can be trusted into one, chosen by how well every view predicts
    it, and labels every row of every view. A view that cannot be aligned is labelled
    from its own structure alone: its trust is below 0.5, it is not in
    ``fused_views_``, and its clusters have nothing to do with those of the others.
    Where views belong together, but not with the template, they are labelled together:
    ``alignment_.others`` says which.

    Parameters
    ----------
    n_clusters : int or "auto", default=10
        "auto": see `unaligned.selection.select_n_clusters`.
    effort : {"quick", "normal", "thorough"}, default="normal"
        How hard to search for the correspondence.
    time_limit : float, default=None
        Seconds after which no further pair of views is tried.
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
        The view that the others were aligned to; where none can be, or only what was
        known, the one whose own clusters are predicted best from it, agree best
        between recipes and keep neighbours together best.
    alignment_ : Alignment
        Row correspondence, confidence and trust.
    embedding_ : ndarray of shape (rows of the template, n_directions)
        The template's rows in the space that the fused views share.
    n_clusters_ : int
        Number of clusters that was asked for or chosen.
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
    _single_view_labels: list[Labels] | None

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
        settings = settings_of(self.effort)
        problem = Problem(views, pairs, settings, self.time_limit, self.verbose)
        alignment, geometries = yield from align_steps(problem, rng, reached)
        alignment = self._choose_template(alignment, views, pairs, rng)
        groups = [alignment, *alignment.others]
        matched = [matched_objects(group, self.n_clusters_) for group in groups]
        in_common = {i for members in matched if len(members) > 1 for i in members}
        own = {
            i: cluster_view(views.arrays[i], self.n_clusters_, rng)
            for i in range(len(views))
            if i not in in_common
        }
        labels = {i: found for i, (found, _) in own.items()}
        for group, members in zip(groups, matched, strict=True):
            if len(members) > 1:
                labels |= label_together(views, group, members, self.n_clusters_, rng)
            for i in set(group.trusted()) - set(members):
                labels[i] = rename(labels[i], labels[group.template], group, i)
        fused = tuple(alignment.trusted())
        if len(fused) == 1:
            best = max(own, key=lambda i: own[i][1])
            # A refused view is doubted as much as the template it was tried with.
            doubts = np.where(alignment.trust < TRUSTED, alignment.trust, 0)
            doubts[alignment.template] = doubts.max()
            alignment = only_known(best, doubts, views, pairs)
            fused = (best,)
        view_labels = [labels[i] for i in range(len(views))]
        space, embedding = find_space(geometries, alignment, fused)
        state = State(alignment, view_labels, fused, space, embedding)
        yield Iterate(state, None, converged=True)

    def _choose_template(
        self,
        alignment: Alignment,
        views: Views,
        pairs: KnownPairs,
        rng: np.random.RandomState,
    ) -> Alignment:
        """Tell the alignment through the clearest view, where it matters.

        Where half of the pairs are known and the others not to be found, half of the
        rows are labelled by what their own view shows: the template should be the view
        that shows most.
        """
        fused = alignment.trusted()
        if len(fused) == 1 or alignment.trust[fused].min() > SURE:
            return alignment
        clear = {
            i: cluster_view(views.arrays[i], self.n_clusters_, rng)[1] for i in fused
        }
        best = max(clear, key=lambda i: clear[i])
        if best == alignment.template:
            return alignment
        return rebase(best, alignment, views, pairs)

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        return {
            "labels_": state.view_labels[0],
            "view_labels_": state.view_labels,
            "template_": state.alignment.template,
            "alignment_": state.alignment,
            "fused_views_": state.fused,
            "embedding_": state.embedding,
            "_space": state.space,
            "_labellers": [
                fit_labeller(X, labels)
                for X, labels in zip(views.arrays, state.view_labels, strict=True)
            ],
            "_views": views.arrays,
            "_single_view_labels": None,
            "_seed": seed,
        }

    def _predict_rows(self, X: Any, view: int) -> Labels:
        return np.asarray(self._labellers[view].predict(X), dtype=np.intp)

    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        return self._place(view).embed(X)

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
                f"{{view: X}}, got {type(Xs).__name__} of length {len(Xs)}."
            )
        rows = {}
        for view, X in Xs.items():
            X, index = check_new_rows(X, estimator=self, view=view)
            self._place(index)
            rows[index] = X
        trust, names = self.alignment_.trust, self.view_names_in_
        return align_new_rows(self._space, rows, trust, names)

    def _place(self, view: int) -> Place:
        if view not in self._space.places:
            name, trust = self.view_names_in_[view], self.alignment_.trust[view]
            fused = ", ".join(self.view_names_in_[i] for i in self.fused_views_)
            raise ValueError(
                f"{label(name)} could not be aligned (trust "
                f"{trust:.2f}): it "
                f"has no place in the space that these views share: {fused}."
            )
        return self._space.places[view]

    @property
    def single_view_labels_(self) -> list[Labels]:
        """Clusters of each view from its own structure, computed when asked for."""
        if self._single_view_labels is None:
            self._single_view_labels = [
                cluster_view(X, self.n_clusters_, np.random.RandomState(self._seed))[0]
                for X in self._views
            ]
        return self._single_view_labels


def matched_objects(alignment: Alignment, n_clusters: int) -> tuple[int, ...]:
    """Find the views whose rows are matched object by object, the template among them.

    In others only the classes agree. Side by side with a stranger of its class a row
    is described worse than alone. Nor does a view help that has few of the rows: those
    that all views have would be too few to tell clusters by.
    """
    partner, template = alignment.permutations, alignment.template
    found, complete = {template}, has_partner(alignment, template)
    most_rows_first = sorted(
        alignment.trusted(), key=lambda i: -np.count_nonzero(partner[i] >= 0)
    )
    for i in most_rows_first:
        left = complete & has_partner(alignment, i)
        enough = min(complete.sum() / 2, ENOUGH_PER_CLUSTER * n_clusters)
        sure = alignment.confidence[i][partner[i] >= 0].mean() > MATCHED_OBJECTS
        if sure and left.sum() >= max(enough, 2):
            found.add(i)
            complete = left
    return tuple(sorted(found))


def has_partner(alignment: Alignment, view: int) -> NDArray[np.bool_]:
    """Whether a row of the template has one in the view that is worth listening to."""
    there = alignment.permutations[view] >= 0
    return there & (alignment.confidence[view] >= DOUBTFUL)


def rename(
    labels: Labels, template_labels: Labels, alignment: Alignment, view: int
) -> Labels:
    """Give the clusters of a view the names that most of its rows' partners have."""
    rows = alignment.permutations[view]
    matched = np.flatnonzero(rows >= 0)
    n_names = int(max(labels.max(), template_labels.max())) + 1
    counts = np.zeros((n_names, n_names))
    np.add.at(counts, (labels[rows[matched]], template_labels[matched]), 1)
    names = linear_sum_assignment(-counts)[1]
    return np.asarray(names[labels], dtype=np.intp)


def label_together(
    views: Views,
    alignment: Alignment,
    fused: tuple[int, ...],
    n_clusters: int,
    rng: np.random.RandomState,
) -> dict[int, Labels]:
    """Label fused views: in common where rows are matched, by likeness elsewhere."""
    complete = np.all([has_partner(alignment, i) for i in fused], axis=0)
    rows = [alignment.permutations[i][complete] for i in fused]
    arrays = [views.arrays[i] for i in fused]
    together = fuse_views(arrays, n_clusters, rng, rows)
    labels = {}
    for i, X, matched in zip(fused, arrays, rows, strict=True):
        found = np.empty(X.shape[0], dtype=np.intp)
        found[matched] = together
        rest = np.setdiff1d(np.arange(len(found)), matched)
        if rest.size:
            found[rest] = fit_labeller(X[matched], together).predict(X[rest])
        labels[i] = found
    return labels
