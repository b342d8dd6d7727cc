"""k-means for partitions that are made by the dozen."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

__all__ = ["kmeans"]


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(n_clusters, n_init=n_starts, random_state=seed).fit(points)
    return np.asarray(fitted.labels_, dtype=np.intp)
