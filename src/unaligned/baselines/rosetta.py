"""Rosetta: rotate one view onto another by the geometry of their k-means centres.

Samples are rows. A rotation Q takes rows x of a view to x Q in the space of the
reference view.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from unaligned.baselines._paired import PAIRED
from unaligned.baselines._reference_space import (
    Brought,
    Known,
    ReferenceSpaceClusterer,
    dense,
    match_others,
)
from unaligned.kernels.matching import match_optimal
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.quadratic_assignment import match_nodes
from unaligned.kernels.scaling import unit_rows
from unaligned.parameters import POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import Views

__all__ = ["Rosetta"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_REFINED = 2000  # rows of each view, at most, that a rotation is refined on
SAME = 1e-6  # change of a rotation's entries below which refinement stops


def centre_covariance(
    X: Array, reference: Array, n_centers: int, rng: np.random.RandomState
) -> Array:
    """Cross-covariance of matched k-means centres of two views: Σ_c a_c b_p(c)ᵀ.

    Centres are matched so that the distances between them agree.
    """
    centres, others = (
        cluster_rows(rows, n_centers, n_init=1, seed=int(rng.randint(2**31 - 1)))[1]
        for rows in (X, reference)
    )
    matched = match_nodes(nearness(centres), nearness(others), rng)
    return centres.T @ others[matched]


def own_directions(rows: Array) -> Array:
    """Give orthonormal directions that all rows lie in, as columns, at most n."""
    n, d = rows.shape
    if d <= n:
        return np.eye(d)
    right: Array = np.linalg.svd(rows, full_matrices=False)[2]
    return right.T


def nearness(points: Array) -> Array:
    """Give minus the distances of points, as shares of their mean."""
    distances = pairwise_distances(points)
    return -distances / (distances.mean() or 1.0)


def match_points(one: Array, other: Array) -> tuple[Indices, Indices]:
    """Match as many rows as possible one to one, with the largest sum of products."""
    if len(one) > len(other):
        to, at = match_points(other, one)
        return at, to
    if not len(one):
        return np.arange(0), np.arange(0)
    return np.arange(len(one)), match_optimal(one, other)


def refine_rotation(
    X: Array, reference: Array, Q: Array, known: Array, n_rounds: int
) -> Array:
    """Match rows under a rotation and rotate by the matches, in turn.

    ``known`` is the cross-covariance of further rows, whose partners are known.
    """
    for _ in range(n_rounds):
        at, to = match_points(X @ Q, reference)
        before, Q = Q, polar_factor(X[at].T @ reference[to] + known)
        if np.abs(Q - before).max() < SAME:
            break
    return Q


class Rosetta(ReferenceSpaceClusterer):
    """Shared geometry as a Rosetta stone. **A reconstruction** from its description.

    Centres of k-means are matched between two views so that the distances among them
    agree, thirty times with other centres; the cross-covariances of matched centres are
    added up, and the nearest rotation takes one view onto the other. Rows are then
    matched under the rotation, and it is learned again from the matches.

    .. warning::
       It has no test of its own matches: ``alignment_.trust`` is NaN, and its authors
       say that unpaired data alone do not tell whether two spaces are similar enough.

    Parameters
    ----------
    n_clusters : int, default=10
    n_centers : int, default=30
        Centres of k-means in each view, to match.
    n_restarts : int, default=30
        Sets of centres.
    n_rounds : int, default=30
        Most rounds of matching rows and rotating.
    reference_view : int, default=0
        The view that the others are rotated onto.
    n_init : int, default=10
        Restarts of the final k-means.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_
        As in `unaligned.PAVuC`. Clusters are those of all rows together in the space of
        the reference view.
    alignment_ : Alignment
        One to one, by the largest sum of cosines; the cosine is the confidence.
    places_ : list of ndarray of shape (rows of the view, n_directions)
        Rows of every view in the space of the reference view.
    cluster_centers_ : ndarray of shape (n_clusters, n_directions)
    rotations_ : list of ndarray of shape (n_features of the view, n_directions)

    Notes
    -----
    Views are centred, and rows scaled to unit length. The quadratic assignment is our
    own (FAQ from five starts, then swaps), where the authors use a package. Not in the
    paper: clusters; more than two views; known pairs, which stay together and which
    rotations are learned from, too.

    References
    ----------
    Shared Geometry as a Rosetta Stone. arXiv 2610.09411, 2026.

    Examples
    --------
    >>> from unaligned.baselines import Rosetta
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> shuffled = unalign([X[:200] for X in digits.Xs[:2]], random_state=0)
    >>> model = Rosetta(10, n_restarts=3, random_state=0).fit(shuffled.Xs)
    >>> model.transform(digits.Xs[1][200:], view=1).shape
    (1597, 64)
    """

    reconstruction: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "@misc{rosetta2026,\n"
        "  title = {Shared Geometry as a {Rosetta} Stone},\n"
        "  eprint = {2610.09411},\n"
        "  archivePrefix = {arXiv},\n"
        "  year = {2026}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        **ReferenceSpaceClusterer._fitted_shapes,
        "rotations_": ["d p"],
        "_means": ["d"],
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        "n_centers": [POSITIVE_INT],
        "n_restarts": [POSITIVE_INT],
        "n_rounds": [POSITIVE_INT],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        n_centers: int = 30,
        n_restarts: int = 30,
        n_rounds: int = 30,
        reference_view: int = 0,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_centers = n_centers
        self.n_restarts = n_restarts
        self.n_rounds = n_rounds
        self.reference_view = reference_view
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count both views in float64, centred and scaled, and all places."""
        rows = [n * d for n, d in zip(views.n_rows, views.widths, strict=True)]
        t = self.reference_view if self.reference_view < len(views) else 0
        places = sum(views.n_rows) * views.widths[t]
        return 8 * (4 * max(rows) + 2 * places) + 16 * N_REFINED**2

    def _ways_out(self, views: Views) -> str:
        return (
            "Take a sample of the rows, or reduce wide views first, e.g. with "
            "sklearn.decomposition.TruncatedSVD."
        )

    def _read(self, X: Any) -> Brought:
        rows = dense(X)
        mean = rows.mean(axis=0)
        way = {"rotations_": np.eye(rows.shape[1]), "_means": mean}
        places = unit_rows(rows - mean)
        return Brought(places, np.arange(len(rows)), np.ones(len(rows)), way)

    def _bring(
        self, reference: Any, X: Any, known: Known, rng: np.random.RandomState
    ) -> Brought:
        own, target = self._read(X), self._read(reference).places
        of_reference, of_view = known
        # A rotation that is learned in these directions is one of all columns.
        left, right = own_directions(own.places), own_directions(target)
        one, other = own.places @ left, target @ right
        k = min(self.n_centers, len(one), len(other))
        cross = sum(
            centre_covariance(one, other, k, rng) for _ in range(self.n_restarts)
        )
        # Known pairs count as rows; a centre stands for so many of them.
        rows_each = min(len(one), len(other)) / (k * self.n_restarts)
        pairs = one[of_view].T @ other[of_reference]
        Q = polar_factor(rows_each * cross + pairs)
        free = np.delete(one, of_view, axis=0)
        free_other = np.delete(other, of_reference, axis=0)
        some, others = (
            rows[np.sort(rng.permutation(len(rows))[:N_REFINED])]
            for rows in (free, free_other)
        )
        Q = left @ refine_rotation(some, others, Q, pairs, self.n_rounds) @ right.T
        places = own.places @ Q

        def match(free: Indices, free_of_view: Indices) -> tuple[Indices, Indices]:
            return match_points(target[free], places[free_of_view])

        partner = match_others(len(target), len(places), known, match)
        cosine = np.einsum("id,id->i", target, unit_rows(places)[partner])
        confidence = np.clip(np.where(partner >= 0, cosine, 0.0), 0.0, 1.0)
        return Brought(places, partner, confidence, own.way | {"rotations_": Q})

    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        rows = unit_rows(dense(X) - self._means[view])
        return (rows @ self.rotations_[view]).astype(np.float32)
