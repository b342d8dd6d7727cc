"""k-means for partitions that are made by the dozen."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

__all__ = ["kmeans", "kmeans_from"]


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
    return _fit(KMeans(n_clusters, n_init=n_starts, random_state=seed), points)


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
