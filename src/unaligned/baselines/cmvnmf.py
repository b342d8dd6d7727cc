"""CMVNMF, a reconstruction: one NMF per view, tied by links between rows of views.

Papers write samples as columns: X_i ≈ U_i V_iᵀ. Samples are rows here, ``X ≈ V U``: X_i
(d × n_i) is ``X`` (n_i × d), U_i (d × k) is ``basis`` (k × d), and V_i (n_i × k),
``memberships``, keeps its shape. The memberships of all views lie in one array, the
views one after the other, and so do the rows and columns of the link matrices M (must)
and C (cannot). With D the degrees of M, the links of all pairs of views cost

    Δ = Σ_must ‖v_a − v_b‖² + 2 Σ_cannot v_a·v_b = Tr(Vᵀ (D − M + C) V).
"""

from collections.abc import Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from unaligned.alignment import Alignment
from unaligned.base import Iterate, ViewClusterer
from unaligned.baselines._paired import PAIRED
from unaligned.kernels.matching import match_optimal
from unaligned.kernels.nmf import rescale_factors, update_basis, update_memberships
from unaligned.kernels.residual import squared_residual, sum_of_squares
from unaligned.known_pairs import KnownPairs, check_links, name_row
from unaligned.parameters import ITERATIVE, NON_NEGATIVE
from unaligned.partitions.kmeans import cluster_rows
from unaligned.untested import untested_alignment
from unaligned.views import Views, check_reference_view, label

