"""k-means: as the paper runs it, and for partitions that are made by the dozen."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.random import sample_without_replacement
from threadpoolctl import threadpool_limits

__all__ = ["cluster_rows", "kmeans", "kmeans_from", "spread_rows"]

MANY_ROWS = 1_000_000  # twenty restarts of k-means on so many take about a minute


def cluster_rows(
    points: NDArray[Any], n_clusters: int, *, n_init: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """k-means as the paper runs it (200 iterations); return labels and centres.

    Of more than `MANY_ROWS` rows, restarts compete on a sample of so many, and the best
    one goes on with all of them.

    One thread: with several, sums over rows are added in an order that changes from run
    to run, and the same seed no longer gives the same bits.
    """
    kmeans = KMeans(n_clusters, n_init=n_init, max_iter=200, random_state=seed)
    with threadpool_limits(limits=1):
        if (n := points.shape[0]) > MANY_ROWS:
            sample = sample_without_replacement(n, MANY_ROWS, random_state=seed)
            best = kmeans.fit(points[sample]).cluster_centers_
            kmeans.set_params(init=best, n_init=1)
        kmeans.fit(points)
    return kmeans.labels_.astype(np.intp), kmeans.cluster_centers_


def kmeans(
    points: NDArray[Any], n_clusters: int, rng: np.random.RandomState, n_starts: int
) -> NDArray[np.intp]:
    """Cluster rows by k-means; of several starts the one with the least inertia.

    Fewer distinct rows than clusters are no reason to warn: some clusters stay empty.

    Examples
    --------
    >>> import numpy as np
    >>> labels = kmeans(np.eye(2)[[0, 1, 1]], 2, np.random.RandomState(0), 1)
    >>> labels[0] != labels[1] == labels[2]
    np.True_
    """
    seed = int(rng.randint(np.iinfo(np.int32).max))
    model = KMeans(n_clusters, init=spread_rows, n_init=n_starts, random_state=seed)
    return _fit(model, points)


def spread_rows(
    points: NDArray[Any], n_clusters: int, random_state: np.random.RandomState
) -> NDArray[np.float64]:
    """Choose rows that are far apart, for k-means to start from: greedy k-means++.

    Each row is the best of a few, which are drawn in proportion to their squared
    distance from those before (Arthur and Vassilvitskii, 2007). scikit-learn draws the
    same ones, but checks its input anew for each of them, which takes longer.
    """
    points, n_trials = np.asarray(points, np.float64), 2 + int(np.log(n_clusters))
    squares, n = np.einsum("jd,jd->j", points, points), len(points)
    chosen, nearest = np.empty(n_clusters, dtype=np.intp), np.full(n, np.inf)
    drawn = random_state.choice(n, size=1, p=np.full(n, 1 / n))
    for c in range(n_clusters):
        if c > 0:
            heights = nearest.cumsum()
            drawn = heights.searchsorted(random_state.uniform(0, heights[-1], n_trials))
            drawn = np.minimum(drawn, n - 1)
        distances = squares[drawn, None] + squares - 2 * points[drawn] @ points.T
        nearer = np.minimum(nearest, np.maximum(distances, 0))
        best = nearer.sum(axis=1).argmin()
        chosen[c], nearest = drawn[best], nearer[best]
    return points[chosen]


def kmeans_from(points: NDArray[Any], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cluster rows by k-means, from the means of clusters that are there.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> kmeans_from(points, np.array([0, 0, 1, 1]))
    array([0, 0, 0, 1])
    """
    names, members = np.unique(labels, return_inverse=True)
    one_hot = sparse.csr_array(
        (np.ones(len(labels), points.dtype), (members, np.arange(len(labels))))
    )
    means = (one_hot @ points) / np.bincount(members)[:, None].astype(points.dtype)
    return _fit(KMeans(len(names), init=means, n_init=1), points)


def _fit(model: KMeans, points: NDArray[Any]) -> NDArray[np.intp]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(points).labels_, dtype=np.intp)
