"""Anchors: a few dozen points that stand for a view in the search.

Distances within a view are the same in every view of the same objects, up to noise; the
search couples anchors so that distances agree. Anchors are centres of k-means, or the
rows themselves where they are few. Every anchor has a signature: the quantiles of its
distances to all rows. It needs no correspondence, and tells where to start.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph

from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.kmeans import spread_rows
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry

__all__ = [
    "MOST_SINGLE",
    "N_EIGENVECTORS",
    "Anchors",
    "Sketch",
    "centres",
    "leading_factors",
    "single_rows",
    "sketch_rows",
]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_EIGENVECTORS = 60  # of distances that steps use. Cost: for centres, these are all
MOST_SINGLE = 500  # rows of a view that may be anchors themselves. Cost: their square


class Sketch(NamedTuple):
    """Sampled rows of a view, the distances between them, and their signatures."""

    rows: Indices
    distances: Array
    signatures: Array


@dataclass(frozen=True, eq=False)
class Anchors:
    """Points that stand for a view."""

    distances: Array
    """Between anchors, over their mean: (K, K)."""
    masses: Array
    """Share of the rows that each stands for: (K,)."""
    means: Array
    """Mean of their whitened rows: (K, d)."""
    signatures: Array
    """Mean of their rows' signatures: (K, q)."""

    @cached_property
    def factors(self) -> tuple[Array, Array]:
        """Of the distances, see `leading_factors`; many steps use them."""
        return leading_factors(self.distances)


def sketch_rows(geometry: Geometry, rows: Indices, settings: Settings) -> Sketch:
    """Measure the distances between some rows of a view."""
    points = geometry.points[rows]
    distances = row_distances(points, settings)
    leading = cosine_distances(points[:, : settings.n_leading])
    scales = distances, leading, cosine_distances(points)
    signatures = [quantiles(scale, settings.n_quantiles) for scale in scales]
    return Sketch(rows, distances, ranks(np.hstack(signatures)))


def cosine_distances(points: Array) -> Array:
    """One minus the cosine of every two rows."""
    unit = unit_rows(points)
    return np.asarray(1 - unit @ unit.T)


def row_distances(points: Array, settings: Settings) -> Array:
    """Distances between rows: hops along nearest neighbours plus cosine distances.

    Hops follow the shape of the data; cosines in the leading directions tell near rows
    apart. Each is divided by its standard deviation, so that they count the same.
    """
    m = len(points)
    n_neighbors = min(settings.n_neighbors, max(5, m // 20), m - 1)
    graph = kneighbors_graph(unit_rows(points), n_neighbors, include_self=False)
    hops = count_hops(graph)
    unreached = ~np.isfinite(hops)
    hops[unreached] = 1.5 * hops[~unreached].max()  # farther than what is reached
    cosine = cosine_distances(points[:, : settings.n_leading])
    distances: Array = hops / (hops.std() or 1.0) + cosine / (cosine.std() or 1.0)
    return distances.astype(np.float32)


def count_hops(graph: Any) -> Array:
    """Hops between every two nodes of a graph, either way; inf where no way leads.

    In a further hop a node is reached from where its neighbours are. The nodes that a
    node is reached from are kept as bits, eight to a byte.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Every node has a neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> ways = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0], *np.eye(5)[[4, 3]]]
    >>> count_hops(sparse.csr_array(ways))[0]
    array([ 0.,  1.,  2., inf, inf])
    """
    n = graph.shape[0]
    both = (graph + graph.T).tocsr()
    reached = np.packbits(np.eye(n, dtype=bool), axis=1)
    hops, n_missing = np.zeros((n, n)), n * n
    while True:
        missing = np.unpackbits(~reached, axis=1, count=n)
        n_left = np.count_nonzero(missing)
        if n_left == n_missing:  # the last hop led nowhere
            break
        hops += missing
        n_missing = n_left
        reached |= np.bitwise_or.reduceat(reached[both.indices], both.indptr[:-1])
    hops[missing.view(bool)] = np.inf
    return hops


def quantiles(distances: Array, n_quantiles: int) -> Array:
    """Quantiles of every row's distances, evenly spaced in the log of their order."""
    n = distances.shape[1]
    order = np.geomspace(1 / n, 1, n_quantiles) * (n - 1)
    return np.sort(distances, axis=1)[:, order.round().astype(int)]


def ranks(values: Array) -> Array:
    """Rank of every entry in its column, from −½ to ½: the same scale in all views."""
    ranked = values.argsort(axis=0).argsort(axis=0) / max(len(values) - 1, 1) - 0.5
    return np.asarray(ranked, dtype=np.float32)


def centres(
    geometry: Geometry,
    whitened: Array,
    sketch: Sketch,
    settings: Settings,
    rng: np.random.RandomState,
) -> Anchors:
    """Sum up rows by k-means; another random state gives other anchors.

    Many rows place the centres, so that those of two views fit together though the
    sketches share few objects. The rows of the sketch give their distances.
    """
    n = len(whitened)
    clustered = sketch.rows
    if n > len(clustered):
        clustered = rng.permutation(n)[: settings.n_clustered]
    points = geometry.points[:, : settings.n_leading]
    n_distinct = len(np.unique(points[clustered], axis=0))
    n_centres = min(max(2, min(settings.n_centres, len(clustered) // 5)), n_distinct)
    seed = rng.randint(2**31 - 1)
    kmeans = KMeans(
        n_centres, init=spread_rows, n_init=1, max_iter=30, random_state=seed
    )
    owner = kmeans.fit_predict(points[clustered])
    sketched = kmeans.predict(points[sketch.rows])
    there = np.unique(sketched)  # others have no distances
    averaging, sketch_averaging = (
        averages(labels, n_centres)[:, there] for labels in (owner, sketched)
    )
    distances = sketch_averaging.T @ sketch.distances @ sketch_averaging
    sizes = np.bincount(owner, minlength=n_centres)[there].astype(np.float32)
    return Anchors(
        distances / (distances.mean() or 1.0),
        sizes / sizes.sum(),
        averaging.T @ whitened[clustered],
        sketch_averaging.T @ sketch.signatures,
    )


def single_rows(whitened: Array, sketch: Sketch, rows: Indices) -> Anchors:
    """Take rows of a view for anchors; its sketch must hold all of its rows."""
    distances = sketch.distances[np.ix_(rows, rows)]
    return Anchors(
        distances / (distances.mean() or 1.0),
        np.full(len(rows), 1 / len(rows), dtype=np.float32),
        whitened[rows],
        sketch.signatures[rows],
    )


def leading_factors(distances: Array) -> tuple[Array, Array]:
    """Factors F and G of a symmetric matrix F G, of its largest eigenvalues."""
    values, vectors = np.linalg.eigh(distances)
    largest = np.argsort(-np.abs(values))[:N_EIGENVECTORS]
    vectors = vectors[:, largest]
    return vectors * values[largest], vectors.T


def averages(labels: Indices, n_clusters: int) -> Array:
    """Matrix whose transpose averages rows by cluster: 1 / size at the members."""
    sizes = np.bincount(labels, minlength=n_clusters)
    averaging = np.zeros((len(labels), n_clusters), dtype=np.float32)
    averaging[np.arange(len(labels)), labels] = 1 / sizes[labels]
    return averaging
