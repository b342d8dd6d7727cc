"""FDAGF: every view chooses among anchor graphs of several sizes, no alignment.

Samples are rows here: the paper's A_ir (d_i × m_r) is ``anchors`` (m_r × d_i), its Z_ir
(m_r × n) is ``graph`` (n × m_r), and a view is near ``graph @ anchors``.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer
from unaligned.kernels.anchor_graphs import misfit, update_graph
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.scaling import standardize
from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.spectral import embed_graph
from unaligned.parameters import ITERATIVE, NON_NEGATIVE, POSITIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import Views

__all__ = ["FDAGF"]

Array = NDArray[Any]

# The authors' program does not look at the change of the objective before.
FIRST_CHECK = 10


class State(NamedTuple):
    """What an iteration changes; ``anchors[i][r]`` is that of scale r of view i."""

    anchors: list[list[Array]]
    graphs: list[list[Array]]
    weights: Array
    """β (n_views × n_scales); every row lies on the simplex."""
    objective: float


def update_anchors(X: Array, graph: Array) -> Array:
    """Minimise ‖X − Z A‖² over A with A Aᵀ = I."""
    return polar_factor(graph.T @ X)


def update_weights(errors: Array, lam: float) -> Array:
    """Minimise Σ_r β_ir e_ir + λ Σ_r β_ir² over the simplex, for every view i."""
    return project_simplex(-errors / (2 * lam))


def objective(errors: Array, weights: Array, lam: float) -> float:
    """Σ_ir β_ir e_ir + λ Σ_ir β_ir²."""
    return float(np.vdot(weights, errors) + lam * np.vdot(weights, weights))


def fuse_graphs(graphs: list[list[Array]], weights: Array) -> Array:
    """All graphs side by side, scaled by their anchors' degrees and by √β_ir.

    Graphs without weight are left out: their columns would be zero. The result is
    float64, because a large α makes graphs whose rows differ by little.
    """
    blocks = []
    for scales, betas in zip(graphs, weights, strict=True):
        for graph, beta in zip(scales, betas, strict=True):
            if beta > 0:
                degrees = graph.sum(axis=0, dtype=np.float64)
                scale = np.sqrt(beta / np.where(degrees > 0, degrees, np.inf))
                blocks.append(graph * scale)
    return np.hstack(blocks)


def one_iteration(Xs: list[Array], state: State, alpha: float, lam: float) -> State:
    """Graphs, then anchors, then the weights of the scales."""
    anchors, graphs, errors = [], [], np.empty_like(state.weights)
    for i, (X, scales) in enumerate(zip(Xs, state.anchors, strict=True)):
        graphs.append([update_graph(X, A, alpha) for A in scales])
        anchors.append([update_anchors(X, Z) for Z in graphs[i]])
        errors[i] = [
            misfit(X, A, Z, alpha) for A, Z in zip(anchors[i], graphs[i], strict=True)
        ]
    weights = update_weights(errors, lam)
    return State(anchors, graphs, weights, objective(errors, weights, lam))


class FDAGF(PairedRowsClusterer):
    """Flexible and diverse anchor graph fusion (FDAGF). It ignores misalignment.

    Learns anchor graphs of several sizes for every view, lets each view weigh its sizes
    by how well they fit, puts all weighted graphs side by side and clusters their
    leading singular vectors. Linear in n. Columns are z-scored first.

    Parameters
    ----------
    n_clusters : int, default=10
    n_scales : int, default=4
        Number R of graphs per view, with ``n_clusters``, 2 ``n_clusters``, …,
        R ``n_clusters`` anchors. Scales that would have more anchors than there are
        rows become one with as many anchors as rows.
    alpha : float, default=1000.0
        Weight of the graphs' squared norm.
    lam : float, default=10.0
        Weight λ of the squared weights of the scales. Errors grow with the number of
        entries of a view: λ far below that number picks the best scale of each view,
        λ far above it weighs all scales alike.
    reference_view : int, default=0
        The view whose row order the method is scored in.
    max_iter : int, default=50
    tol : float, default=1e-5
        Stop, after ten iterations at least, when the objective changes by less than
        this share of itself.
    n_init : int, default=10
        Restarts of every k-means. The first anchors of all scales take most of the
        time: with many rows, 1 makes a fit several times as fast.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_, alignment_
        As in `unaligned.PAVuC`; row r of all views shares a label unless ``aligned``
        says that it belongs elsewhere.
    anchors_ : list of list of ndarray of shape (n_anchors, n_features of the view)
        Of every scale of every view, in the space of z-scores.
    anchor_graphs_ : list of list of ndarray of shape (n, n_anchors)
        Of every scale of every view; rows sum to one.
    scale_weights_ : ndarray of shape (n_views, n_scales)
        Weight β of every scale; each view's sum to one.
    embedding_ : ndarray of shape (n, n_clusters)
        What k-means clustered, in the order of the reference view.
    objective_ : ndarray of shape (n_iterations,)
        Falls from the second iteration on if no scale has more anchors than its view
        has features.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    The defaults of ``n_scales``, ``alpha`` and ``lam`` are those of the authors' demo.

    References
    ----------
    P. Zhang, S. Wang, L. Li, C. Zhang, X. Liu, E. Zhu, Z. Liu, L. Zhou, L. Luo. Let the
    Data Choose: Flexible and Diverse Anchor Graph Fusion for Scalable Multi-View
    Clustering. AAAI 2023.

    Examples
    --------
    >>> from unaligned.baselines import FDAGF
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = FDAGF(10, n_scales=2, n_init=1, tol=1e-2, random_state=0)
    >>> model.fit(digits.Xs, aligned="all").scale_weights_.shape
    (4, 2)
    """

    citation: ClassVar[str] = (
        "@inproceedings{zhang2023let,\n"
        "  author = {Zhang, Pei and Wang, Siwei and Li, Liang and Zhang, Changwang\n"
        "            and Liu, Xinwang and Zhu, En and Liu, Zhe and Zhou, Lu\n"
        "            and Luo, Lei},\n"
        "  title = {Let the Data Choose: Flexible and Diverse Anchor Graph Fusion for\n"
        "           Scalable Multi-View Clustering},\n"
        "  booktitle = {AAAI Conference on Artificial Intelligence},\n"
        "  pages = {11262--11269},\n"
        "  year = {2023}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": [["_ d"]],
        "anchor_graphs_": [["n _"]],
        "scale_weights_": "v _",
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "n_scales": [POSITIVE_INT],
        "alpha": [NON_NEGATIVE],
        "lam": [POSITIVE],
    }

    _accepts_sparse = False

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_scales: int = 4,
        alpha: float = 1000.0,
        lam: float = 10.0,
        reference_view: int = 0,
        max_iter: int = 50,
        tol: float = 1e-5,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_scales = n_scales
        self.alpha = alpha
        self.lam = lam
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views side by side and z-scored; graphs, fused in float64."""
        views_twice = 2 * sum(views.n_bytes) + max(views.n_bytes)
        m = self.n_clusters * self.n_scales * (self.n_scales + 1) // 2
        weights = len(views) * views.n_rows[0] * m
        fusing = (views.itemsize + 16) * weights
        return max(views_twice, sum(views.n_bytes) + fusing)

    def _iterate_rows(
        self, Xs: list[Array], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        Xs = [standardize(X) for X in Xs]
        seed = int(rng.randint(2**31 - 1))  # the same for all, as in the program
        state = self._start(Xs, seed)
        for iteration in count(1):
            following = one_iteration(Xs, state, self.alpha, self.lam)
            change = abs(state.objective - following.objective)
            settled = change <= self.tol * abs(following.objective)
            state = following
            converged = iteration >= FIRST_CHECK and settled
            yield Iterate(state, state.objective, converged)

    def _start(self, Xs: list[Array], seed: int) -> State:
        """Centres of k-means as anchors of every size, all sizes weighed alike."""
        k, n = self.n_clusters, len(Xs[0])
        sizes = sorted({min(r * k, n) for r in range(1, self.n_scales + 1)})
        anchors = [
            [cluster_rows(X, m, n_init=self.n_init, seed=seed)[1] for m in sizes]
            for X in Xs
        ]
        weights = np.full((len(Xs), len(sizes)), 1 / len(sizes))
        return State(anchors, [], weights, np.inf)

    def _embed(self, state: State) -> tuple[Array, dict[str, Any]]:
        fused = fuse_graphs(state.graphs, state.weights)
        embedding = embed_graph(fused, self.n_clusters).vectors
        return embedding, {
            "anchors_": state.anchors,
            "anchor_graphs_": state.graphs,
            "scale_weights_": state.weights,
        }
