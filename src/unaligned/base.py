"""ViewClusterer: what every estimator of the library does the same way."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from unaligned.alignment import Alignment
from unaligned.checkpoints import Course, FitCheckpoint, Milestone, digest
from unaligned.deadline import NEVER, Deadline
from unaligned.kernels.memory import ask_for_memory
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.persistence.saving import SavingMixin
from unaligned.progress import CallbackSupportMixin, FitProgress, Heartbeat
from unaligned.untested import with_verdicts
from unaligned.views import Views, check_n_clusters, check_views

__all__ = ["Iterate", "ViewClusterer"]


class Iterate(NamedTuple):
    """One step of a solver, as the fit loop sees it."""

    state: Any
    objective: float | None
    """None where the method has no objective."""
    converged: bool


class ViewClusterer(
    CallbackSupportMixin, SavingMixin, ClusterMixin, BaseEstimator, ABC
):
    """Base of all estimators: check the views, run the solver, keep what it found.

    A method supplies two things: `_iterate`, its solver as a generator of iterates, and
    `_describe`, which turns a state into fitted attributes. Its constructor has at
    least the parameters ``n_clusters``, ``view_sizes``, ``random_state`` and
    ``verbose``, and ``max_iter`` and ``tol`` if it iterates. One with a parameter
    ``checkpoint`` also supplies `_plain_state` and `_go_on`.
    """

    _accepts_sparse = True
    _accepts_unequal_rows = False
    # Threads of BLAS and OpenMP during a fit: one where products are small, and threads
    # would wait for each other longer than they compute. None: it holds them itself.
    _n_threads: ClassVar[int | None] = None
    _tests_matches = False  # whether its alignment comes with verdicts of its own

    # Shapes of what is read from files, see `unaligned.shapes`.
    _fitted_shapes: ClassVar[dict[str, Any]] = {}
    _state_shapes: ClassVar[dict[str, Any]] = {}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, Xs: Any, y: Any = None, *, aligned: Any = None) -> "ViewClusterer":
        """Cluster every row of every view.

        Parameters
        ----------
        Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
            The views, samples × features. Sparse matrices and data frames are welcome.
            One array is one view, or several side by side if ``view_sizes`` is set.
        y : ignored
            Present for scikit-learn's conventions.
        aligned : None, "all", int, boolean mask or dict, default=None
            What is known of the correspondence: nothing; everything; the first p rows
            of all views correspond; rows where the mask is True correspond; or
            ``{(i, j): pairs}`` with rows of view i and of view j in two columns.

        Returns
        -------
        self : estimator
        """
        views = self._check_views(Xs)
        check_n_clusters(self.n_clusters, views)
        given = check_aligned(aligned, views)
        self.n_views_ = len(views)
        self.view_names_in_ = views.names
        self.n_features_per_view_ = views.widths
        self.n_features_in_ = sum(views.widths)

        max_iter = getattr(self, "max_iter", 1)
        progress = FitProgress(self, Xs, max_iter)
        with (
            Heartbeat() if self.verbose else nullcontext(),
            threadpool_limits(limits=self._n_threads),
            FitCheckpoint(self, views, given) as checkpoint,
        ):
            course, solver = self._set_out(views, given, checkpoint.read())
            pairs = KnownPairs(course.identities, given, course.found)
            objectives = list(course.objectives)

            def fitted() -> dict[str, Any]:
                attributes = self._describe(iterate.state, views, pairs, course.seed)
                if objectives:
                    attributes["objective_"] = np.array(objectives)
                if "alignment_" in attributes:
                    named = attributes["alignment_"].with_rows(
                        views.n_rows, views.row_ids
                    )
                    attributes["alignment_"] = named
                return attributes | {
                    "n_iter_": iteration,
                    "converged_": iterate.converged,
                }

            for iteration in range(course.n_iter + 1, max_iter + 1):
                progress.begin_iteration()
                try:
                    iterate = checkpoint.next_iterate(solver, course)
                except KeyboardInterrupt as interruption:
                    iteration -= 1
                    if iteration > course.n_iter:
                        self._keep(fitted())
                        interruption.add_note(
                            f"{type(self).__name__} keeps what it had after iteration "
                            f"{iteration} of {max_iter}: it is fitted and can be used."
                        )
                    raise
                if iterate.objective is not None:
                    objectives.append(iterate.objective)
                stopped = progress.end_iteration(iteration, iterate.objective, fitted)
                if stopped or iterate.converged or iteration == max_iter:
                    break
                reached = course._replace(n_iter=iteration, objectives=objectives)
                checkpoint.keep(reached, iterate.state)
            self._keep(fitted())
        progress.end()
        if not self.converged_ and not stopped:
            self._warn_unconverged(objectives)
        return self

    def _set_out(
        self, views: Views, pairs: KnownPairs, course: Course | None
    ) -> tuple[Course, Iterator[Iterate | Milestone]]:
        """Begin a fit, or go on with one that was stopped."""
        if course is not None:
            self.n_clusters_ = course.n_clusters
            self.clusters_evidence_ = course.evidence
            self._ask_for_memory(views)
            pairs = KnownPairs(course.identities)
            solver = self._go_on(views, pairs, course.state, course.n_iter)
            return course._replace(state={}), solver  # nobody else is to hold it
        rng = check_random_state(self.random_state)
        # Drawn before the solver draws, so that a callback's look at the labels of an
        # unfinished fit changes nothing in the rest of it.
        seed = int(rng.randint(np.iinfo(np.int32).max))
        self.n_clusters_, self.clusters_evidence_ = self._count_clusters(views, rng)
        self._ask_for_memory(views)
        pairs = self._learn_pairs(views, pairs, rng)
        course = Course(
            seed,
            self.n_clusters_,
            pairs.identities,
            pairs.found,
            self.clusters_evidence_,
        )
        return course, self._iterate(views, pairs, rng)

    def _shapes(self) -> dict[str, Any]:
        """Shapes of all that is read from a file."""
        return self._fitted_shapes

    def _restore_state(self, state: dict[str, Any]) -> None:
        super()._restore_state(state)
        alignment = state.get("alignment_")
        if isinstance(alignment, Alignment) and not self._tests_matches:
            self.alignment_ = with_verdicts(alignment)

    def _ask_for_memory(self, views: Views) -> None:
        """Refuse a fit for which there is not enough memory before it takes any."""
        needed, name = self._memory_need(views), type(self).__name__
        ask_for_memory(name, needed, views.n_rows, self._ways_out(views))

    @abstractmethod
    def _memory_need(self, views: Views) -> float:
        """Bytes that a fit takes at its peak, beside its views; see `benchmarks`."""

    def _ways_out(self, views: Views) -> str:
        """Say what to do where memory is short."""
        lighter = "pass float32 views, which take half, " * (views.itemsize > 4)
        return (
            f"Take a sample of the rows, {lighter}or use unaligned.distributed.PAVuC, "
            "which leaves views on disk."
        )

    def _keep(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def fit_predict(self, Xs: Any, y: Any = None, *, aligned: Any = None) -> Any:
        """Fit and return ``labels_``, the labels of the rows of the first view.

        Parameters
        ----------
        Xs, y, aligned
            As in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.fit(Xs, y, aligned=aligned).labels_

    def _check_views(self, Xs: Any, **options: Any) -> Views:
        return check_views(
            Xs,
            estimator=self,
            view_sizes=self.view_sizes,
            accept_sparse=self._accepts_sparse,
            equal_rows=not self._accepts_unequal_rows,
            **options,
        )

    def _count_clusters(
        self, views: Views, rng: np.random.RandomState, deadline: Deadline = NEVER
    ) -> tuple[int, Any]:
        """Take the number of clusters that was asked for, or choose one by evidence."""
        if self.n_clusters != "auto":
            return int(self.n_clusters), None
        from unaligned.selection.n_clusters import choose_n_clusters

        evidence = choose_n_clusters(views, rng, self.verbose, deadline)
        if evidence.flat:
            warnings.warn(evidence.sentence(), stacklevel=4)
        return evidence.n_clusters, evidence

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        Xs: Any = None,
        *,
        ids: Any = None,
        columns: Any = None,
        title: str | None = None,
        open_browser: bool = False,
    ) -> Any:
        """Write what was found as one interactive HTML page that works offline.

        Parameters
        ----------
        path : path, optional
            The file; an existing one is replaced. Default: no file; the page that is
            returned shows itself in a notebook.
        Xs : views, optional
            The views this estimator was fitted on. The map of each view is then drawn
            from the view itself, otherwise from what the estimator kept of it.
        ids, columns, title, open_browser
            As in `unaligned.report.write_report`.

        Returns
        -------
        pathlib.Path or unaligned.report.InlineReport
            Where the page is, or the page.
        """
        from unaligned.report import write_report

        return write_report(
            self,
            path,
            Xs,
            ids=ids,
            columns=columns,
            title=title,
            open_browser=open_browser,
            verbose=self.verbose,
        )

    def _learn_pairs(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> KnownPairs:
        """Pairs to start from: those that are known, or more."""
        return pairs

    @abstractmethod
    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate | Milestone]:
        """Run the solver, one iterate at a time."""

    @abstractmethod
    def _describe(
        self, state: Any, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        """Fitted attributes of a state; ``seed`` is for k-means."""

    def _plain_state(self, state: Any) -> dict[str, Any]:
        """Give what of a state goes into a checkpoint, as arrays and numbers."""
        raise NotImplementedError

    def _go_on(
        self, views: Views, pairs: KnownPairs, state: dict[str, Any], n_iter: int
    ) -> Iterator[Iterate | Milestone]:
        """Run the solver from a plain state, reached after so many iterations."""
        raise NotImplementedError

    def _digest_views(self, views: Views) -> list[str]:
        """Text by which a checkpoint knows each view again."""
        return [digest(X) for X in views.arrays]

    def _warn_unconverged(self, objectives: list[float]) -> None:
        before, after = objectives[-2:] if len(objectives) > 1 else (np.nan, np.nan)
        warnings.warn(
            f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations "
            f"without converging: the objective last went from {before:.6g} to "
            f"{after:.6g}, a change of more than tol={self.tol:g} of its value. Raise "
            "max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags
