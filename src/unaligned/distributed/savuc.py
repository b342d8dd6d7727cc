"""The estimator SAVuC for dask arrays."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from unaligned import savuc
from unaligned.alignment import Alignment
from unaligned.deadline import NEVER
from unaligned.distributed.aligning import Task, align_views
from unaligned.distributed.blocks import check_dask_matrix
from unaligned.distributed.sampling import Sample, draw_aligned
from unaligned.known_pairs import check_aligned
from unaligned.parameters import POSITIVE_INT
from unaligned.progress import Heartbeat
from unaligned.savuc.align import only_known
from unaligned.savuc.config import EFFORTS, Settings
from unaligned.savuc.growth import Problem
from unaligned.savuc.outcome import Outcome, label_aligned
from unaligned.views import check_n_clusters, check_new_rows, check_views

__all__ = ["SAVuC"]


class SAVuC(ClusterMixin, BaseEstimator):
    """`unaligned.SAVuC` for views larger than memory, or on a cluster.

    Aligns all rows of views that are dask arrays (`unaligned.distributed.align`),
    learns clusters, the space that views share and the bridge between them on a sample
    of aligned rows, and gives labels and translations of all rows as lazy arrays.

    Parameters
    ----------
    n_clusters : int, default=10
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How hard to search for the correspondence.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_ : dask array
        Cluster of every row of the first view, computed when asked for.
    view_labels_ : list of dask array
        The same of each view, in that view's own row order.
    alignment_ : Alignment
        Row correspondence, verdicts and trust, in NumPy arrays.
    fused_views_ : tuple of int
        Views whose clusters have common names; just the template where none is trusted.
    template_ : int
        The view that the others were aligned to.
    best_view_ : int
        The view whose labels to take where those of one view are wanted, as in
        `unaligned.SAVuC`.
    n_clusters_, n_views_, n_features_per_view_, view_names_in_, n_features_in_
        What was fitted.

    See Also
    --------
    unaligned.distributed.align : The correspondence alone.
    unaligned.distributed.open_views : Files as dask arrays.

    Notes
    -----
    Every row is labelled by its own view, as new rows are; `unaligned.SAVuC` has all
    views of a matched row vote. The sample has 5,000 rows of each view, or 20 per
    cluster, with their partners.

    Examples
    --------
    >>> import dask.array as da
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.distributed import SAVuC
    >>> digits = load_digits_views()
    >>> data = unalign([digits.Xs[0][:300], digits.Xs[3][:300]], random_state=0)
    >>> views = [da.from_array(X, chunks=(100, -1)) for X in data.Xs]
    >>> model = SAVuC(10, effort="quick", random_state=0).fit(views)
    >>> model.fused_views_, model.labels_.compute().shape
    ((0, 1), (300,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [POSITIVE_INT],
        "effort": [StrOptions(set(EFFORTS)), Settings],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        effort: str | Settings = "normal",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.effort = effort
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, Xs: Any, y: Any = None, *, aligned: Any = None) -> "SAVuC":
        """Align and cluster all rows of all views.

        Parameters
        ----------
        Xs : list, tuple or dict of dask arrays
            The views, samples × features.
        y : ignored
            Present for scikit-learn's conventions.
        aligned : None, "all", int, boolean mask or dict, default=None
            What is known of the correspondence, as in `unaligned.SAVuC.fit`.

        Returns
        -------
        self : SAVuC
        """
        self._validate_params()
        views = check_views(Xs, check_matrix=check_dask_matrix)
        check_n_clusters(self.n_clusters, views)
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=3)
        pairs = check_aligned(aligned, views)
        task = Task.of(views, pairs, self.effort, self.verbose)
        with Heartbeat() if self.verbose else nullcontext():
            found, geometries = align_views(task, rng)
            # What is drawn for labels does not depend on what the search has drawn.
            draws = [np.random.RandomState(seed) for seed in seeds]
            sample = draw_aligned(task, found, geometries, self.n_clusters, draws[0])
            del geometries
            task.tell(f"clustering a sample of {len(views)} views")
            problem = Problem(sample.views, sample.pairs, task.settings)
            outcome = label_aligned(
                problem,
                sample.alignment,
                sample.geometries,
                self.n_clusters,
                (draws[1], draws[2]),
                NEVER,
            )
        self._on_sample = self._describe_sample(outcome, sample, int(seeds[0]))
        self.alignment_ = _with_verdicts(found, outcome, sample, task).with_rows(
            views.n_rows, views.row_ids
        )
        self.template_ = self.alignment_.template
        self.fused_views_ = self._on_sample.fused_views_
        self.best_view_ = self._on_sample.best_view_
        self.n_clusters_ = self.n_clusters
        for name in NAMES:
            setattr(self, name, getattr(self._on_sample, name))
        self.view_labels_ = [self.predict(X, i) for i, X in enumerate(views.arrays)]
        self.labels_ = self.view_labels_[0]
        return self

    def _describe_sample(
        self, outcome: Outcome, sample: Sample, seed: int
    ) -> savuc.SAVuC:
        """Make the estimator in memory that was fitted on the sample."""
        model = savuc.SAVuC(self.n_clusters, effort=self.effort)
        views = sample.views
        values = len(views), views.names, views.widths, sum(views.widths)
        model._keep(dict(zip(NAMES, values, strict=True)))
        model.n_clusters_ = self.n_clusters
        model._keep(model._describe(outcome, views, sample.pairs, seed))
        return model

    def predict(self, X: Any, view: int | str = 0) -> Any:
        """Label rows of one view.

        Parameters
        ----------
        X : dask array or array-like of shape (n_rows, n_features of that view)
        view : int or str, default=0
            The view that the rows belong to, by index or by name.

        Returns
        -------
        labels : dask array or ndarray of shape (n_rows,)
            Lazy for a dask array.
        """
        check_is_fitted(self)
        return self._on_blocks("predict", X, view, np.intp, None)

    def transform(self, X: Any, view: int | str = 0) -> Any:
        """Place rows of one view in the space that the views share.

        Parameters
        ----------
        X : dask array or array-like of shape (n_rows, n_features of that view)
        view : int or str, default=0

        Returns
        -------
        dask array or ndarray of shape (n_rows, n_directions)
            Lazy for a dask array.
        """
        check_is_fitted(self)
        probe = np.zeros((1, self._width(view)))
        width = self._on_sample.transform(probe, view).shape[1]
        return self._on_blocks("transform", X, view, np.float32, width)

    def translate(self, X: Any, from_view: int | str, to_view: int | str) -> Any:
        """Estimate rows of one view in the columns of another.

        Parameters
        ----------
        X : dask array or array-like of shape (n_rows, n_features of from_view)
        from_view, to_view : int or str
            Two views that known pairs link, or whose rows are matched.

        Returns
        -------
        dask array or ndarray of shape (n_rows, n_features of to_view)
            Lazy for a dask array.
        """
        check_is_fitted(self)
        model = self._on_sample
        if model._bridge is None:  # once, not in every block
            model._bridge = model._matched_bridge()
        probe = np.zeros((1, self._width(from_view)))
        width = model.translate(probe, from_view, to_view).shape[1]
        return self._on_blocks("translate", X, from_view, np.float32, width, to_view)

    def _width(self, view: int | str) -> int:
        """Columns of a view."""
        return self.n_features_per_view_[self.alignment_.index_of(view)]

    def _on_blocks(
        self, method: str, X: Any, view: Any, dtype: Any, width: int | None, *more: Any
    ) -> Any:
        """Do what the estimator in memory does, block by block of a dask array."""
        answer = getattr(self._on_sample, method)
        if not hasattr(X, "dask"):
            return answer(X, view, *more)
        X = check_dask_matrix(X, "X")
        check_new_rows(np.zeros((1, X.shape[1])), estimator=self, view=view)
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype=dtype)}
        if width is not None:
            empty = np.empty((0, 0), dtype=dtype)
            shape = {"chunks": (X.chunks[0], (width,)), "meta": empty}
        return X.map_blocks(answer, view, *more, dtype=dtype, **shape)


NAMES = ("n_views_", "view_names_in_", "n_features_per_view_", "n_features_in_")


def _with_verdicts(
    found: Alignment, outcome: Outcome, sample: Sample, task: Task
) -> Alignment:
    """Alignment of all rows, with what was found on the sample beside it."""
    judged = outcome.labelled.alignment
    if judged.template != found.template:
        others = found.others
        found = only_known(judged.template, judged.trust, task.views, task.pairs)
        found = replace(found, others=others)
    suspects = {
        (i, j): sample.back(pairs, i, j) for (i, j), pairs in judged.suspects.items()
    }
    return replace(
        found,
        trust=judged.trust,
        verdict=list(judged.verdict),
        basis=list(judged.basis),
        suspects=suspects,
    )
