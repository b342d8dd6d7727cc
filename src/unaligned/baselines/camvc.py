"""CAMVC: anchors gathered around orthogonal cluster centres, no alignment.

Samples are rows here: the paper's A_i (d_i × Mk) is ``anchors`` (Mk × d_i), its P_i
(d_i × k) is ``centers`` (k × d_i), its Z (Mk × n) is ``codes`` (n × Mk). A view is near
``codes @ anchors``. The indicator Y is never formed: anchors come in k groups of M
neighbours, so ``P_i Y`` repeats centres and ``A_i Yᵀ`` sums groups.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from unaligned.base import Iterate
from unaligned.baselines._paired import PAIRED, PairedRowsClusterer, until_settled
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.residual import squared_residual, sum_of_squares
from unaligned.kernels.scaling import unit_rows
from unaligned.kernels.view_weights import power_weights
from unaligned.parameters import ITERATIVE, POSITIVE, POSITIVE_INT
from unaligned.views import Views

__all__ = ["CAMVC"]

Array = NDArray[Any]

# The authors' program does not look at the change of the objective before.
FIRST_CHECK = 3


class State(NamedTuple):
    """What an iteration changes."""

    codes: Array
    anchors: list[Array]
    centers: list[Array]
    weights: Array
    objective: float


def update_codes(
    Xs: list[Any], anchors: list[Array], weights: Array, beta: float
) -> Array:
    """Minimise Σ w_i² ‖X_i − Z A_i‖² + β‖Z‖² over Z."""
    views = list(zip(weights**2, Xs, anchors, strict=True))
    ridge = beta * np.eye(len(anchors[0]), dtype=anchors[0].dtype)
    gram = sum((w * (A @ A.T) for w, _, A in views), start=ridge)
    return np.linalg.solve(gram, sum(w * (X @ A.T) for w, X, A in views).T).T


def update_anchors(X: Any, codes: Array, centers: Array, alpha: float) -> Array:
    """Minimise ‖X − Z A‖² + α‖A − Yᵀ P‖² over A."""
    pull = alpha * _repeat(centers, codes.shape[1])
    gram = codes.T @ codes + alpha * np.eye(codes.shape[1], dtype=codes.dtype)
    # Transposed twice because a sparse view must stand on the left.
    return np.linalg.solve(gram, (X.T @ codes).T + pull)


def update_centers(anchors: Array, k: int) -> Array:
    """Minimise ‖A − Yᵀ P‖² over P with P Pᵀ = I."""
    return polar_factor(anchors.reshape(k, -1, anchors.shape[1]).sum(axis=1))


def misfit(
    squares: float, X: Any, codes: Array, anchors: Array, centers: Array, alpha: float
) -> float:
    """‖X − Z A‖² + α‖A − Yᵀ P‖², given ‖X‖²; a sparse X stays sparse."""
    fit = squared_residual(squares, X @ anchors.T, codes, anchors)
    return fit + alpha * sum_of_squares(anchors - _repeat(centers, len(anchors)))


def init_state(Xs: list[Any], k: int, per_cluster: int, learn_weights: bool) -> State:
    """Centres on the first k coordinate axes, anchors nowhere yet."""
    n, dtype = Xs[0].shape[0], Xs[0].dtype
    m = per_cluster * k
    return State(
        codes=np.zeros((n, m), dtype),
        anchors=[np.zeros((m, X.shape[1]), dtype) for X in Xs],
        centers=[np.eye(k, X.shape[1], dtype=dtype) for X in Xs],
        weights=np.full(len(Xs), 1 / len(Xs) if learn_weights else 1, dtype),
        objective=np.inf,
    )


def one_iteration(
    Xs: list[Any],
    squares: list[float],
    state: State,
    alpha: float,
    beta: float,
    learn_weights: bool,
) -> State:
    """Codes, then anchors, then centres, then, if wanted, the weights of the views."""
    _, anchors, centers, weights, _ = state
    codes = update_codes(Xs, anchors, weights, beta)
    anchors = [
        update_anchors(X, codes, P, alpha) for X, P in zip(Xs, centers, strict=True)
    ]
    centers = [update_centers(A, len(P)) for A, P in zip(anchors, centers, strict=True)]
    views = zip(squares, Xs, anchors, centers, strict=True)
    errors = np.array([misfit(s, X, codes, A, P, alpha) for s, X, A, P in views])
    if learn_weights:
        weights = power_weights(errors, exponent=2).astype(codes.dtype)
    objective = float(weights**2 @ errors) + beta * sum_of_squares(codes)
    return State(codes, anchors, centers, weights, objective)


def _repeat(centers: Array, m: int) -> Array:
    """Yᵀ P: the centre of each of the m anchors."""
    return np.repeat(centers, m // len(centers), axis=0)


class CAMVC(PairedRowsClusterer):
    """Multi-view clustering with cluster-wise anchors (CAMVC). It ignores misalignment.

    Writes every row of a view as a combination of anchors, with coefficients that all
    views share, and holds the anchors of each cluster close to one of k orthogonal
    centres; then clusters the coefficients. Linear in n. Rows are scaled to unit length
    first.

    .. note::
       The anchors start on the first ``n_clusters`` coordinate axes, so the order of
       the columns matters where a view has more columns than clusters. A view whose
       first columns are all zero leaves some anchors unused.

    Parameters
    ----------
    n_clusters : int, default=10
    anchors_per_cluster : int, default=1
        Number M of anchors of each cluster; the authors try 1, 3 and 5.
    alpha : float, default=0.1
        Pull of the centres on the anchors.
    beta : float, default=10.0
        Weight of the coefficients' squared norm.
    learn_weights : bool, default=False
        Weigh views by how well they are explained, with weights that sum to one. The
        paper's model has weights; its authors' program holds all of them at 1.
    reference_view : int, default=0
        The view whose row order the method is scored in.
    max_iter : int, default=15
    tol : float, default=1e-4
        Stop when the objective changes by less than this share of itself, though not
        before the third iteration.
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
    anchors_ : list of ndarray of shape (n_anchors, n_features of the view)
        All anchors of the first cluster, then all of the second, and so on.
    cluster_centers_ : list of ndarray of shape (n_clusters, n_features of the view)
        Orthonormal rows, if the view has that many columns.
    codes_ : ndarray of shape (n, n_anchors)
        Coefficients of the rows, of any sign.
    view_weights_ : ndarray of shape (n_views,)
    embedding_ : ndarray of shape (n, n_anchors)
        What k-means clustered, in the order of the reference view.
    objective_ : ndarray of shape (n_iterations,)
        Weighted squared residuals and distances to the centres, and the weighted norm
        of the coefficients.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    C. Zhang, X. Jia, Z. Li, C. Chen, H. Li. Learning Cluster-Wise Anchors for
    Multi-View Clustering. AAAI 2024.

    Examples
    --------
    >>> from unaligned.baselines import CAMVC
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> CAMVC(10, random_state=0).fit(digits.Xs, aligned="all").labels_.shape
    (1797,)
    """

    citation: ClassVar[str] = (
        "@inproceedings{zhang2024learning,\n"
        "  author = {Zhang, Chao and Jia, Xiuyi and Li, Zechao and Chen, Chunlin\n"
        "            and Li, Huaxiong},\n"
        "  title = {Learning Cluster-Wise Anchors for Multi-View Clustering},\n"
        "  booktitle = {AAAI Conference on Artificial Intelligence},\n"
        "  year = {2024}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "anchors_": ["m d"],
        "cluster_centers_": ["k d"],
        "codes_": "t m",
        "view_weights_": "v",
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "anchors_per_cluster": [POSITIVE_INT],
        "alpha": [POSITIVE],
        "beta": [POSITIVE],
        "learn_weights": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        anchors_per_cluster: int = 1,
        alpha: float = 0.1,
        beta: float = 10.0,
        learn_weights: bool = False,
        reference_view: int = 0,
        max_iter: int = 15,
        tol: float = 1e-4,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.anchors_per_cluster = anchors_per_cluster
        self.alpha = alpha
        self.beta = beta
        self.learn_weights = learn_weights
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count views side by side and scaled; codes, and what they are solved from."""
        m = self.anchors_per_cluster * self.n_clusters
        codes = views.n_rows[0] * m * views.itemsize
        of_views = sum(views.n_bytes)
        return max(2 * of_views + 4 * codes, of_views + 10 * codes)

    def _iterate_rows(
        self, Xs: list[Any], rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        Xs = [normalize(X) for X in Xs]
        squares = [sum_of_squares(X) for X in Xs]
        state = init_state(
            Xs, self.n_clusters, self.anchors_per_cluster, self.learn_weights
        )

        def step(state: State) -> State:
            return one_iteration(
                Xs, squares, state, self.alpha, self.beta, self.learn_weights
            )

        yield from until_settled(step, state, self.tol, FIRST_CHECK)

    def _embed(self, state: State) -> tuple[Array, dict[str, Any]]:
        embedding = unit_rows(state.codes)
        return embedding, {
            "anchors_": state.anchors,
            "cluster_centers_": state.centers,
            "codes_": state.codes,
            "view_weights_": state.weights,
        }
