"""LMVSC: anchor graphs of all views side by side, no alignment.

Samples are rows here: the paper's Z_i (m × n) is ``graph`` (n × m).
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer
from unaligned.kernels.residual import squared_residual, sum_of_squares
from unaligned.kernels.simplex_qp import solve_simplex_qp
from unaligned.kernels.spectral import embed_graph
from unaligned.parameters import POSITIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import Views

__all__ = ["LMVSC"]

Array = NDArray[Any]


def anchor_graph(X: Any, anchors: Array, alpha: float) -> Array:
    """Minimise ‖x − Aᵀz‖² + α‖z‖² over the simplex, for every row x."""
    curvature = 2 * (anchors @ anchors.T + alpha * np.eye(len(anchors)))
    return solve_simplex_qp(curvature, -2 * (X @ anchors.T))


def misfit(X: Any, anchors: Array, graph: Array, alpha: float) -> float:
    """Objective of one view: ‖X − Z A‖²_F + α‖Z‖²_F; a sparse X stays sparse."""
    fit = squared_residual(sum_of_squares(X), X @ anchors.T, graph, anchors)
    return fit + alpha * sum_of_squares(graph)


def stack_graphs(graphs: list[Array], degree_normalise: bool) -> Array:
    """All graphs side by side, each scaled by its anchors' degrees if wanted."""
    if degree_normalise:
        degrees = [graph.sum(axis=0) for graph in graphs]
        scales = [np.where(d > 0, d, np.inf) ** -0.5 for d in degrees]
        graphs = [graph * scale for graph, scale in zip(graphs, scales, strict=True)]
    return np.hstack(graphs) / np.sqrt(len(graphs))


class LMVSC(PairedRowsClusterer):
    """Large-scale multi-view subspace clustering (LMVSC). It ignores misalignment.

    Writes every row of a view as a convex combination of that view's k-means anchors,
    puts the anchor graphs of all views side by side and clusters their leading singular
    vectors. One pass, linear in n.

    Parameters
    ----------
    n_clusters : int, default=10
    n_anchors : int, default=None
        Anchors per view. None: ``n_clusters``.
    alpha : float, default=1.0
        Weight of the graphs' squared norm.
    degree_normalise : bool, default=False
        Scale each graph by the degrees of its anchors, as the paper writes and its
        authors' program does not.
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
    anchor_graphs_ : list of ndarray of shape (n, n_anchors)
    embedding_ : ndarray of shape (n, n_clusters)
        What k-means clustered, in the order of the reference view.
    objective_ : ndarray of shape (1,)
        Sum over views of the squared misfit and the weighted norm of the graph.

    References
    ----------
    Z. Kang, W. Zhou, Z. Zhao, J. Shao, M. Han, Z. Xu. Large-Scale Multi-View Subspace
    Clustering in Linear Time. AAAI 2020.

    Examples
    --------
    >>> from unaligned.baselines import LMVSC
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> LMVSC(10, random_state=0).fit(digits.Xs, aligned="all").labels_.shape
    (1797,)
    """

    citation: ClassVar[str] = (
        "@inproceedings{kang2020large,\n"
        "  author = {Kang, Zhao and Zhou, Wangtao and Zhao, Zhitong and Shao, Junming\n"
        "            and Han, Meng and Xu, Zenglin},\n"
        "  title = {Large-Scale Multi-View Subspace Clustering in Linear Time},\n"
        "  booktitle = {AAAI Conference on Artificial Intelligence},\n"
        "  year = {2020}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": ["_ d"],
        "anchor_graphs_": ["n _"],
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        "n_anchors": [POSITIVE_INT, None],
        "alpha": [POSITIVE],
        "degree_normalise": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_anchors: int | None = None,
        alpha: float = 1.0,
        degree_normalise: bool = False,
        reference_view: int = 0,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.alpha = alpha
        self.degree_normalise = degree_normalise
        self.reference_view = reference_view
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views side by side; k-means on one, or programs in float64."""
        n, m = views.n_rows[0], self.n_anchors or self.n_clusters
        programs = len(views) * n * m * views.itemsize + 100 * n * m
        return sum(views.n_bytes) + max(2 * max(views.n_bytes), programs)

    def _iterate_rows(
        self, Xs: list[Any], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        m = min(self.n_anchors or self.n_clusters, Xs[0].shape[0])
        seed = int(rng.randint(2**31 - 1))  # the same for all views, as in the program
        anchors = [cluster_rows(X, m, n_init=self.n_init, seed=seed)[1] for X in Xs]
        views = list(zip(Xs, anchors, strict=True))
        graphs = [anchor_graph(X, A, self.alpha) for X, A in views]
        error = sum(
            misfit(X, A, Z, self.alpha) for (X, A), Z in zip(views, graphs, strict=True)
        )
        yield Iterate((anchors, graphs), error, converged=True)

    def _embed(
        self, state: tuple[list[Array], list[Array]]
    ) -> tuple[Array, dict[str, Any]]:
        anchors, graphs = state
        stacked = stack_graphs(graphs, self.degree_normalise)
        embedding = embed_graph(stacked, self.n_clusters).vectors
        return embedding, {
            "anchors_": anchors,
            "anchor_graphs_": graphs,
        }
