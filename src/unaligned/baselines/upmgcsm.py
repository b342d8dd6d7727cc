"""UPMGC-SM: match the graphs of all views to that of a template, fuse and cluster.

Samples are rows here; a graph is n × n either way. The paper's P_i has a row for each
row of the template and a column for each row of view i: its columns are ``matched``.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from sklearn.utils._param_validation import StrOptions
from threadpoolctl import threadpool_info, threadpool_limits

from unaligned.base import Iterate, ViewClusterer
from unaligned.baselines._view_graphs import ViewGraph, gmc_graph, lsr_graph
from unaligned.kernels.graph_matching import match_softly, round_matching
from unaligned.kernels.memory import available_bytes
from unaligned.kernels.scaling import unit_rows
from unaligned.kernels.view_weights import power_weights
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import COMMON, POSITIVE
from unaligned.partitions.kmeans import cluster_rows
from unaligned.untested import untested_alignment
from unaligned.views import Views

__all__ = ["UPMGCSM"]

Array = NDArray[Any]
Indices = NDArray[np.intp]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Graphs are kept and matched in single precision: n × n arrays are what limits this
# method, and the matching, which is most of its time, stops at changes of 1e-6.
GRAPH_DTYPE = np.float32
# Room for this many n × n arrays of float64, at the most: to learn a graph (which is
# also enough to embed their sum) and to match two.
LEARNING = {"lsr": 5, "gmc": 10}
MATCHING = 4


class Match(NamedTuple):
    """A view beside the template."""

    beside: Indices
    """Row of the view that stands beside each row of the template: known partners,
    and for the others whoever is left."""
    matched: Indices
    """Row of the template that the row standing there was matched to."""
    confidence: NDArray[np.float64]
    """Share of that row's soft weight which the match has; 1 for a known partner."""


class State(NamedTuple):
    """All there is before labels."""

    graphs: list[Array]
    errors: Array
    weights: Array
    template: int
    matches: list[Match]


def bytes_needed(n: int, n_views: int, learner: str) -> int:
    """Memory of a fit at its peak, one view at a time."""
    return n**2 * (np.dtype(GRAPH_DTYPE).itemsize * n_views + 8 * LEARNING[learner])


def weigh_views(graphs: list[Array], errors: Array) -> tuple[Array, int]:
    """Weights β_i = (ε_i⁻¹ / Σ_l ε_l⁻¹)² and the template, the view of smallest error.

    A view without any edge says nothing, whatever its error: it counts for nothing.
    """
    edges = np.array([graph.any() for graph in graphs])
    if edges.any():
        errors = np.where(edges, errors, np.inf)
    return power_weights(errors, 2) ** 2, int(errors.argmin())


def match_view(
    template: Array, graph: Array, known: tuple[Indices, Indices], how: str
) -> Match:
    """Match the rows of a view to those of the template.

    ``known`` are rows of the view and their rows of the template. With P fixed there,
    Tr(S_t P S_i Pᵀ) is the same problem for the others (u), with what they have in
    common with known pairs (a) as affinity: S_t[ua] S_i[au].
    """
    rows, template_rows = known
    free = np.delete(np.arange(len(graph)), rows)
    free_template = np.delete(np.arange(len(template)), template_rows)
    beside = np.empty(len(template), dtype=np.intp)
    beside[template_rows], beside[free_template] = rows, free
    matched, confidence = np.arange(len(template)), np.ones(len(template))
    if free.size:
        affinity = None
        if rows.size:
            affinity = (
                template[np.ix_(free_template, template_rows)]
                @ (graph[np.ix_(rows, free)])
            )
        soft = match_softly(
            template[np.ix_(free_template, free_template)] if rows.size else template,
            graph[np.ix_(free, free)] if rows.size else graph,
            affinity,
            start=1 / free.size,
        )
        partner = round_matching(soft, how)
        matched[free_template] = free_template[partner]
        weight = soft[partner, np.arange(free.size)]
        total = soft.sum(axis=0, dtype=np.float64)
        confidence[free_template] = np.divide(
            weight, total, out=np.zeros(free.size), where=total > 0
        )
    return Match(beside, matched, confidence)


def match_views(
    graphs: list[Array], template: int, pairs: KnownPairs, how: str
) -> list[Match]:
    """Match every view to the template."""
    n = len(graphs[0])

    def match(i: int) -> Match:
        all_rows = np.arange(n)
        known = (all_rows, all_rows) if i == template else pairs.between(i, template)
        return match_view(graphs[template], graphs[i], known, how)

    return in_threads(match, range(len(graphs)), 8 * MATCHING * n**2)


