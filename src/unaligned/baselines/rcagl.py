"""RCAGL: what all views share and what is each view's own, no alignment.

Samples are rows here: the paper's A_i (d_i × m) is ``anchors`` (m × d_i), its C and D_i
(m × n) are ``shared`` and ``own`` (n × m), and view i is near
``(shared + own) / 2 @ anchors``.
"""

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer, until_settled
from unaligned.kernels.bipartite import split_graph
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.residual import sum_of_squares
from unaligned.kernels.scaling import standardize, unit_rows
from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.spectral import embed_graph
from unaligned.parameters import ITERATIVE, NON_NEGATIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import Views

__all__ = ["RCAGL"]

Array = NDArray[Any]


class State(NamedTuple):
    """What an iteration changes."""

    anchors: list[Array]
    shared: Array
    own: list[Array]
    labels: NDArray[np.intp]
    objective: float


def leading_directions(Xs: list[Array], n_directions: int) -> Array:
    """Leading left singular vectors of all views side by side."""
    stacked = np.hstack(Xs)
    n, width = stacked.shape
    if width <= n:
        return embed_graph(stacked, n_directions).vectors
    # The transpose has the smaller Gram matrix, and gives V in X V = U Σ.
    right = embed_graph(stacked.T, n_directions).vectors
    return unit_rows((stacked @ right).T).T


def update_anchors(X: Array, shared: Array, own: Array) -> Array:
    """Minimise ‖X − ½(C + D)A‖² over A with A Aᵀ = I."""
    return polar_factor((shared + own).T @ X)


def update_own(X: Array, anchors: Array, shared: Array, lam: float) -> Array:
    """Minimise ‖X − ½(C + D)A‖² + λ‖D‖² over D with rows on the simplex.

    Exact where A Aᵀ = I; as in the authors' program, the same formula serves if there
    are more anchors than features.
    """
    rest = X @ anchors.T - shared @ (anchors @ anchors.T) / 2
    return project_simplex(2 * rest / (1 + 4 * lam))


def shared_affinity(Xs: list[Array], anchors: list[Array], own: list[Array]) -> Array:
    """Mean over views of (X − ½DA)Aᵀ.

    Twice that is what Σ‖X − ½(C + D)A‖² would have C be without any constraint.
    """
    total = sum(
        X @ A.T - D @ (A @ A.T) / 2 for X, A, D in zip(Xs, anchors, own, strict=True)
    )
    affinity: Array = total / len(Xs)
    return affinity


def objective(
    Xs: list[Array], anchors: list[Array], shared: Array, own: list[Array], lam: float
) -> float:
    """Σ_i ‖X_i − ½(C + D_i)A_i‖² + λ‖D_i‖²."""
    return sum(
        sum_of_squares(X - (shared + D) / 2 @ A) + lam * sum_of_squares(D)
        for X, A, D in zip(Xs, anchors, own, strict=True)
    )


def one_iteration(
    Xs: list[Array], state: State, n_pieces: int, lam: float, graph_scale: float
) -> State:
    """Anchors, then the views' own graphs, then the shared one and its pieces."""
    anchors = [
        update_anchors(X, state.shared, D) for X, D in zip(Xs, state.own, strict=True)
    ]
    own = [
        update_own(X, A, state.shared, lam) for X, A in zip(Xs, anchors, strict=True)
    ]
    affinity = graph_scale * shared_affinity(Xs, anchors, own)
    shared, labels = split_graph(affinity, np.mean(own, axis=0), n_pieces)
    value = objective(Xs, anchors, shared, own, lam)
    return State(anchors, shared, own, labels, value)