__all__ = ["CMVNMF"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class State(NamedTuple):
    """What an iteration changes."""

    memberships: Array
    """Of the rows of all views, one view after the other."""
    bases: list[Array]
    objective: float


class Links(NamedTuple):
    """What ties the rows of one view to the rows of all."""

    must: Any
    """Sparse 0/1 matrix, rows of the view × rows of all views."""
    cannot: Any
    degrees: Array
    """Number of must-links of every row, as a column."""


def make_nonnegative(X: Any, how: str, name: str) -> Any:
    """Shift a view to a smallest entry of zero, or split it by sign; scale its rows.

    Rows sum to one on average afterwards. Were it all entries of a view that sum to
    one, as is common, rows of a longer view would be smaller than those linked to them.
    """
    lowest = X.min()
    if how == "split":
        if lowest < 0:
            sides = [abs(X) + X, abs(X) - X]  # twice the positive and negative parts
            X = sparse.hstack(sides, "csr") if sparse.issparse(X) else np.hstack(sides)
    elif not sparse.issparse(X):
        X = X - lowest
    elif lowest < 0:
        raise ValueError(
            f"{label(name)} is sparse with the negative entry {lowest:.3g}, and "
            'nonnegative="shift" would make it dense. Use nonnegative="split".'
        )
    total = X.dtype.type(X.sum(dtype=np.float64))
    return X / total * X.dtype.type(X.shape[0]) if total > 0 else X


def link_matrix(ends: Indices, n: int) -> Any:
    """Symmetric 0/1 matrix of links; one given twice counts once."""
    both = np.vstack([ends, ends[:, ::-1]])
    matrix = sparse.csr_array((np.ones(len(both)), both.T), shape=(n, n))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def object_links(pairs: KnownPairs) -> Indices:
    """Links between all rows that are known to describe one object."""
    objects = np.concatenate(pairs.identities)
    rows = np.flatnonzero(objects >= 0)
    shape = (len(objects), len(objects))
    described = sparse.csr_array((np.ones(len(rows)), (rows, objects[rows])), shape)
    same = sparse.triu(described @ described.T, k=1, format="coo")
    return np.column_stack([same.row, same.col]).astype(np.intp)


def forces(
    memberships: Array, links: Links, all_memberships: Array, beta: float
) -> tuple[Array, Array]:
    """β MV and β (DV + CV): what draws the rows of a view and what drives them off.

    Their difference is half the gradient of −βΔ.
    """
    drawn = beta * (links.must @ all_memberships)
    driven = beta * (links.degrees * memberships + links.cannot @ all_memberships)
    return drawn, driven


def link_cost(memberships: Array, links: Links, all_memberships: Array) -> float:
    """Share of one view in Δ."""
    drawn, driven = forces(memberships, links, all_memberships, beta=1)
    return float(np.vdot(memberships, driven - drawn))


def one_iteration(
    Xs: list[Any], rows: list[slice], links: list[Links], state: State, beta: float
) -> State:
    """Basis, scale and memberships of every view in turn.

    Without a fixed scale, small memberships beside a large basis would satisfy all
    must-links for free.
    """
    all_memberships, bases, objective = state.memberships.copy(), [], 0.0
    for X, own, tied, basis in zip(Xs, rows, links, state.bases, strict=True):
        V, U = rescale_factors(
            all_memberships[own], update_basis(X, all_memberships[own], basis)
        )
        cross = X @ U.T
        drawn, driven = forces(V, tied, all_memberships, beta)
        V = update_memberships(V, cross, U @ U.T, drawn=drawn, driven=driven)
        all_memberships[own] = V
        bases.append(U)
        objective += squared_residual(sum_of_squares(X), cross, V, U)
    if beta > 0:
        ties = zip(rows, links, strict=True)
        cost = sum(
            link_cost(all_memberships[own], tied, all_memberships) for own, tied in ties
        )
        objective += beta * cost
    return State(all_memberships, bases, objective)


class CMVNMF(ViewClusterer):
    """Reconstruction: constrained NMF of views whose rows are not mapped (CMVNMF).

    .. warning::
       **This is a reconstruction, not the published method.** Only the abstract and the
       introduction of its paper were at hand. The form of the cannot-link term, the
       scaling of views and factors, the warm-up and the stopping rule are ours.

    Factorises every view into non-negative memberships and a basis, with links between
    rows of different views: must-linked rows should have the same memberships,
    cannot-linked rows memberships without overlap. Every view is clustered from its own
    memberships. Rows known to correspond (``aligned=``) are must-linked; without any
    link the views do not know of each other. Views may have unequal numbers of rows.

    Parameters
    ----------
    n_clusters : int, default=10
        Number of clusters k, and of columns of the memberships.
    beta : float, default=1.0
        Weight β of the links.
    must_link : dict, default=None
        Further rows that belong to one cluster: ``{(i, j): pairs}`` with rows of view i
        and of view j in two columns. A row may be in any number of pairs. Unlike
        ``aligned``, they do not say that two rows are the same object, and do not enter
        ``alignment_``.
    cannot_link : dict, default=None
        Rows that belong to different clusters, likewise. The paper drew links of both
        kinds from known classes; such links are supervision.
    nonnegative : {"shift", "split"}, default="shift"
        How views become non-negative: minus their smallest entry, or as positive and
        negative parts side by side, which leaves non-negative views as they are and
        sparse views sparse.
    warm_up : int, default=50
        Iterations without links before the first that counts.
    assign_labels : {"kmeans", "argmax"}, default="kmeans"
        Labels by k-means on the memberships, where clusters are named after the most
        similar ones of the reference view; or by the largest membership.
    reference_view : int, default=0
        The view that is ``template_``.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-4
        Stop when the objective changes by less than this share of itself.
    n_init : int, default=10
        Restarts of k-means.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of k-means.
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_
        As in `unaligned.PAVuC`.
    alignment_ : Alignment
        The known pairs with the template, and -1 for all other rows: this method finds
        no correspondence.
    memberships_ : list of ndarray of shape (n_rows of the view, n_clusters)
    bases_ : list of ndarray of shape (n_clusters, n_features of the view)
        Rows sum to one. With ``nonnegative="split"`` twice as wide where a view has
        negative entries.
    objective_ : ndarray of shape (n_iterations,)
        Squared misfits and β times the cost of the links. It falls without links; with
        links, fixing the scale of the bases may raise it.
    n_iter_ : int
    converged_ : bool
    reconstruction : bool
        True.

    References
    ----------
    Zhang, Zong, Liu, Yu. Constrained NMF-based Multi-view Clustering on Unmapped Data.
    AAAI 2015.

    Examples
    --------
    >>> from unaligned.baselines import CMVNMF
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> views = [digits.Xs[0][:500], digits.Xs[1][:400]]
    >>> model = CMVNMF(10, max_iter=5, tol=1, random_state=0).fit(views, aligned=100)
    >>> [labels.shape for labels in model.view_labels_]
    [(500,), (400,)]
    """

    _accepts_unequal_rows = True
    _n_threads = 1

    reconstruction: ClassVar[bool] = True

    citation: ClassVar[str] = (
        "@inproceedings{zhang2015constrained,\n"
        "  author = {Zhang and Zong and Liu and Yu},\n"
        "  title = {Constrained {NMF}-based Multi-view Clustering on Unmapped Data},\n"
        "  booktitle = {AAAI Conference on Artificial Intelligence},\n"
        "  year = {2015}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "memberships_": ["n k"],
        "bases_": ["k d"],
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIRED,
        **ITERATIVE,
        "beta": [NON_NEGATIVE],
        "must_link": [dict, None],
        "cannot_link": [dict, None],
        "nonnegative": [StrOptions({"shift", "split"})],
        "warm_up": [Interval(Integral, 0, None, closed="left")],
        "assign_labels": [StrOptions({"kmeans", "argmax"})],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        beta: float = 1.0,
        must_link: Any = None,
        cannot_link: Any = None,
        nonnegative: str = "shift",
        warm_up: int = 50,
        assign_labels: str = "kmeans",
        reference_view: int = 0,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.must_link = must_link
        self.cannot_link = cannot_link
        self.nonnegative = nonnegative
        self.warm_up = warm_up
        self.assign_labels = assign_labels
        self.reference_view = reference_view
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _memory_need(self, views: Views) -> float:
        """Count non-negative views, one of them in the making; memberships of all."""
        memberships = sum(views.n_rows) * self.n_clusters * views.itemsize
        halves = 2 if self.nonnegative == "split" else 1
        return halves * (sum(views.n_bytes) + max(views.n_bytes)) + 5 * memberships

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        check_reference_view(self.reference_view, views)
        links = self._links(views, pairs)
        named = zip(views.arrays, views.names, strict=True)
        Xs = [make_nonnegative(X, self.nonnegative, name) for X, name in named]
        state, rows = self._start(Xs, rng), _rows_of(views)
        for _ in range(self.warm_up):
            state = one_iteration(Xs, rows, links, state, beta=0)
        before = np.inf
        while True:
            state = one_iteration(Xs, rows, links, state, self.beta)
            change = abs(before - state.objective)
            yield Iterate(state, state.objective, change <= self.tol * state.objective)
            before = state.objective

    def _links(self, views: Views, pairs: KnownPairs) -> list[Links]:
        """Links of every view; contradictions are named."""
        n, dtype = sum(views.n_rows), views.arrays[0].dtype
        wished = check_links(self.must_link or {}, views, "must_link")
        banned = check_links(self.cannot_link or {}, views, "cannot_link")
        must = link_matrix(np.vstack([object_links(pairs), wished]), n).astype(dtype)
        cannot = link_matrix(banned, n).astype(dtype)
        clash = (must * cannot).tocoo()
        if clash.nnz:
            one, other = (name_row(int(at[0]), views) for at in (clash.row, clash.col))
            raise ValueError(
                f"{one} and {other} are linked by cannot_link and also by must_link or "
                "aligned. Take the pair out of one of them."
            )
        degrees = np.asarray(must.sum(axis=1)).reshape(-1, 1)
        return [Links(must[own], cannot[own], degrees[own]) for own in _rows_of(views)]

    def _start(self, Xs: list[Any], rng: np.random.RandomState) -> State:
        dtype, k = Xs[0].dtype, self.n_clusters
        memberships = rng.uniform(size=(sum(X.shape[0] for X in Xs), k)).astype(dtype)
        bases = [rng.uniform(size=(k, X.shape[1])).astype(dtype) for X in Xs]
        return State(memberships, bases, np.inf)

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        memberships = [state.memberships[own] for own in _rows_of(views)]
        if self.assign_labels == "argmax":
            view_labels = [V.argmax(axis=1) for V in memberships]
        else:
            view_labels = self._cluster(memberships, seed)
        return {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": self.reference_view,
            "alignment_": self._alignment(views, pairs),
            "memberships_": memberships,
            "bases_": state.bases,
        }

    def _cluster(self, memberships: list[Array], seed: int) -> list[Indices]:
        """k-means on every view, clusters named after those of the reference view."""
        found = [
            cluster_rows(V, self.n_clusters, n_init=self.n_init, seed=seed)
            for V in memberships
        ]
        _, reference = found[self.reference_view]
        return [match_optimal(centers, reference)[labels] for labels, centers in found]

    def _alignment(self, views: Views, pairs: KnownPairs) -> Alignment:
        t = self.reference_view
        permutations = [_known_rows(pairs, i, t) for i in range(len(views))]
        confidence = [(rows >= 0).astype(np.float64) for rows in permutations]
        return untested_alignment(t, permutations, confidence, views, pairs)


def _known_rows(pairs: KnownPairs, i: int, template: int) -> Indices:
    """Row of view i known to belong to every row of the template, else -1."""
    n = len(pairs.identities[template])
    if i == template:
        return np.arange(n)
    rows = np.full(n, -1, dtype=np.intp)
    mine, of_template = pairs.between(i, template)
    rows[of_template] = mine
    return rows


def _rows_of(views: Views) -> list[slice]:
    """Where the rows of each view lie among those of all."""
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *views.n_rows]).tolist())]
