"""FPMVS-CAG: one anchor graph for all views, by way of shared anchors, no alignment.

Samples are rows here: the paper's X_i (d_i × n) is ``X`` (n × d_i), its A (d × m) is
``anchors`` (m × d), its Z (m × n) is ``graph`` (n × m); W_i (d_i × d) is ``projection``
as it stands. A view is near ``graph @ anchors @ projection.T``.
"""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Options, StrOptions

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer, until_settled
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.residual import squared_residual, sum_of_squares
from unaligned.kernels.scaling import standardize, unit_rows
from unaligned.kernels.simplex import project_simplex
from unaligned.kernels.spectral import embed_graph
from unaligned.kernels.view_weights import power_weights
from unaligned.parameters import ITERATIVE
from unaligned.views import Views

__all__ = ["FPMVSCAG"]

Array = NDArray[Any]

# The authors' program does not look at the change of the objective before.
FIRST_CHECK = 10


class State(NamedTuple):
    """What an iteration changes."""

    projections: list[Array]
    anchors: Array
    graph: Array
    weights: Array
    objective: float


def update_projection(X: Array, anchors: Array, graph: Array) -> Array:
    """Minimise ‖X − Z A Wᵀ‖² over W with Wᵀ W = I."""
    return polar_factor(X.T @ (graph @ anchors))


def update_anchors(latents: list[Array], graph: Array, weights: Array) -> Array:
    """Minimise Σ α_i² ‖X_i W_i − Z A‖² over A with A Aᵀ = I; a latent is X_i W_i."""
    return polar_factor(
        sum(
            a**2 * (graph.T @ latent)
            for a, latent in zip(weights, latents, strict=True)
        )
    )


def update_graph(
    latents: list[Array], anchors: Array, weights: Array, weighting: str
) -> Array:
    """Minimise Σ α_i² ‖x_i W_i − z A‖² over the simplex, for every sample.

    The minimiser projects the weighted mean of ``x_i W_i Aᵀ``. The authors' program
    leaves the weights out of the sum but divides by theirs, which stretches the mean
    about v² times and makes nearly every row an indicator of one anchor.
    """
    shares = weights**2 if weighting == "paper" else np.ones_like(weights)
    total = sum(c * latent for c, latent in zip(shares, latents, strict=True))
    return project_simplex(total @ anchors.T / np.sum(weights**2))


def misfit(
    squares: float, latent: Array, projection: Array, anchors: Array, graph: Array
) -> float:
    """‖X − Z A Wᵀ‖², given ‖X‖² and X W."""
    basis = anchors @ projection.T
    return squared_residual(squares, latent @ anchors.T, graph, basis)


def update_weights(errors: Array, residual_power: int) -> Array:
    """Minimise Σ α_i² ‖R_i‖^p over the simplex, where ``errors`` are the ‖R_i‖²."""
    return power_weights(errors ** (residual_power / 2), exponent=2)


def init_state(Xs: list[Array], m: int) -> State:
    """Sample h is anchor h for the first m samples; nothing else is known yet."""
    n, dtype = len(Xs[0]), Xs[0].dtype
    axes = [np.eye(X.shape[1], m, dtype=dtype) for X in Xs]
    weights = np.full(len(Xs), 1 / len(Xs), dtype=dtype)
    return State(
        axes, np.zeros((m, m), dtype), np.eye(n, m, dtype=dtype), weights, np.inf
    )


def one_iteration(
    Xs: list[Array],
    squares: list[float],
    state: State,
    graph_weighting: str,
    residual_power: int,
) -> State:
    """Projections, then anchors, then the graph, then the weights of the views."""
    _, anchors, graph, weights, _ = state
    projections = state.projections
    if anchors.any():  # not so at the start, where the coordinate axes stay
        projections = [update_projection(X, anchors, graph) for X in Xs]
    latents = [X @ W for X, W in zip(Xs, projections, strict=True)]
    anchors = update_anchors(latents, graph, weights)
    graph = update_graph(latents, anchors, weights, graph_weighting)
    views = zip(squares, latents, projections, strict=True)
    errors = np.array([misfit(s, L, W, anchors, graph) for s, L, W in views])
    weights = update_weights(errors, residual_power).astype(graph.dtype)
    return State(projections, anchors, graph, weights, float(weights**2 @ errors))


