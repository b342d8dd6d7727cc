"""VuCG, a reconstruction: graph-regularised factors, matched to a template view.

Papers write samples as columns: X_i ≈ U_i V_i. Samples are rows here, X ≈ V Uᵀ: X_i
(d × n) is ``X`` (n × d) and V_i (k × n) is ``memberships`` (n × k) with rows on the
simplex; the basis U_i (d × k) keeps its shape. Π_i is a ``permutation`` whose entry s
is the row of view i that stands beside row s of the template. L is the normalised
Laplacian of a view's neighbour graph.
"""

import os
from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import kneighbors_graph
from sklearn.utils._param_validation import Interval, StrOptions

from unaligned.alignment import Alignment
from unaligned.base import Iterate, ViewClusterer
from unaligned.checkpoints import CHECKPOINT
from unaligned.kernels.matching import extend_matching, matching_confidence
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.residual import squared_residual, sum_of_squares
from unaligned.kernels.scaling import standardize, unit_rows
from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.smoothing import normalized_adjacency, smooth
from unaligned.kernels.spectral import embed_graph
from unaligned.kernels.view_weights import power_weights
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import COMMON, ITERATIVE, NON_NEGATIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.untested import untested_alignment
from unaligned.views import Views

__all__ = ["VuCG"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class State(NamedTuple):
    """What an iteration changes."""

    bases: list[Array]
    matched: list[Array]
    """Memberships that the matching compared."""
    memberships: list[Array]
    """The same, pulled towards the template."""
    weights: Array
    template: int
    permutations: list[Indices]
    objective: float


def neighbour_graph(X: Array, n_neighbors: int) -> Any:
    """Symmetric binary graph: an edge where either row is a neighbour of the other."""
    n = len(X)
    if n == 1:
        return sparse.csr_array((1, 1), dtype=X.dtype)
    nearest = kneighbors_graph(X, min(n_neighbors, n - 1), include_self=False)
    return sparse.csr_array(nearest.maximum(nearest.T), dtype=X.dtype)


def update_basis(X: Array, memberships: Array) -> Array:
    """U = Proc(Xᵀ V): the orthonormal basis that explains X best."""
    return polar_factor(X.T @ memberships)


def update_memberships(X: Array, basis: Array, graph: Any, lam: float) -> Array:
    """V = P_Δ((I + λL)⁻¹ X U): coordinates in the basis, smoothed, on the simplex.

    A heuristic: it projects the minimiser of ‖X − V Uᵀ‖² + λ Tr(Vᵀ L V) over all V,
    which need not be the minimiser over the simplex.
    """
    return project_simplex(smooth(graph, X @ basis, lam))


def relative_misfit(X: Array, memberships: Array, basis: Array) -> float:
    """ε = ‖X − V Uᵀ‖² / ‖X‖², largest for a view of zeros, which nothing explains."""
    squares = sum_of_squares(X)
    residual = squared_residual(squares, X @ basis, memberships, basis.T)
    return residual / squares if squares > 0 else np.finfo(np.float64).max


def match_views(
    memberships: list[Array], template: int, pairs: KnownPairs, matching: str
) -> list[Indices]:
    """Maximise Tr(Πᵀ V_iᵀ V_t) over the permutations that keep the known pairs."""
    return [
        np.arange(len(V))
        if i == template
        else extend_matching(
            V, memberships[template], pairs.between(i, template), method=matching
        )
        for i, V in enumerate(memberships)
    ]


def pull(memberships: Array, template: Array, permutation: Indices) -> Array:
    """Move every row half way to its partner in the template: V ← (V + Π V_t) / 2.

    Half way between two points of the simplex lies in the simplex. The template, its
    own partner, stays.
    """
    pulled: Array = (memberships + template[np.argsort(permutation)]) / 2
    return pulled


def fuse(
    memberships: list[Array], permutations: list[Indices], weights: Array
) -> Array:
    """Weighted sum of the aligned memberships, Σ φ_i V_i Π_i, in template order."""
    fused = np.zeros_like(memberships[0])
    for V, rows, weight in zip(memberships, permutations, weights, strict=True):
        fused += V.dtype.type(weight) * V[rows]
    return fused


def one_iteration(
    Xs: list[Array],
    graphs: list[Any],
    memberships: list[Array],
    pairs: KnownPairs,
    *,
    lam: float,
    tau: float,
    matching: str,
) -> State:
    """Bases, memberships, weights and template, matching, pull: in this order."""
    bases = [update_basis(X, V) for X, V in zip(Xs, memberships, strict=True)]
    matched = [
        update_memberships(X, U, graph, lam)
        for X, U, graph in zip(Xs, bases, graphs, strict=True)
    ]
    factors = zip(Xs, matched, bases, strict=True)
    errors = np.array([relative_misfit(X, V, U) for X, V, U in factors])
    weights = power_weights(errors, tau)
    template = int(np.argmax(weights))
    permutations = match_views(matched, template, pairs, matching)
    pulled = [
        pull(V, matched[template], rows)
        for V, rows in zip(matched, permutations, strict=True)
    ]
    return State(
        bases=bases,
        matched=matched,
        memberships=pulled,
        weights=weights,
        template=template,
        permutations=permutations,
        objective=float(weights**tau @ errors),
    )


class VuCG(ViewClusterer):
    """Reconstruction: view-unaligned clustering with graph regularisation (VuCG).

    .. warning::
       **This is a reconstruction, not the published method.** Neither the paper's text
       nor a program of its authors was at hand. Certain are its two parameters λ and τ
       with their ranges and, from its published times, an assignment in O(n³) of every
       view to a template. The steps below are ours, and so is the default of
       standardised columns, chosen because it comes near the published scores.

    Explains every view by an orthonormal basis and memberships on the simplex that are
    smooth over the view's own neighbour graph; takes the best explained view as
    template; matches the rows of the others to it by their memberships and pulls them
    half way to their partners; and clusters the weighted sum of the aligned
    memberships.

    Parameters
    ----------
    n_clusters : int, default=10
        Number of clusters k, and columns of the memberships.
    lam : float, default=1.0
        Weight λ of the graph regularisation. The paper tries 1, 4, 7 and 10.
    tau : float, default=1.5
        Sharpness τ of the view weights, above 1: towards 1 one view takes all. The
        paper tries 1.2, 1.5, 1.8 and 2.
    n_neighbors : int, default=5
        Neighbours of a row in its view's graph.
    matching : {"optimal", "greedy"}, default="optimal"
        All rows at once by linear assignment, in O(n³) time and n × n memory; or each
        row in turn, as they come, which takes neither.
    standardize : bool, default=True
        Whether columns are centred and brought to unit deviation.
    max_iter : int, default=15
        Most iterations.
    tol : float, default=1e-3
        Stop when the objective changes by less than this share of itself.
    n_init : int, default=20
        Restarts of k-means.
    checkpoint : path, default=None
        As in `unaligned.PAVuC`.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of k-means.
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_, alignment_, view_weights_
        As in `unaligned.PAVuC`. Trust is the share of rows whose partner was known.
    bases_ : list of ndarray of shape (n_features of the view, n_clusters)
    memberships_ : list of ndarray of shape (n, n_clusters)
        Of the rows of each view, in its own order, pulled towards the template.
    embedding_ : ndarray of shape (n, n_clusters)
        What k-means clustered, in the template's order.
    objective_ : ndarray of shape (n_iterations,)
        Σ φ_i^τ ε_i with the relative misfit ε_i of each view. The steps do not
        guarantee that it falls.
    n_iter_ : int
    converged_ : bool
    reconstruction : bool
        True.

    References
    ----------
    Cao, Dong, Chen. View-unaligned Clustering with Graph Regularization. Pattern
    Recognition, 2024, 110706.

    Examples
    --------
    >>> from unaligned.baselines import VuCG
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> shuffled = unalign(digits.Xs, digits.y, random_state=0)
    >>> model = VuCG(10, matching="greedy", max_iter=3, tol=1, random_state=0)
    >>> model.fit(shuffled.Xs).view_labels_[1].shape
    (1797,)
    """

    _accepts_sparse = False
    _n_threads = 1

    reconstruction: ClassVar[bool] = True

    citation: ClassVar[str] = (
        "@article{cao2024view,\n"
        "  author = {Cao and Dong and Chen},\n"
        "  title = {View-unaligned Clustering with Graph Regularization},\n"
        "  journal = {Pattern Recognition},\n"
        "  year = {2024},\n"
        "  pages = {110706}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "view_weights_": "v",
        "bases_": ["d k"],
        "memberships_": ["n k"],
        "embedding_": "t _",
    }

    _state_shapes: ClassVar[dict[str, Any]] = {"memberships": ["n k"]}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        **ITERATIVE,
        "lam": [NON_NEGATIVE],
        "tau": [Interval(Real, 1, None, closed="neither")],
        "n_neighbors": [POSITIVE_INT],
        "matching": [StrOptions({"greedy", "optimal"})],
        "standardize": ["boolean"],
        "checkpoint": CHECKPOINT,
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        lam: float = 1.0,
        tau: float = 1.5,
        n_neighbors: int = 5,
        matching: str = "optimal",
        standardize: bool = True,
        max_iter: int = 15,
        tol: float = 1e-3,
        n_init: int = 20,
        checkpoint: str | os.PathLike[str] | None = None,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.tau = tau
        self.n_neighbors = n_neighbors
        self.matching = matching
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.checkpoint = checkpoint
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count z-scored views; neighbours; memberships, and what smooths them."""
        n, v = views.n_rows[0], len(views)
        memberships = v * n * self.n_clusters * views.itemsize
        neighbours = n * self.n_neighbors * (4 * v * (views.itemsize + 8) + 100)
        return sum(views.n_bytes) + max(views.n_bytes) + neighbours + 4 * memberships

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        return self._solve(views, pairs, self._start(views, pairs, rng), np.inf)

    def _go_on(
        self, views: Views, pairs: KnownPairs, state: dict[str, Any], n_iter: int
    ) -> Iterator[Iterate]:
        return self._solve(views, pairs, state["memberships"], state["objective"])

    def _plain_state(self, state: State) -> dict[str, Any]:
        return {"memberships": state.memberships, "objective": state.objective}

    def _solve(
        self, views: Views, pairs: KnownPairs, memberships: list[Array], before: float
    ) -> Iterator[Iterate]:
        """Iterate from memberships, and the objective that they had."""
        Xs = views.arrays
        if self.standardize:
            Xs = [standardize(X) for X in Xs]
        neighbours = [neighbour_graph(X, self.n_neighbors) for X in Xs]
        graphs = [normalized_adjacency(graph) for graph in neighbours]
        while True:
            state = one_iteration(
                Xs,
                graphs,
                memberships,
                pairs,
                lam=self.lam,
                tau=self.tau,
                matching=self.matching,
            )
            change = abs(before - state.objective)
            yield Iterate(state, state.objective, change <= self.tol * state.objective)
            memberships, before = state.memberships, state.objective

    def _start(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> list[Array]:
        """One random start for all views, which ties the meaning of their columns.

        Rows that are known to be partners start from the same point.
        """
        n, rows = views.n_rows[0], np.arange(views.n_rows[0])
        start = rng.dirichlet(np.ones(self.n_clusters), size=n)
        start = start.astype(views.arrays[0].dtype)
        beside_first = [pairs.honoured(rows, i, 0) for i in range(1, len(views))]
        return [start, *(start[np.argsort(beside)] for beside in beside_first)]

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        fused = fuse(state.memberships, state.permutations, state.weights)
        points = unit_rows(embed_graph(fused, self.n_clusters).vectors)
        labels, _ = cluster_rows(points, self.n_clusters, n_init=self.n_init, seed=seed)
        view_labels = [labels[np.argsort(rows)] for rows in state.permutations]
        return {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": state.template,
            "alignment_": _alignment(state, views, pairs),
            "view_weights_": state.weights,
            "bases_": state.bases,
            "memberships_": state.memberships,
            "embedding_": points,
        }


def _alignment(state: State, views: Views, pairs: KnownPairs) -> Alignment:
    """Alignment of a state."""
    t = state.template
    known = [pairs.partnered(i, t) for i in range(len(views))]
    confidence = [
        matching_confidence(V, state.matched[t], permutation, rows)
        for V, permutation, rows in zip(
            state.matched, state.permutations, known, strict=True
        )
    ]
    return untested_alignment(t, state.permutations, confidence, views, pairs)