class RCAGL(PairedRowsClusterer):
    """Robust and consistent anchor graph learning (RCAGL). It ignores misalignment.

    Writes every view as the mean of two anchor graphs, one shared by all views and one
    of its own, and shapes the shared one until it falls into ``n_clusters`` connected
    pieces. These are the clusters; there is no k-means at the end. Linear in n. Columns
    are z-scored first.

    Parameters
    ----------
    n_clusters : int, default=10
        Pieces wanted. Their number is searched for and may be missed; a
        ``ConvergenceWarning`` says so and ``n_clusters_`` tells what was found.
    n_anchors : int, default=None
        Number of anchors, at least ``n_clusters``. None: three times that.
    lam : float, default=1.0
        Weight λ of the squared norm of the views' own graphs.
    graph_step : {"program", "exact"}, default="program"
        What the shared graph is drawn to: "exact" is the minimiser of the objective
        without constraints, "program" half of it, as in the authors' program.
    reference_view : int, default=0
        The view whose row order the method is scored in.
    max_iter : int, default=50
    tol : float, default=1e-4
        Stop when the objective changes by less than this share of itself.
    n_init : int, default=10
        Restarts of the k-means that gives the first graph.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_, alignment_
        As in `unaligned.PAVuC`; row r of all views shares a label unless ``aligned``
        says that it belongs elsewhere. Labels run from 0 to ``n_clusters_`` − 1.
    n_clusters_ : int
        Clusters found.
    anchors_ : list of ndarray of shape (n_anchors, n_features of the view)
        In the space of z-scores.
    shared_graph_ : ndarray of shape (n, n_anchors)
        In the order of the reference view; rows sum to one.
    anchor_graphs_ : list of ndarray of shape (n, n_anchors)
        Each view's own graph, in the order of the reference view; rows sum to one.
    objective_ : ndarray of shape (n_iterations,)
        Squared misfit and weighted norms. It need not fall: the step that splits the
        shared graph pays for it.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    On views whose rows do not correspond, the shared graph tends to be one large piece
    and many tiny ones if ``n_anchors`` exceeds ``n_clusters``.

    References
    ----------
    S. Liu, Q. Liao, S. Wang, X. Liu, E. Zhu. Robust and Consistent Anchor Graph
    Learning for Multi-View Clustering. IEEE Transactions on Knowledge and Data
    Engineering 36(8), 2024.

    Examples
    --------
    >>> from unaligned.baselines import RCAGL
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = RCAGL(10, n_anchors=10, n_init=1, random_state=0)
    >>> model.fit(digits.Xs, aligned="all").n_clusters_
    10
    """

    citation: ClassVar[str] = (
        "@article{liu2024robust,\n"
        "  author = {Liu, Suyuan and Liao, Qing and Wang, Siwei and Liu, Xinwang\n"
        "            and Zhu, En},\n"
        "  title = {Robust and Consistent Anchor Graph Learning for Multi-View\n"
        "           Clustering},\n"
        "  journal = {IEEE Transactions on Knowledge and Data Engineering},\n"
        "  volume = {36},\n"
        "  number = {8},\n"
        "  pages = {4207--4219},\n"
        "  year = {2024}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": ["m d"],
        "shared_graph_": "t m",
        "anchor_graphs_": ["n m"],
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "n_anchors": [POSITIVE_INT, None],
        "lam": [NON_NEGATIVE],
        "graph_step": [StrOptions({"program", "exact"})],
    }

    _accepts_sparse = False

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_anchors: int | None = None,
        lam: float = 1.0,
        graph_step: str = "program",
        reference_view: int = 0,
        max_iter: int = 50,
        tol: float = 1e-4,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.lam = lam
        self.graph_step = graph_step
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views side by side and z-scored; graphs, one split in float64."""
        views_twice = 2 * sum(views.n_bytes) + max(views.n_bytes)
        weights = views.n_rows[0] * (self.n_anchors or 3 * self.n_clusters)
        splitting = (2 * len(views) + 2) * views.itemsize * weights + 112 * weights
        return max(views_twice, sum(views.n_bytes) + splitting)

    def _iterate_rows(
        self, Xs: list[Array], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        Xs = [standardize(X) for X in Xs]
        state = self._start(Xs, seed=int(rng.randint(2**31 - 1)))
        graph_scale = {"program": 1.0, "exact": 2.0}[self.graph_step]

        def step(state: State) -> State:
            return one_iteration(Xs, state, self.n_clusters, self.lam, graph_scale)

        yield from until_settled(step, state, self.tol, first=2)

    def _start(self, Xs: list[Array], seed: int) -> State:
        """One graph for all: the k-means cluster of each row, of all views together."""
        n = len(Xs[0])
        if self.n_anchors is not None and self.n_anchors < self.n_clusters:
            raise ValueError(
                f"n_anchors={self.n_anchors} is less than n_clusters="
                f"{self.n_clusters}, but every cluster needs an anchor of its own. "
                f"Use n_anchors={self.n_clusters} or more, or None."
            )
        m = min(self.n_anchors or 3 * self.n_clusters, n)
        points = leading_directions(Xs, m)
        nearest, _ = cluster_rows(points, m, n_init=self.n_init, seed=seed)
        shared = np.zeros((n, m), dtype=Xs[0].dtype)
        shared[np.arange(n), nearest] = 1
        return State([], shared, [shared] * len(Xs), nearest, np.inf)

    def _label_rows(
        self, state: State, seed: int
    ) -> tuple[NDArray[np.intp], dict[str, Any]]:
        found = int(state.labels.max()) + 1
        if found != self.n_clusters:
            warnings.warn(
                f"RCAGL was asked for n_clusters={self.n_clusters}, but the graph it "
                f"found falls into {found}. Another n_anchors, lam or random_state may "
                "split it as asked.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return state.labels, {
            "n_clusters_": found,
            "anchors_": state.anchors,
            "shared_graph_": state.shared,
            "anchor_graphs_": state.own,
        }