class FPMVSCAG(PairedRowsClusterer):
    """Subspace clustering by consensus anchors (FPMVS-CAG). It ignores misalignment.

    Learns ``n_clusters`` orthogonal anchors in a latent space of as many dimensions, a
    projection of every view into that space, and one graph between samples and anchors
    that all views share; then clusters the singular vectors of the graph. Linear in n,
    and no parameter to tune. Columns are z-scored first.

    .. note::
       The authors' solver is published in encrypted form. What this class calls their
       program is a readable copy with the same interface and the same authors' earlier
       SMVSC.

    Parameters
    ----------
    n_clusters : int, default=10
    graph_weighting : {"code", "paper"}, default="code"
        How views meet in the graph: in a sum that ignores their weights, as in the
        authors' program, or in their weighted mean, which is the minimiser. Only with
        ``"paper"`` the objective cannot rise.
    residual_power : {1, 2}, default=2
        Views weigh inversely to this power of the norm of their residual. 2 is the
        minimiser; the authors' program has 1.
    reference_view : int, default=0
        The view whose row order the method is scored in.
    max_iter : int, default=20
    tol : float, default=1e-4
        Stop when the objective changes by less than this share of itself, though not
        before the tenth iteration.
    n_init : int, default=10
        Restarts of k-means.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means; the rest is deterministic.
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_, alignment_
        As in `unaligned.PAVuC`; row r of all views shares a label unless ``aligned``
        says that it belongs elsewhere.
    anchors_ : ndarray of shape (n_clusters, n_clusters)
        Orthonormal rows in the latent space.
    projections_ : list of ndarray of shape (n_features of the view, n_clusters)
        From the z-scored view into the latent space.
    anchor_graph_ : ndarray of shape (n, n_clusters)
        Every row sums to one.
    view_weights_ : ndarray of shape (n_views,)
    embedding_ : ndarray of shape (n, n_clusters)
        What k-means clustered, in the order of the reference view.
    objective_ : ndarray of shape (n_iterations,)
        Sum over views of squared weight times squared residual.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    S. Wang, X. Liu, X. Zhu, P. Zhang, Y. Zhang, F. Gao, E. Zhu. Fast Parameter-Free
    Multi-View Subspace Clustering With Consensus Anchor Guidance. IEEE Transactions on
    Image Processing 31, 2022.

    Examples
    --------
    >>> from unaligned.baselines import FPMVSCAG
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> model = FPMVSCAG(10, tol=1e-2, random_state=0)
    >>> model.fit(digits.Xs, aligned="all").labels_.shape
    (1797,)
    """

    citation: ClassVar[str] = (
        "@article{wang2022fast,\n"
        "  author = {Wang, Siwei and Liu, Xinwang and Zhu, Xinzhong and Zhang, Pei\n"
        "            and Zhang, Yi and Gao, Feng and Zhu, En},\n"
        "  title = {Fast Parameter-Free Multi-View Subspace Clustering With Consensus\n"
        "           Anchor Guidance},\n"
        "  journal = {IEEE Transactions on Image Processing},\n"
        "  volume = {31},\n"
        "  pages = {556--568},\n"
        "  year = {2022}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": "m l",
        "projections_": ["d l"],
        "anchor_graph_": "t m",
        "view_weights_": "v",
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "graph_weighting": [StrOptions({"code", "paper"})],
        "residual_power": [Options(Integral, {1, 2})],
    }
    _accepts_sparse = False  # a z-scored column has no zeros

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        graph_weighting: str = "code",
        residual_power: int = 2,
        reference_view: int = 0,
        max_iter: int = 20,
        tol: float = 1e-4,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.graph_weighting = graph_weighting
        self.residual_power = residual_power
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views side by side and z-scored; then latent points and graphs."""
        views_twice = 2 * sum(views.n_bytes) + max(views.n_bytes)
        graph = views.n_rows[0] * self.n_clusters * views.itemsize
        return max(views_twice, sum(views.n_bytes) + (len(views) + 9) * graph)

    def _iterate_rows(
        self, Xs: list[Any], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        Xs = [standardize(X) for X in Xs]
        squares = [sum_of_squares(X) for X in Xs]

        def step(state: State) -> State:
            return one_iteration(
                Xs, squares, state, self.graph_weighting, self.residual_power
            )

        start = init_state(Xs, self.n_clusters)
        yield from until_settled(step, start, self.tol, FIRST_CHECK)

    def _embed(self, state: State) -> tuple[Array, dict[str, Any]]:
        embedding = unit_rows(embed_graph(state.graph, self.n_clusters).vectors)
        return embedding, {
            "anchors_": state.anchors,
            "projections_": state.projections,
            "anchor_graph_": state.graph,
            "view_weights_": state.weights,
        }
