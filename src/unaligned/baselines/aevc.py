"""AEVC: anchors of a view enhanced by the graphs of views like it, no alignment.

Samples are rows here: the paper's A_i (d_i × m) is ``anchors`` (m × d_i), its Z_i
(m × n) is ``graph`` (n × m), and a view is near ``graph @ anchors``. Node a of a graph
is its anchor a.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer
from unaligned.kernels.anchor_graphs import match_anchors
from unaligned.kernels.residual import squared_residual, sum_of_squares
from unaligned.kernels.scaling import standardize, unit_rows
from unaligned.kernels.simplex_qp import solve_simplex_qp
from unaligned.kernels.spectral import embed_graph
from unaligned.parameters import NON_NEGATIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import Views

__all__ = ["AEVC"]

Array = NDArray[Any]


class State(NamedTuple):
    """What the one pass leaves behind."""

    anchors: list[Array]
    """Of each view, enhanced."""
    graphs: list[Array]
    """Of each view alone, their anchors in the order of those of all views."""
    common_graph: Array
    """Of all views side by side."""
    graph: Array
    """The final one."""
    view_graph: Array
    weights: Array


def anchor_graph(X: Array, anchors: Array) -> Array:
    """Minimise ‖x − zA‖² over the simplex, for every row x."""
    return solve_simplex_qp(2 * (anchors @ anchors.T), -2 * (X @ anchors.T))


def move_columns(graph: Array, target: NDArray[np.intp]) -> Array:
    """Z Tᵀ: column a goes to column ``target[a]``; those that meet are added up."""
    return graph @ np.eye(len(target), dtype=graph.dtype)[target]


def reorder_anchors(anchors: Array, target: NDArray[np.intp], order: str) -> Array:
    """Bring the anchors of a view into the order of the common ones.

    T A, as its graph Z Tᵀ asks for, is ``order="paper"``. The authors' program takes
    Tᵀ A: anchor a becomes anchor ``target[a]`` of the same view.
    """
    if order == "code":
        return anchors[target]
    return move_columns(anchors.T, target).T


def compare_views(graphs: list[Array]) -> Array:
    """Similarity of views: the inverse Wasserstein distance between their weights.

    The 2-Wasserstein distance between two multisets of as many numbers pairs them in
    sorted order. A view is not similar to itself, nor to one at distance zero.
    """
    weights = [np.sort(graph, axis=None) for graph in graphs]
    distance = np.zeros((len(graphs), len(graphs)))
    for i, a in enumerate(weights):
        for j, b in enumerate(weights[:i]):
            distance[i, j] = distance[j, i] = np.sqrt(np.mean((a - b) ** 2))
    return np.divide(1, distance, out=np.zeros_like(distance), where=distance > 0)


def normalise_rows(similarity: Array, how: str) -> Array:
    """Scale rows to sum to one, as the paper has it, or nearly so.

    The authors' program divides one entry after another by the sum of a row that it is
    changing, so that later views get more weight.
    """
    scaled = similarity.copy()
    if how == "paper":
        return _divide(scaled, scaled.sum(axis=1, keepdims=True))
    for column in range(len(scaled)):
        scaled[:, column] = _divide(scaled[:, column], scaled.sum(axis=1))
    return scaled


def find_neighbours(view_graph: Array) -> Array:
    """Share of each view (columns) in enhancing each other one (rows).

    The neighbours of view i are the third of all views with the largest entries in
    column i; their shares are the entries of row i, scaled to sum to one.
    """
    n_neighbours = -(-len(view_graph) // 3)
    # Stable, so that the first of equals wins.
    order = np.argsort(-view_graph, axis=0, kind="stable")[:n_neighbours]
    helps = np.zeros(view_graph.shape, dtype=bool)
    np.put_along_axis(helps, order, True, axis=0)
    shares = np.where(helps.T, view_graph, 0)
    return _divide(shares, shares.sum(axis=1, keepdims=True))


def weigh_views(view_graph: Array) -> Array:
    """Weights ω: how similar all others are to a view, scaled to sum to one."""
    similar = view_graph.sum(axis=0)
    if not similar.any():  # one view, or views whose graphs have the same weights
        similar = np.ones_like(similar)
    return similar / similar.sum()


def enhance_anchors(
    X: Array, anchors: Array, graphs: list[Array], shares: Array, gamma: float
) -> Array:
    """Mix into the anchors what the graphs of neighbouring views make of this view."""
    mixed = anchors.copy()
    for share, graph in zip(shares, graphs, strict=True):
        if share > 0:
            mixed += X.dtype.type(gamma * share) * standardize(graph.T @ X)
    return standardize(mixed)


def fuse_views(
    Xs: list[Array], anchors: list[Array], weights: Array, common: Array, lam: float
) -> Array:
    """Minimise Σ ω_i ‖x_i − z A_i‖² + λ‖z − z₀‖² over the simplex, for every sample."""
    curvature = lam * np.eye(common.shape[1])
    slopes = -lam * common
    for X, A, weight in zip(Xs, anchors, weights.astype(common.dtype), strict=True):
        curvature += weight * (A @ A.T)
        slopes -= weight * (X @ A.T)
    return solve_simplex_qp(2 * curvature, 2 * slopes)


def objective(
    Xs: list[Array],
    anchors: list[Array],
    weights: Array,
    common: Array,
    graph: Array,
    lam: float,
) -> float:
    """Σ ω_i ‖X_i − Z A_i‖² + λ‖Z − Z₀‖²."""
    errors = [
        squared_residual(sum_of_squares(X), X @ A.T, graph, A)
        for X, A in zip(Xs, anchors, strict=True)
    ]
    return float(weights @ errors) + lam * sum_of_squares(graph - common)


def _divide(values: Array, totals: Array) -> Array:
    """Quotient, or zero where the total is zero."""
    return values / np.where(totals > 0, totals, np.inf)


class AEVC(PairedRowsClusterer):
    """Anchor enhancement by view correlation (AEVC). It ignores misalignment.

    Finds anchors and anchor graphs of every view and of all views side by side, matches
    the anchors of each view to the latter, mixes into each view's anchors what the
    graphs of the most similar views make of it, learns one graph from all views and
    clusters its singular vectors. One pass, linear in n. Columns are z-scored first.

    Parameters
    ----------
    n_clusters : int, default=10
    n_anchors : int, default=None
        Anchors m of each view. None: 2 ``n_clusters``, as in the authors' program. They
        try ``n_clusters`` and five times that, too.
    gamma : float, default=100.0
        How much of the neighbouring views to mix into the anchors.
    lam : float, default=100.0
        Pull of the graph of all views side by side on the final graph.
    align_weight : float, default=1e4
        How much shared samples count in the matching of anchors, beside their
        structure.
    matching : {"argmax", "greedy", "optimal"}, default="argmax"
        How a soft matching of anchors becomes one: each anchor of a view takes its
        heaviest partner, which others may share, as in the authors' program; or one to
        one.
    anchor_order : {"code", "paper"}, default="code"
        Whether the anchors move as in the authors' program, which applies the matching
        to them the wrong way round, or along with their columns of the graph.
    view_scaling : {"code", "paper"}, default="code"
        Whether similarities of views are scaled one after another in place, as in the
        authors' program, which favours later views, or whole rows at a time.
    reference_view : int, default=0
        The view whose row order the method is scored in.
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
        The enhanced anchors, in the space of z-scores.
    anchor_graphs_ : list of ndarray of shape (n, n_anchors)
        Of every view alone, anchors in matched order.
    common_graph_ : ndarray of shape (n, n_anchors)
        Of all views side by side.
    consensus_graph_ : ndarray of shape (n, n_anchors)
        The final one; every row sums to one.
    view_graph_ : ndarray of shape (n_views, n_views)
        Similarity of views.
    view_weights_ : ndarray of shape (n_views,)
    embedding_ : ndarray of shape (n, n_clusters)
        What k-means clustered, in the order of the reference view.
    objective_ : ndarray of shape (1,)
        Of the final graph.

    Notes
    -----
    If a view has fewer features than anchors, the graph that fits it best is not
    unique. This class takes the one of smallest norm; the authors' program leaves the
    choice to an interior-point solver.

    References
    ----------
    S. Liu, K. Liang, Z. Dong, S. Wang, X. Yang, S. Zhou, E. Zhu, X. Liu. Learn from
    View Correlation: An Anchor Enhancement Strategy for Multi-view Clustering. CVPR
    2024.

    Examples
    --------
    >>> from unaligned.baselines import AEVC
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = AEVC(10, n_anchors=10, n_init=1, random_state=0)
    >>> model.fit(digits.Xs, aligned="all").labels_.shape
    (1797,)
    """

    citation: ClassVar[str] = (
        "@inproceedings{liu2024learn,\n"
        "  author = {Liu, Suyuan and Liang, Ke and Dong, Zhibin and Wang, Siwei\n"
        "            and Yang, Xihong and Zhou, Sihang and Zhu, En and Liu, Xinwang},\n"
        "  title = {Learn from View Correlation: An Anchor Enhancement Strategy for\n"
        "           Multi-view Clustering},\n"
        "  booktitle = {IEEE/CVF Conference on Computer Vision and Pattern\n"
        "               Recognition},\n"
        "  pages = {26151--26161},\n"
        "  year = {2024}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": ["m d"],
        "anchor_graphs_": ["n m"],
        "common_graph_": "t m",
        "consensus_graph_": "t m",
        "view_graph_": "v v",
        "view_weights_": "v",
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        "n_anchors": [POSITIVE_INT, None],
        "gamma": [NON_NEGATIVE],
        "lam": [NON_NEGATIVE],
        "align_weight": [NON_NEGATIVE],
        "matching": [StrOptions({"argmax", "greedy", "optimal"})],
        "anchor_order": [StrOptions({"code", "paper"})],
        "view_scaling": [StrOptions({"code", "paper"})],
    }
    _accepts_sparse = False  # a z-scored column has no zeros

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_anchors: int | None = None,
        gamma: float = 100.0,
        lam: float = 100.0,
        align_weight: float = 1e4,
        matching: str = "argmax",
        anchor_order: str = "code",
        view_scaling: str = "code",
        reference_view: int = 0,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.gamma = gamma
        self.lam = lam
        self.align_weight = align_weight
        self.matching = matching
        self.anchor_order = anchor_order
        self.view_scaling = view_scaling
        self.reference_view = reference_view
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views z-scored, as one matrix, and its copy for k-means; graphs."""
        n, m = views.n_rows[0], self.n_anchors or 2 * self.n_clusters
        graphs = len(views) * n * m * views.itemsize
        return 4 * sum(views.n_bytes) + graphs + 75 * n * m

    def _iterate_rows(
        self, Xs: list[Any], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        Xs = [standardize(X) for X in Xs]
        m = min(self.n_anchors or 2 * self.n_clusters, len(Xs[0]))
        seed = int(rng.randint(2**31 - 1))  # the same for all, as in the program
        common, _ = self._represent(np.hstack(Xs), m, seed)
        anchors, graphs = [], []
        for X in Xs:
            graph, own = self._represent(X, m, seed)
            target = match_anchors(common, graph, self.align_weight, self.matching)
            graphs.append(move_columns(graph, target))
            anchors.append(reorder_anchors(own, target, self.anchor_order))
        view_graph = normalise_rows(compare_views(graphs), self.view_scaling)
        weights = weigh_views(view_graph)
        enhanced = [
            enhance_anchors(X, A, graphs, shares, self.gamma)
            for X, A, shares in zip(
                Xs, anchors, find_neighbours(view_graph), strict=True
            )
        ]
        graph = fuse_views(Xs, enhanced, weights, common, self.lam)
        value = objective(Xs, enhanced, weights, common, graph, self.lam)
        state = State(enhanced, graphs, common, graph, view_graph, weights)
        yield Iterate(state, value, converged=True)

    def _represent(self, X: Array, m: int, seed: int) -> tuple[Array, Array]:
        """Graph and anchors of one matrix: z-scored centres of k-means."""
        anchors = standardize(cluster_rows(X, m, n_init=self.n_init, seed=seed)[1])
        return anchor_graph(X, anchors), anchors

    def _embed(self, state: State) -> tuple[Array, dict[str, Any]]:
        embedding = unit_rows(embed_graph(state.graph, self.n_clusters).vectors)
        return embedding, {
            "anchors_": state.anchors,
            "anchor_graphs_": state.graphs,
            "common_graph_": state.common_graph,
            "consensus_graph_": state.graph,
            "view_graph_": state.view_graph,
            "view_weights_": state.weights,
        }
