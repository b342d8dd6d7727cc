"""FMVACC: the anchors of all views are matched, their samples are not.

Samples are rows here: the paper's A_i (d_i × m) is ``anchors`` (m × d_i), its Z_i
(m × n) is ``graph`` (n × m), a view is near ``graph @ anchors``, and T_i Z_i gathers
columns of a graph.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer
from unaligned.kernels.anchor_graphs import match_anchors, misfit, update_graph
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.scaling import standardize, unit_rows
from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.spectral import embed_graph
from unaligned.parameters import ITERATIVE, NON_NEGATIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import Views

__all__ = ["FMVACC"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

# The authors' program does not look at the change of the objective before.
FIRST_CHECK = 10


class ViewState(NamedTuple):
    """Anchors and graph of one view."""

    anchors: Array
    graph: Array
    error: float
    """‖X − Z A‖² + β‖Z‖²."""


def start_view(X: Array, centres: Array) -> ViewState:
    """Graph of the k-means centres of a view."""
    return ViewState(centres, project_simplex(X @ centres.T), np.inf)


def update_view(X: Array, state: ViewState, beta: float) -> ViewState:
    """One step for the anchors, then one for the graph."""
    anchors = update_anchors(X, state.graph)
    graph = update_graph(X, anchors, beta)
    return ViewState(anchors, graph, misfit(X, anchors, graph, beta))


def update_anchors(X: Array, graph: Array) -> Array:
    """Minimise ‖X − Z A‖² over A with A Aᵀ = I.

    More anchors than features cannot be orthonormal: they are free then, as in the
    authors' program.
    """
    m, d = graph.shape[1], X.shape[1]
    target = graph.T @ X
    if m <= d:
        return polar_factor(target)
    free: Array = np.linalg.pinv(graph.T @ graph, hermitian=True) @ target
    return free


def fuse_graphs(graphs: list[Array], matchings: list[Indices]) -> Array:
    """Mean of the graphs, the columns of each gathered at its matched anchors."""
    total = np.zeros_like(graphs[0])
    for graph, matched in zip(graphs, matchings, strict=True):
        gather = np.zeros((graph.shape[1],) * 2, dtype=graph.dtype)
        gather[np.arange(len(matched)), matched] = 1
        total += graph @ gather
    return total / len(graphs)


class FMVACC(PairedRowsClusterer):
    """Align-then-fusion by matched anchors (FMVACC). It ignores misalignment.

    Learns anchors and a graph between rows and anchors for every view by itself,
    matches the anchors (not the rows) of each view to those of the reference view,
    averages the graphs with matched anchors in one column, and clusters the singular
    vectors of the mean. Linear in n. Columns are z-scored first.

    Parameters
    ----------
    n_clusters : int, default=10
    n_anchors : int, default=None
        Anchors per view. None: ``n_clusters``; the authors try 1, 2 and 5 times it.
    beta : float, default=1.0
        Weight of the graphs' squared norm.
    lam : float, default=1.0
        Weight λ, in the matching of anchors, of the rows they have in common. Rows that
        do not correspond make this term meaningless; 0 leaves it out.
    matching : {"argmax", "greedy", "optimal"}, default="argmax"
        How the soft matching of anchors is rounded: each anchor takes its best partner,
        several perhaps the same one, as in the authors' program; or one to one, as in
        the paper, the best pair first or the best in total.
    reference_view : int, default=0
        The view whose anchors and row order the others are brought to.
    max_iter : int, default=50
    tol : float, default=1e-6
        Stop, after ten iterations at least, when the objective changes by less than
        this share of itself.
    n_init : int, default=10
        Restarts of every k-means.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_, alignment_
        As in `unaligned.PAVuC`; row r of all views shares a label unless ``aligned``
        says that it belongs elsewhere.
    anchors_ : list of ndarray of shape (n_anchors, n_features of the view)
        In the space of z-scores.
    anchor_graphs_ : list of ndarray of shape (n, n_anchors)
        Every row sums to one.
    anchor_matchings_ : list of ndarray of shape (n_anchors,)
        Anchor of the reference view that each anchor of a view was matched to.
    embedding_ : ndarray of shape (n, n_anchors)
        What k-means clustered, in the order of the reference view. Directions in which
        the fused graph has no extent are left out.
    objective_ : ndarray of shape (n_iterations,)
        Sum over views of the squared misfit and the weighted norm of the graph. Falls
        if no view has more anchors than columns.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    S. Wang et al. Align then Fusion (FMVACC). NeurIPS 2022.

    Examples
    --------
    >>> from unaligned.baselines import FMVACC
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = FMVACC(10, n_init=1, max_iter=12, tol=1e-2, random_state=0)
    >>> model.fit(digits.Xs, aligned="all").labels_.shape
    (1797,)
    """

    citation: ClassVar[str] = (
        "@inproceedings{wang2022align,\n"
        "  author = {Wang, Siwei and others},\n"
        "  title = {Align then Fusion},\n"
        "  booktitle = {Advances in Neural Information Processing Systems},\n"
        "  year = {2022}\n"
        "}"
    )

    _accepts_sparse = False

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": ["m d"],
        "anchor_graphs_": ["n m"],
        "anchor_matchings_": ["int m"],
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "n_anchors": [POSITIVE_INT, None],
        "beta": [NON_NEGATIVE],
        "lam": [NON_NEGATIVE],
        "matching": [StrOptions({"argmax", "greedy", "optimal"})],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_anchors: int | None = None,
        beta: float = 1.0,
        lam: float = 1.0,
        matching: str = "argmax",
        reference_view: int = 0,
        max_iter: int = 50,
        tol: float = 1e-6,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.beta = beta
        self.lam = lam
        self.matching = matching
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views side by side and z-scored; graphs before and after a step."""
        views_twice = 2 * sum(views.n_bytes) + max(views.n_bytes)
        m, v = self.n_anchors or self.n_clusters, len(views)
        graph = views.n_rows[0] * m * views.itemsize
        later = sum(views.n_bytes) + (2 * v + 6) * graph
        return max(views_twice + 2 * v * graph, later)

    def _iterate_rows(
        self, Xs: list[Any], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        m = min(self.n_anchors or self.n_clusters, Xs[0].shape[0])
        seed = int(rng.randint(2**31 - 1))  # the same for all views, as in the program
        # As in the program: centres of the raw columns, everything else from z-scores.
        centres = [cluster_rows(X, m, n_init=self.n_init, seed=seed)[1] for X in Xs]
        Xs = [standardize(X) for X in Xs]
        states = [start_view(X, C) for X, C in zip(Xs, centres, strict=True)]
        before = np.inf
        for iteration in count(1):
            states = [
                update_view(X, state, self.beta)
                for X, state in zip(Xs, states, strict=True)
            ]
            error = sum(state.error for state in states)
            settled = iteration >= FIRST_CHECK and (
                abs(before - error) <= self.tol * abs(before)
            )
            before = error
            yield Iterate(states, error, converged=settled)

    def _embed(self, state: list[ViewState]) -> tuple[Array, dict[str, Any]]:
        graphs = [view.graph for view in state]
        reference = graphs[self.reference_view]
        matchings = [
            np.arange(reference.shape[1])
            if i == self.reference_view
            else match_anchors(reference, graph, self.lam, self.matching)
            for i, graph in enumerate(graphs)
        ]
        fused = fuse_graphs(graphs, matchings)
        embedding = unit_rows(embed_graph(fused, fused.shape[1]).vectors)
        return embedding, {
            "anchors_": [view.anchors for view in state],
            "anchor_graphs_": graphs,
            "anchor_matchings_": matchings,
        }
