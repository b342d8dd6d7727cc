"""Entropic Gromov-Wasserstein transport between the neighbour graphs of two views.

Γ, the plan, has a row for each row of the reference view and a column for each row of
the other view.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import shortest_path
from threadpoolctl import threadpool_limits

from unaligned.baselines._reference_space import Known, match_others
from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows

__all__ = [
    "Coupling",
    "barycentres",
    "correlation_rows",
    "couple",
    "default_neighbors",
    "graph_distances",
    "one_to_one",
    "tried_neighbors",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

# Values of k that tuning tries: a reconstruction. The authors recommend 10 to a fifth
# of the rows; these begin lower where rows are few.
N_TRIED = 5
MANY_ROWS = 250  # from which they do not depend on the number of rows


class Coupling(NamedTuple):
    """A soft matching of two views."""

    plan: Array
    distance: float
    """Gromov-Wasserstein distance of the two views under the plan."""
    n_neighbors: int
    epsilon: float


def default_neighbors(n: int) -> int:
    """Neighbours of each row: a fifth of the rows, at most 50.

    Examples
    --------
    >>> default_neighbors(177), default_neighbors(1000)
    (35, 50)
    """
    return max(1, min(n // 5, 50))


def tried_neighbors(n: int) -> list[int]:
    """Numbers of neighbours that tuning tries.

    Examples
    --------
    >>> tried_neighbors(177), tried_neighbors(1000)
    ([8, 13, 18, 23, 29], [20, 40, 60, 80, 100])
    """
    low, high = (20, 100) if n > MANY_ROWS else (max(1, n // 20), max(1, n // 6))
    return sorted({int(k) for k in np.linspace(low, high, N_TRIED)})


def correlation_rows(X: Array) -> Array:
    """Rows whose inner products are correlations of the rows of a view."""
    return unit_rows(X - X.mean(axis=1, keepdims=True))


def graph_distances(X: Array, n_neighbors: int) -> Array:
    """Count steps between rows on the graph of nearest neighbours, the most being one.

    Neighbours are those of largest correlation; a row counts as its own. Rows that no
    path joins are as far as the farthest that one joins.
    """
    n = len(X)
    rows = correlation_rows(X)
    near, _ = top_products(rows, rows, min(n_neighbors, n))
    edges = np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, near.shape[1])
    graph = sparse.csr_array(edges, shape=(n, n))
    steps = shortest_path(graph, directed=False, unweighted=True)
    farthest = steps[np.isfinite(steps)].max()
    steps[~np.isfinite(steps)] = farthest
    return np.asarray(steps / max(farthest, 1))


def couple(
    one: Array, other: Array, epsilon: float, max_iter: int, tol: float
) -> tuple[Array, float, float]:
    """Find the entropic Gromov-Wasserstein plan of two tables of distances.

    Where the solver underflows, ε is doubled until it does not.

    Returns
    -------
    plan : ndarray
    distance : float
        Σ (D_ik − D'_jl)² Γ_ij Γ_kl.
    epsilon : float
        That was used.
    """
    import ot  # type: ignore[import-untyped]

    weights = [np.full(len(table), 1 / len(table)) for table in (one, other)]
    while True:
        # A fit holds the libraries that are loaded; this one may have been just now.
        with (
            threadpool_limits(limits=1),
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            plan, log = ot.gromov.entropic_gromov_wasserstein(
                one,
                other,
                *weights,
                "square_loss",
                epsilon=epsilon,
                max_iter=max_iter,
                tol=tol,
                log=True,
                warn=False,
            )
        if _is_plan(plan):
            return plan, float(log["gw_dist"]), epsilon
        epsilon *= 2


def _is_plan(plan: Array) -> bool:
    """Whether no row or column has twice its weight or half of it."""
    sums = [plan.sum(axis=axis) * plan.shape[1 - axis] for axis in (0, 1)]
    return bool(all(((total > 0.5) & (total < 2)).all() for total in sums))


def one_to_one(plan: Array, known: Known) -> tuple[Indices, NDArray[np.float64]]:
    """Match rows one to one with the largest total weight; give their shares of it."""

    def match(free: Indices, others: Indices) -> tuple[Indices, Indices]:
        at, to = linear_sum_assignment(plan[np.ix_(free, others)], maximize=True)
        return at, to

    partner = match_others(plan.shape[0], plan.shape[1], known, match)
    share = plan[np.arange(len(plan)), partner] / plan.sum(axis=1)
    return partner, np.clip(np.where(partner >= 0, share, 0.0), 0.0, 1.0)


def barycentres(plan: Array, reference: Array, known: Known) -> Array:
    """Place every row of the view at the mean of its partners, weighted by the plan.

    A row whose partner is known is placed there.
    """
    places: Array = plan.T @ reference / plan.sum(axis=0)[:, None]
    of_reference, of_view = known
    places[of_view] = reference[of_reference]
    return places
