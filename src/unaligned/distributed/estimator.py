"""The estimator PAVuC for dask arrays."""

import os
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from unaligned import pavuc
from unaligned.base import Iterate
from unaligned.distributed.blocks import blocks_of, check_dask_matrix
from unaligned.distributed.matching import Budget, fewest_bytes
from unaligned.distributed.passes import active_client, digest_view, n_threads
from unaligned.distributed.solver import Problem, State, begin, solve
from unaligned.kernels.devices import Cores
from unaligned.kernels.memory import available_bytes
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import POSITIVE_INT
from unaligned.progress import say
from unaligned.views import Views, check_new_rows

__all__ = ["PAVuC"]

SHARE_OF_FREE_MEMORY = 0.5
BUCKETS_AT_HAND = 1.5  # memory of a thread's buckets, with those that wait for it
NEEDED_TO_PREDICT = (
    "n_features_in_",
    "n_features_per_view_",
    "view_names_in_",
    "projections_",
    "anchors_",
    "cluster_centers_",
    "_embedding",
)


class PAVuC(pavuc.PAVuC):
    """`unaligned.PAVuC` for views larger than memory, or on a cluster.

    Takes views as dask arrays and reads each of their chunks once per iteration, where
    dask computes: in threads of this process, or on the workers of a
    ``dask.distributed`` client. What is known of the rows (graphs, permutations,
    labels) stays in this process, in NumPy arrays. On data that fit into memory, the
    labels are those of `unaligned.PAVuC` with the same seed.

    Parameters
    ----------
    n_clusters, n_anchors, latent_dim, alpha, mu, init, matching, align
        As in `unaligned.PAVuC`.
    safeguard : False
        Not available here: its steps need several passes over the views.
    max_iter, tol, n_init
        As in `unaligned.PAVuC`.
    device : {None, "cpu"}, default=None
        Workers compute on the CPU.
    checkpoint, view_sizes, random_state, verbose
        As in `unaligned.PAVuC`.
    matching_memory : int or str, default=None
        Bytes that matchings may take at a time in one process, also as ``"2 GB"``.
        None: half of what is free. The exact greedy matching takes about 36 bytes per
        row and anchor, or 22 in instalments. Where that is too much, rows are matched
        within buckets of equal dominant anchors, a warning tells what that costs, and
        ``matching_loss_`` keeps it.

    Attributes
    ----------
    labels_, view_labels_, single_view_labels_, template_, alignment_, view_weights_
        As in `unaligned.PAVuC`, in NumPy arrays.
    anchors_, projections_, anchor_graphs_, embedding_, cluster_centers_
        As in `unaligned.PAVuC`, in NumPy arrays.
    objective_, n_iter_, converged_
        As in `unaligned.PAVuC`.
    matching_loss_ : ndarray of shape (n_iterations,)
        What it cost to match within buckets, as a share of ``objective_``: an estimate
        from a sample of rows that is also matched exactly. 0 where all were.
    n_views_, n_features_per_view_, view_names_in_, n_features_in_
        What was fitted.

    See Also
    --------
    unaligned.distributed.open_views : Files as dask arrays.

    Notes
    -----
    This process needs about ``n_rows * n_views * (4 * n_anchors + 30)`` bytes for
    float32 views, the graphs once more during a pass, and what matchings take. Of
    more than a million rows, restarts of k-means compete on a sample, and the best one
    goes on with all of them, here as in memory.

    Blocks are cut where sums in memory pause, so that float32 views give the very bits
    of `unaligned.PAVuC`. Of float64, sums at the start are added in another order; we
    have seen graphs differ by 1e-11, and no permutation.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **pavuc.PAVuC._parameter_constraints,
        "device": [StrOptions({"cpu"}), None],
        "matching_memory": [POSITIVE_INT, str, None],
    }

    def __init__(
        self,
        n_clusters: int | str = 10,
        *,
        n_anchors: int | None = None,
        latent_dim: int | None = None,
        alpha: float = 1.5,
        mu: float = 0.1,
        init: Any = "random",
        matching: str = "greedy",
        align: bool = True,
        safeguard: bool = False,
        max_iter: int = 60,
        tol: float = 1e-7,
        n_init: int = 20,
        device: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
        matching_memory: int | str | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            n_anchors=n_anchors,
            latent_dim=latent_dim,
            alpha=alpha,
            mu=mu,
            init=init,
            matching=matching,
            align=align,
            safeguard=safeguard,
            max_iter=max_iter,
            tol=tol,
            n_init=n_init,
            device=device,
            checkpoint=checkpoint,
            view_sizes=view_sizes,
            random_state=random_state,
            verbose=verbose,
        )
        self.matching_memory = matching_memory

    def _check_views(self, Xs: Any, **options: Any) -> Views:
        if self.n_clusters == "auto":
            raise ValueError(
                'n_clusters="auto" looks at whole views in memory. Choose the number '
                "on a sample of the rows with unaligned.selection.select_n_clusters, "
                "and pass it as an int."
            )
        if self.safeguard:
            raise ValueError(
                "safeguard=True needs several passes over the views per iteration, "
                "which is not available out of core. Leave safeguard=False, or use "
                "unaligned.PAVuC on data that fit into memory."
            )
        return super()._check_views(Xs, check_matrix=check_dask_matrix, **options)

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        anchors, graph = self._start(views, rng)
        problem, state = begin(self._pose(views, pairs, len(anchors)), anchors, graph)
        del graph  # every view has its own by now
        yield from self._solve(problem, state)

    def _go_on(
        self, views: Views, pairs: KnownPairs, state: dict[str, Any], n_iter: int
    ) -> Iterator[Iterate]:
        stopped = State(**state)
        problem = self._pose(views, pairs, len(stopped.anchors))
        problem, _ = begin(problem, stopped.anchors, stopped.graphs[0])
        yield from self._solve(problem, stopped, n_iter)

    def _plain_state(self, state: State) -> dict[str, Any]:  # type: ignore[override]
        return vars(state)

    def _memory_need(self, views: Views) -> float:
        """Count graphs before and after a pass, and what else is known of the rows.

        Matchings see to it themselves that they fit.
        """
        n, m = views.n_rows[0], self.n_anchors or self.n_clusters_
        return n * len(views) * (2 * views.itemsize * m + 30)

    def _ways_out(self, views: Views) -> str:
        lighter = "pass float32 views, whose graphs take half, " * (views.itemsize > 4)
        return (
            "What is known of the rows must fit into this process, though the views "
            f"need not: take fewer rows, {lighter}or lower n_anchors."
        )

    def _digest_views(self, views: Views) -> list[str]:
        """Read the views once: their values count, and not how they are cut."""
        return [digest_view(X) for X in views.arrays]

    def _pose(  # type: ignore[override]
        self, views: Views, pairs: KnownPairs, m: int
    ) -> Problem:
        problem = Problem(
            views=[blocks_of(i, X, m) for i, X in enumerate(views.arrays)],
            pairs=pairs,
            mu=self.mu,
            alpha=self.alpha,
            matching=self.matching,
            align=self.align,
            orders=[],
            floors=[],
            device=Cores(),
            names=views.names,
            budget=_budget(self.matching_memory),
        )
        if self.verbose:
            n_blocks = sum(map(len, problem.views))
            say(f"[PAVuC] first pass over {n_blocks} blocks of {len(views)} views")
        return problem

    def _solve(  # type: ignore[override]
        self, problem: Problem, state: State, n_iter: int = 0
    ) -> Iterator[Iterate]:
        for converged in solve(problem, state, tol=self.tol, n_iter=n_iter):
            self._report_loss(problem, state.losses)
            yield Iterate(state, state.objective, converged)

    def _report_loss(self, problem: Problem, losses: list[float]) -> None:
        """Tell what buckets cost: once as a warning, and at every step if verbose."""
        if losses[-1] == 0:
            return
        if self.verbose:
            say(f"[PAVuC] matched within buckets: {losses[-1]:+.3%} of the objective")
        if any(losses[:-1]):
            return
        n, m = len(problem.orders[0]), self.n_anchors or self.n_clusters_
        needed = fewest_bytes(n, m, self.matching)
        warnings.warn(
            f"The exact matching of {n:,} rows takes {needed / 1e9:.2g} GB, and "
            f"matching_memory allows {problem.budget.here / 1e9:.2g} GB. So rows are "
            "matched within buckets of equal dominant anchors. By a sample, the "
            f"objective is {losses[-1]:+.3%} off for it; matching_loss_ will have that "
            "of every iteration. Raise matching_memory, or lower n_anchors.",
            stacklevel=4,
        )

    def _describe(
        self, state: Any, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        described = super()._describe(state, views, pairs, seed)
        return described | {"matching_loss_": np.array(state.losses)}

    def predict(self, X: Any, view: int | str = 0) -> Any:
        """Label new rows of one view.

        Parameters
        ----------
        X : dask array or array-like of shape (n_rows, n_features of that view)
        view : int or str, default=0
            The view that the rows belong to, by index or by name.

        Returns
        -------
        labels : dask array or ndarray of shape (n_rows,)
            Lazy for a dask array: ``predict(X).compute()`` reads it.
        """
        if not hasattr(X, "dask"):
            return super().predict(X, view)
        check_is_fitted(self)
        X = check_dask_matrix(X, "X")
        check_new_rows(np.zeros((1, X.shape[1])), estimator=self, view=view)
        return X.map_blocks(
            self._labeller().predict,
            view=view,
            dtype=np.intp,
            drop_axis=1,
            meta=np.empty(0, dtype=np.intp),
        )

    def _labeller(self) -> pavuc.PAVuC:
        """Make an estimator that predicts as this one and is small enough to send."""
        names = pavuc.PAVuC._get_param_names()
        light = pavuc.PAVuC(**{name: getattr(self, name) for name in names})
        for name in NEEDED_TO_PREDICT:
            setattr(light, name, getattr(self, name))
        return light


def _budget(matching_memory: int | str | None) -> Budget:
    """Bytes for one matching here, and for one bucket wherever dask computes."""
    from dask.utils import parse_bytes

    client = active_client()
    if matching_memory is not None:
        here = there = float(parse_bytes(matching_memory))
    else:
        here = there = SHARE_OF_FREE_MEMORY * available_bytes()
        if client is not None:
            free = client.run(_free_bytes).values()
            there = SHARE_OF_FREE_MEMORY * min(free, default=available_bytes())
    threads = [n_threads(None)] if client is None else client.nthreads().values()
    return Budget(here, there / (BUCKETS_AT_HAND * max(threads, default=1)))


def _free_bytes(dask_worker: Any) -> float:
    """Memory that a worker may still take; dask kills those that take more."""
    limit = dask_worker.memory_manager.memory_limit or np.inf
    return min(float(limit), available_bytes())
