"""The estimator PAVuC."""

import os
from collections.abc import Iterator
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils._param_validation import Interval, StrOptions

from unaligned.base import Iterate, ViewClusterer
from unaligned.checkpoints import CHECKPOINT
from unaligned.kernels.devices import Cores, on_host
from unaligned.kernels.gpu import Torch
from unaligned.kernels.scaling import unit_rows
from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.spectral import embed_graph
from unaligned.known_pairs import KnownPairs
from unaligned.new_rows import NewRowsMixin
from unaligned.parameters import (
    COMMON,
    INT_OR_AUTO,
    ITERATIVE,
    NON_NEGATIVE,
    POSITIVE_INT,
)
from unaligned.partitions.kmeans import cluster_rows
from unaligned.pavuc.iteration import init_state
from unaligned.pavuc.outcome import cluster_there, describe
from unaligned.pavuc.problem import Problem, State, carry, pose
from unaligned.pavuc.shapes import FITTED, STATE
from unaligned.pavuc.solver import solve
from unaligned.pavuc.start import check_start
from unaligned.views import Views

__all__ = ["PAVuC"]

BYTES_OF_MATCHING = 40  # per row and anchor, greedy; the optimal one takes what is free


class PAVuC(NewRowsMixin, ViewClusterer):
    """Probabilistically aligned view-unaligned clustering (PAVuC-ATS).

    Learns anchors shared by all views and, for every view, a graph between its rows
    and the anchors; picks one view as template; matches the rows of the others to it by
    2-step transition probabilities; and clusters the mean of the aligned graphs.
    ``labels_`` follow the rows of the first view, ``view_labels_`` those of each view.

    .. warning::
       Where nothing is known of the correspondence, the alignment this method finds is
       at chance level on every dataset we measured, and its labels are as good as those
       of its template view alone (``single_view_labels_[template_]``).
       It has no test of its own matches: ``alignment_.trust`` is NaN, and
       ``alignment_.known`` is the share of rows whose partner was given.

    Parameters
    ----------
    n_clusters : int or "auto", default=10
        Number of clusters k. "auto": see `unaligned.selection.select_n_clusters`.
    n_anchors : int, default=None
        Number of anchors m. None: k. The paper tries k, 3k and 5k.
    latent_dim : int, default=None
        Dimension d_l of the space that all views are projected into. None: k.
    alpha : float, default=1.5
        Sharpness of the view weights, above 1: towards 1 one view takes all, large
        values weigh all views alike (Eq. 27).
    mu : float, default=0.1
        Pull of matched rows on each other (Eq. 7), at least 0.
    init : {"random", "structure"} or tuple (A, G), default="random"
        Start: uniform random numbers; the same, after `unaligned.align` has matched
        rows, which are then taken as known and keep its verdict and trust; or anchors
        ``A`` (d_l × m) and one graph ``G`` (m × n) for all views, both in the paper's
        orientation.
    matching : {"greedy", "optimal"}, default="greedy"
        How rows find their partners: each in turn, most varied row first (the paper's
        way), or all at once by linear assignment: exactly while an n × n table fits
        into memory, nearly (and with a warning) beyond that.
    align : bool, default=True
        False takes the alignment term out: the paper's ablation NPA-VuC.
    safeguard : bool, default=False
        Whether the objective must never rise. The paper's steps do not guarantee it;
        True replaces those that would raise it, at about twice the time.
    max_iter : int, default=60
        Most iterations.
    tol : float, default=1e-7
        Stop when the objective changes by less than this share of itself.
    n_init : int, default=20
        Restarts of the final k-means.
    device : {None, "cpu", "cuda"}, default=None
        Where to compute: on the CPU, or with torch on a GPU. What comes out is NumPy's
        in any case. The greedy matching of equal graphs is the same everywhere, but
        graphs differ by rounding, and in a near-tie that is enough to match other rows.
    checkpoint : path, default=None
        File that gets the state of the fit every few iterations. If the fit is stopped
        or killed, the same fit goes on from it, to the same answer. It is removed when
        the fit is done.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array that holds all views side
        by side. None: such an array is one view.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of k-means.
    verbose : int, default=0
        Whether to print a line per iteration.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of every row of the first view.
    view_labels_ : list of ndarray of shape (n,)
        Cluster of every row of each view, in that view's own row order.
    single_view_labels_ : list of ndarray of shape (n,)
        Clusters of each view from its own graph alone, without any partner: what the
        alignment has to beat.
    template_ : int
        The view that the others were aligned to.
    alignment_ : Alignment
        Row correspondence, confidence and trust.
    view_weights_ : ndarray of shape (n_views,)
        Weight φ of each view.
    anchors_ : ndarray of shape (m, d_l)
    projections_ : list of ndarray of shape (d_i, d_l)
        Maps from each view into the latent space.
    anchor_graphs_ : list of ndarray of shape (n, m)
        Weights between rows and anchors; every row sums to one.
    embedding_ : ndarray of shape (n, k)
        What k-means clustered, in the template's row order.
    cluster_centers_ : ndarray of shape (k, k)
        Centres in the space of ``embedding_``.
    objective_ : ndarray of shape (n_iterations,)
        Value of Eq. 7 after every iteration.
    n_clusters_ : int
        Number of clusters that was asked for or chosen.
    clusters_evidence_ : ClusterEvidence or None
        What an automatic choice rests on, as in `unaligned.SAVuC`.
    n_iter_ : int
    converged_ : bool
    n_views_ : int
    n_features_per_view_ : list of int
    view_names_in_ : list of str
    n_features_in_ : int
        Columns of all views together.

    See Also
    --------
    unaligned.metrics.clustering_scores : Compare labels with a known truth.
    unaligned.datasets.unalign : Take the correspondence out of aligned views.

    References
    ----------
    W. Dong, X.-J. Wu, Z. Feng, S. Atito, M. Awais, J. Kittler. Probabilistically
    Aligned View-unaligned Clustering with Adaptive Template Selection.

    Examples
    --------
    >>> from unaligned import PAVuC
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> shuffled = unalign(digits.Xs, digits.y, random_state=0)
    >>> model = PAVuC(n_clusters=10, max_iter=5, tol=1, random_state=0)
    >>> model.fit(shuffled.Xs).view_labels_[1].shape
    (1797,)
    """

    _single_view_labels: list[NDArray[np.intp]] | None

    citation: ClassVar[str] = (
        "@article{dong_pavuc_ats,\n"
        "  author = {Dong, Wenhua and Wu, Xiao-Jun and Feng, Zhenhua and Atito, Sara\n"
        "            and Awais, Muhammad and Kittler, Josef},\n"
        "  title = {Probabilistically Aligned View-unaligned Clustering with Adaptive\n"
        "           Template Selection}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = FITTED
    _state_shapes: ClassVar[dict[str, Any]] = STATE

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        **ITERATIVE,
        "n_clusters": INT_OR_AUTO,
        "n_anchors": [POSITIVE_INT, None],
        "latent_dim": [POSITIVE_INT, None],
        "alpha": [Interval(Real, 1, None, closed="neither")],
        "mu": [NON_NEGATIVE],
        "init": [StrOptions({"random", "structure"}), tuple, list],
        "matching": [StrOptions({"greedy", "optimal"})],
        "align": ["boolean"],
        "safeguard": ["boolean"],
        "device": [StrOptions({"cpu", "cuda"}), None],
        "checkpoint": CHECKPOINT,
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
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.latent_dim = latent_dim
        self.alpha = alpha
        self.mu = mu
        self.init = init
        self.matching = matching
        self.align = align
        self.safeguard = safeguard
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.device = device
        self.checkpoint = checkpoint
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count graphs before and after a step, and of partners; matchings."""
        n, m = views.n_rows[0], self.n_anchors or self.n_clusters_
        graphs = len(views) * n * m * views.itemsize
        at_a_time = min(len(views) - 1, Cores().n_threads)
        return 4 * graphs + at_a_time * BYTES_OF_MATCHING * n * m

    def _learn_pairs(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> KnownPairs:
        if isinstance(self.init, str) and self.init == "structure":
            # The one place where a method calls another: it is what was asked for.
            from unaligned.savuc.align import align_checked

            found = align_checked(views, pairs, rng, self.verbose)
            pairs = pairs.with_found(found)
        return pairs

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        problem = self._pose(views, pairs)
        with problem.device.busy():
            start = init_state(problem, *self._start(views, rng))
        return self._solve(problem, start)

    def _go_on(
        self, views: Views, pairs: KnownPairs, state: dict[str, Any], n_iter: int
    ) -> Iterator[Iterate]:
        problem = self._pose(views, pairs)
        reached = carry(State(**state), problem.device.put)
        return self._solve(problem, reached, n_iter)

    def _plain_state(self, state: State) -> dict[str, Any]:
        return carry(state, on_host)._asdict()

    def _device(self) -> Cores:
        return Torch() if self.device == "cuda" else Cores()

    def _pose(self, views: Views, pairs: KnownPairs) -> Problem:
        device = self._device()
        with device.busy():
            return pose(
                views.arrays,
                pairs,
                mu=self.mu,
                alpha=self.alpha,
                matching=self.matching,
                align=self.align,
                device=device,
            )

    def _solve(
        self, problem: Problem, state: State, n_iter: int = 0
    ) -> Iterator[Iterate]:
        steps = solve(
            problem, state, tol=self.tol, safeguard=self.safeguard, n_iter=n_iter
        )
        del state  # or its graphs would stay for as long as the fit takes
        for following, converged in steps:
            yield Iterate(following, following.objective, converged)

    def _start(
        self, views: Views, rng: np.random.RandomState
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Anchors (m × d_l) and graph (n × m) to start from."""
        n, dtype = views.n_rows[0], views.arrays[0].dtype
        if isinstance(self.init, str):
            m = self.n_anchors or self.n_clusters_
            anchors = rng.uniform(size=(self.latent_dim or self.n_clusters_, m))
            graph = rng.uniform(size=(m, n))
        else:
            anchors, graph = check_start(self.init, n, self.n_anchors, self.latent_dim)
        return anchors.T.astype(dtype), np.ascontiguousarray(graph.T, dtype=dtype)

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        cluster = partial(self._cluster, seed=seed)
        found = describe(state, views, pairs, self.n_clusters_, cluster)
        return found | {"_single_view_labels": None, "_seed": seed}

    def _cluster(
        self, points: NDArray[Any], seed: int
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """k-means as the paper runs it; return labels and centres."""
        k, n_init = self.n_clusters_, self.n_init
        if self.device == "cuda":
            return cluster_there(self._device(), points, k, n_init, seed)
        return cluster_rows(points, k, n_init=n_init, seed=seed)

    def _predict_rows(self, X: Any, view: int) -> NDArray[np.intp]:
        # A new row has no partner: its graph row is Eq. 14 without the pull of one.
        affinity = X @ self.projections_[view].astype(X.dtype) @ self.anchors_.T
        points = unit_rows(self._embedding.fold_in(project_simplex(affinity)))
        nearest = pairwise_distances_argmin(points, self.cluster_centers_)
        return np.asarray(nearest, dtype=np.intp)

    @property
    def single_view_labels_(self) -> list[NDArray[np.intp]]:
        """Clusters of each view from its own graph alone, computed when asked for."""
        if self._single_view_labels is None:
            embeddings = (embed_graph(G, self.n_clusters_) for G in self.anchor_graphs_)
            self._single_view_labels = [
                self._cluster(unit_rows(embedding.vectors), self._seed)[0]
                for embedding in embeddings
            ]
        return self._single_view_labels