def in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], bytes_each: float
) -> list[Result]:
    """Do the work for several items at a time, as many as fit into the free memory.

    The threads that BLAS may use are shared out among them.
    """
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    threads = max((pool["num_threads"] for pool in pools), default=1)
    # Twice as many as threads, so that none idles while the last item is worked on.
    wanted = min(len(items), 2 * threads if threads > 1 else 1)
    workers = max(1, int(min(wanted, available_bytes() / bytes_each)))
    with (
        threadpool_limits(max(1, threads // workers), user_api="blas"),
        ThreadPoolExecutor(workers) as executor,
    ):
        return list(executor.map(work, items))


def fuse_graphs(
    graphs: list[Array], weights: Array, matches: list[Match], orientation: str
) -> Array:
    """Σ_i β_i P_i S_i P_iᵀ (``"paper"``) or Σ_i β_i P_iᵀ S_i P_i (``"code"``).

    The first adds up the rows of view i that share a row of the template; the second
    takes row ``matched[s]`` of view i for row s of the template.
    """
    fused = np.zeros(graphs[0].shape)
    for graph, weight, match in zip(graphs, weights, matches, strict=True):
        beside, matched = match.beside, match.matched
        if orientation == "code":
            rows = beside[matched]
            fused += weight * graph[np.ix_(rows, rows)]
        else:
            entries = np.ones(len(graph), dtype=graph.dtype), (matched, beside)
            P = sparse.csr_array(entries, shape=graph.shape)
            fused += weight * (P @ (P @ graph).T)
    return fused


def embed_affinity(affinity: Array, n_clusters: int) -> Array:
    """Leading eigenvectors of D^(-1/2) S D^(-1/2), rows of unit length."""
    degrees = affinity.sum(axis=0)
    scale = np.where(degrees > 0, degrees, np.inf) ** -0.5
    normalised = scale[:, None] * affinity * scale
    n = len(affinity)
    # One thread: several gain little here, and on a busy machine wait for each other.
    with threadpool_limits(1, user_api="blas"):
        vectors = eigh(normalised, subset_by_index=[n - n_clusters, n - 1])[1]
    return unit_rows(vectors[:, ::-1])


def partners(match: Match) -> tuple[Indices, NDArray[np.float64]]:
    """Row of the view for every row of the template, and the confidence of the match.

    Of several rows matched to one the most confident is taken; -1 (confidence 0) where
    there is none.
    """
    partner = np.full(len(match.matched), -1, dtype=np.intp)
    confidence = np.zeros(len(match.matched))
    order = np.argsort(match.confidence, kind="stable")  # the last one written stays
    partner[match.matched[order]] = match.beside[order]
    confidence[match.matched[order]] = match.confidence[order]
    return partner, confidence


class UPMGCSM(ViewClusterer):
    """Unpaired multi-view graph clustering with structure matching (UPMGC-SM).

    Learns a graph between the rows of every view by itself; takes the view that its own
    graph explains best as template; matches the nodes of every other graph to those of
    the template by their edges (DSPFP); and clusters the weighted sum of the matched
    graphs spectrally. Takes memory of n² and time of n³.

    .. warning::
       On the data we measured nearly all of the score is that of the template's own
       graph: where no pair is known, the matching finds the right class for hardly more
       rows than chance. It has no test of its own matches: ``alignment_.trust`` is
       NaN, and ``alignment_.known`` is the share of rows whose partner was given.

    Parameters
    ----------
    n_clusters : int, default=10
    learner : {"lsr", "gmc"}, default="lsr"
        How a view becomes a graph: least squares regression of every row on all others,
        or GMC, which looks for ``n_clusters`` components and takes up to 20
        eigendecompositions of n × n matrices per view.
    lam : float, default=0.4
        Ridge λ of ``learner="lsr"``, on the scale of the squared entries of the views,
        which are taken as they are. The authors use 0.4 and 0.004.
    orientation : {"code", "paper"}, default="code"
        How a matched graph is added: P_iᵀ S_i P_i as in the authors' program, or
        P_i S_i P_iᵀ as in the paper. They agree only if P_i is its own inverse.
    matching : {"argmax", "greedy", "optimal"}, default="argmax"
        How the soft matching is rounded: each row takes its best partner in the
        template, several perhaps the same one, as in the authors' program; or one to
        one, the best pair first or the best in total.
    n_init : int, default=10
        Restarts of the final k-means.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means. Nothing else is random.
    verbose : int, default=0

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of every row of the first view.
    view_labels_ : list of ndarray of shape (n,)
        Cluster of every row of each view: that of the template row it was matched to.
        Every row has one.
    template_ : int
        The view of smallest error.
    alignment_ : Alignment
        With ``matching="argmax"`` several rows of a view may be matched to one row of
        the template. ``permutations`` then hold the most confident of them, and -1 for
        template rows that nobody was matched to, so that they are no permutations.
        Confidence is the share of a row's soft weight that its match has.
    view_weights_ : ndarray of shape (n_views,)
        Weight β of each view. They do not sum to one.
    view_errors_ : ndarray of shape (n_views,)
        What each graph leaves unexplained of its view.
    view_graphs_ : list of ndarray of shape (n, n)
        The learned graphs, each in its view's own row order, in single precision.
    affinity_ : ndarray of shape (n, n)
        The fused graph, in the template's row order.
    embedding_ : ndarray of shape (n, n_clusters)
        What k-means clustered, in the template's row order.

    Notes
    -----
    Known pairs (``aligned``) stay matched and guide the others: DSPFP runs on the rows
    without a known partner, with the edges to known pairs as affinity. The paper fixes
    them too; the authors' program takes none.

    References
    ----------
    Y. Wen et al. Unpaired Multi-view Graph Clustering with Cross-view Structure
    Matching. IEEE TNNLS 2023.

    Examples
    --------
    >>> from unaligned.baselines import UPMGCSM
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> shuffled = unalign([X[:100] for X in digits.Xs], random_state=0)
    >>> model = UPMGCSM(10, random_state=0).fit(shuffled.Xs)
    >>> model.view_labels_[model.template_].shape
    (100,)
    """

    citation: ClassVar[str] = (
        "@article{wen2023unpaired,\n"
        "  author = {Wen, Yi and others},\n"
        "  title = {Unpaired Multi-view Graph Clustering with Cross-view Structure\n"
        "           Matching},\n"
        "  journal = {IEEE Transactions on Neural Networks and Learning Systems},\n"
        "  year = {2023}\n"
        "}"
    )

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "view_weights_": "v",
        "view_errors_": "v",
        "view_graphs_": ["n n"],
        "affinity_": "t t",
        "embedding_": "t _",
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COMMON,
        "learner": [StrOptions({"lsr", "gmc"})],
        "lam": [POSITIVE],
        "orientation": [StrOptions({"code", "paper"})],
        "matching": [StrOptions({"argmax", "greedy", "optimal"})],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        learner: str = "lsr",
        lam: float = 0.4,
        orientation: str = "code",
        matching: str = "argmax",
        n_init: int = 10,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.learner = learner
        self.lam = lam
        self.orientation = orientation
        self.matching = matching
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        room = 8 * LEARNING[self.learner] * views.n_rows[0] ** 2
        learned = in_threads(self._learn, views.arrays, room)
        graphs = [graph.weights for graph in learned]
        errors = np.array([graph.error for graph in learned])
        weights, template = weigh_views(graphs, errors)
        matches = match_views(graphs, template, pairs, self.matching)
        state = State(graphs, errors, weights, template, matches)
        yield Iterate(state, None, converged=True)

    def _learn(self, X: Any) -> ViewGraph:
        dense = X.toarray() if sparse.issparse(X) else X
        dense = dense.astype(np.float64, copy=False)
        if self.learner == "lsr":
            weights, error = lsr_graph(dense, self.lam)
        else:
            weights, error = gmc_graph(dense, self.n_clusters)
        return ViewGraph(weights.astype(GRAPH_DTYPE), error)

    def _memory_need(self, views: Views) -> float:
        return bytes_needed(views.n_rows[0], len(views), self.learner)

    def _ways_out(self, views: Views) -> str:
        return (
            "It keeps a graph between all rows of each view: take a sample of the "
            "rows, or a method that is linear in their number, such as PAVuC."
        )

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        affinity = fuse_graphs(
            state.graphs, state.weights, state.matches, self.orientation
        )
        embedding = embed_affinity(affinity, self.n_clusters)
        labels, _ = cluster_rows(
            embedding, self.n_clusters, n_init=self.n_init, seed=seed
        )
        view_labels = [labels[m.matched[np.argsort(m.beside)]] for m in state.matches]
        t = state.template
        found = [partners(match) for match in state.matches]
        permutations = [partner for partner, _ in found]
        confidence = [sure for _, sure in found]
        return {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": t,
            "alignment_": untested_alignment(t, permutations, confidence, views, pairs),
            "view_weights_": state.weights,
            "view_errors_": state.errors,
            "view_graphs_": state.graphs,
            "affinity_": affinity,
            "embedding_": embedding,
        }
