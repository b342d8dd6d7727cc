"""SCOT: every view is transported onto a reference view along their neighbour graphs.

Samples are rows, as in the paper.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unaligned.baselines._graph_transport import (
    Coupling,
    barycentres,
    correlation_rows,
    couple,
    default_neighbors,
    graph_distances,
    one_to_one,
    tried_neighbors,
)
from unaligned.baselines._paired import PAIRED
from unaligned.baselines._reference_space import (
    Brought,
    Known,
    ReferenceSpaceClusterer,
    dense,
)
from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.parameters import ITERATIVE, POSITIVE, POSITIVE_INT
from unaligned.views import Views

__all__ = ["SCOT"]

Array = NDArray[Any]

# That tuning tries: a reconstruction, inside the range that the authors recommend, 5e-5
# to 0.1.
EPSILONS = np.logspace(-1, -3, 12)
N_NEAREST = 5  # rows whose places a new row takes the mean of
# Arrays of n × n in float64 at the peak, with those of POT's solver.
TABLES = 10


class SCOT(ReferenceSpaceClusterer):
    """Single-cell alignment with optimal transport (SCOT).

    Joins every row of a view to its most correlated rows, counts the steps between rows
    on that graph, and moves the rows of each view onto those of the reference view so
    that steps are kept: entropic Gromov-Wasserstein transport. Every row goes to the
    mean of its partners. Takes memory of n² and time of n³ in each of its iterations.

    .. warning::
       It has no test of its own matches: ``alignment_.trust`` is NaN. The smallest
       Gromov-Wasserstein distance, by which it can tune itself, need not be that of a
       right answer: on scGEM the tuned answer is reversed (FOSCTTM 0.68, where 0.5 is
       chance), the default one is not (0.21).

    Parameters
    ----------
    n_clusters : int, default=10
    n_neighbors : int, default=None
        Rows that each row is joined to, itself among them. None: a fifth of the rows,
        at most 50.
    epsilon : float, default=1e-3
        Weight ε of the entropy. Doubled where the solver underflows.
    self_tune : bool, default=False
        Choose ε at the default number of neighbours, then that number, by the smallest
        Gromov-Wasserstein distance. ``n_neighbors`` and ``epsilon`` are not used then.
    reference_view : int, default=0
        The view that the others are moved onto.
    max_iter : int, default=200
        Most iterations of the solver. Its own default is 1000; on scGEM 200 lead to the
        same distance.
    tol : float, default=1e-9
        Stop when the plan changes by less.
    n_init : int, default=10
        Restarts of k-means.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means. Nothing else is random.
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_
        As in `unaligned.PAVuC`. Clusters are those of all rows together in the space of
        the reference view.
    alignment_ : Alignment
        One to one, by the largest total weight in the plan; confidence is the share of
        a row's weight that its partner has.
    places_ : list of ndarray of shape (rows of the view, n_directions)
        Rows of every view in the space of the reference view.
    cluster_centers_ : ndarray of shape (n_clusters, n_directions)
    gw_distances_ : list of float
        Gromov-Wasserstein distance of each view to the reference view.
    n_neighbors_ : list of int
    epsilons_ : list of float
        What was used for each view.

    Notes
    -----
    Not in the paper: clusters; more than two views; known pairs, which are kept and
    placed on each other, but do not guide the others; and new rows, which are placed at
    the mean of their five most correlated rows. The paper tunes k and ε by the
    Gromov-Wasserstein distance; the values tried here, twelve of ε and then five of k,
    are a reconstruction.

    References
    ----------
    P. Demetci et al. SCOT: Single-cell multi-omics alignment with optimal transport.
    Journal of Computational Biology 29(1), 2022.

    Examples
    --------
    >>> from unaligned.baselines import SCOT
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> shuffled = unalign([X[:100] for X in digits.Xs[:2]], random_state=0)
    >>> model = SCOT(10, epsilon=5e-3, random_state=0).fit(shuffled.Xs)
    >>> [rows.shape for rows in model.places_]
    [(100, 64), (100, 64)]
    """

    citation: ClassVar[str] = (
        "@article{demetci2022scot,\n"
        "  author = {Demetci, Pinar and Santorella, Rebecca and Sandstede, Bjorn\n"
        "            and Noble, William Stafford and Singh, Ritambhara},\n"
        "  title = {{SCOT}: Single-Cell Multi-Omics Alignment with\n"
        "           Optimal Transport},\n"
        "  journal = {Journal of Computational Biology},\n"
        "  volume = {29},\n"
        "  number = {1},\n"
        "  year = {2022}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        **ReferenceSpaceClusterer._fitted_shapes,
        "_correlation_rows": ["n d"],
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "n_neighbors": [POSITIVE_INT, None],
        "epsilon": [POSITIVE],
        "self_tune": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_neighbors: int | None = None,
        epsilon: float = 1e-3,
        self_tune: bool = False,
        reference_view: int = 0,
        max_iter: int = 200,
        tol: float = 1e-9,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon
        self.self_tune = self_tune
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        rows = sum(n * d for n, d in zip(views.n_rows, views.widths, strict=True))
        return 8 * (TABLES * max(views.n_rows) ** 2 + 3 * rows)

    def _ways_out(self, views: Views) -> str:
        return (
            "It keeps tables of all rows by all rows: take a sample of the rows, or a "
            "method that is linear in their number, such as SAVuC."
        )

    def _read(self, X: Any) -> Brought:
        rows = dense(X)
        way = self._way(rows, Coupling(np.empty((0, 0)), 0.0, 0, 0.0))
        return Brought(unit_rows(rows), np.arange(len(rows)), np.ones(len(rows)), way)

    def _way(self, X: Array, coupling: Coupling) -> dict[str, Any]:
        return {
            "gw_distances_": coupling.distance,
            "n_neighbors_": coupling.n_neighbors,
            "epsilons_": coupling.epsilon,
            "_correlation_rows": correlation_rows(X).astype(np.float32),
        }

    def _bring(
        self, reference: Any, X: Any, known: Known, rng: np.random.RandomState
    ) -> Brought:
        # Before correlations, unit length changes nothing but the places.
        one, other = unit_rows(dense(reference)), unit_rows(dense(X))
        find = self._tune if self.self_tune else self._couple
        coupling = find(one, other, self.n_neighbors, self.epsilon)
        partner, confidence = one_to_one(coupling.plan, known)
        places = barycentres(coupling.plan, one, known)
        return Brought(places, partner, confidence, self._way(other, coupling))

    def _couple(
        self, one: Array, other: Array, n_neighbors: int | None, epsilon: float
    ) -> Coupling:
        """Couple two views with one setting."""
        k = n_neighbors or default_neighbors(min(len(one), len(other)))
        tables = graph_distances(one, k), graph_distances(other, k)
        plan, distance, used = couple(*tables, epsilon, self.max_iter, self.tol)
        return Coupling(plan, distance, k, used)

    def _tune(self, one: Array, other: Array, *_: Any) -> Coupling:
        """Couple two views with the setting of the smallest distance."""
        found = [self._couple(one, other, None, float(eps)) for eps in EPSILONS]
        best = min(found, key=lambda coupling: coupling.distance)
        numbers = tried_neighbors(min(len(one), len(other)))
        found = [self._couple(one, other, k, best.epsilon) for k in numbers]
        return min([best, *found], key=lambda coupling: coupling.distance)

    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        rows = dense(X)
        if view == self.template_:
            return unit_rows(rows).astype(np.float32)
        known = self._correlation_rows[view]
        rows = correlation_rows(rows).astype(np.float32)
        near, _ = top_products(rows, known, min(N_NEAREST, len(known)))
        return np.asarray(self.places_[view][near].mean(axis=1))
