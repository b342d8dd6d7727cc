"""Description of the clusters of a view: sizes, and columns in which they differ."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from unaligned.kernels.scaling import column_moments

__all__ = ["ViewClusters", "describe_clusters"]

MOST_NAMED = 5  # columns named for a cluster
MOST_IN_HEAT_MAP = 20  # columns of a view
SMALL = 0.2  # standard deviations, a small effect (Cohen 1988): less is not shown


@dataclass(frozen=True)
class ViewClusters:
    """The clusters of one view."""

    names: list[int]
    sizes: list[int]
    distinctive: list[list[tuple[str, float]]]
    """Columns in which each differs most, and by how many standard deviations."""
    columns: list[str]
    """Columns of the heat map."""
    positions: list[int]
    """Positions of these columns in the view."""
    heat: NDArray[np.float64]
    """Differences in these columns: (clusters, columns)."""
    agreement: float | None
    """Adjusted Rand index with the clusters of the view alone, if there are any."""


def describe_clusters(
    X: Any,
    labels: NDArray[np.intp],
    names: list[str] | None = None,
    alone: NDArray[np.intp] | None = None,
) -> ViewClusters:
    """Describe the clusters of a view by the columns in which they differ.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    labels : ndarray of shape (n,)
        Cluster of every row.
    names : list of str, optional
        Names of the columns. Default: their positions.
    alone : ndarray of shape (n,), optional
        Clusters that were found in this view alone.

    Returns
    -------
    ViewClusters

    Notes
    -----
    Columns are ranked by the difference between their mean in the cluster and in all
    rows, in standard deviations of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5], [0, 6], [4, 5], [4, 6]])
    >>> found = describe_clusters(X, np.array([0, 0, 1, 1]), ["age", "iron"])
    >>> found.sizes, found.distinctive
    ([2, 2], [[('age', -1.0)], [('age', 1.0)]])
    """
    clusters, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    differences = _differences(X, codes, sizes)
    order = np.argsort(-np.abs(differences), axis=1, kind="stable")
    names = names or [f"column {j}" for j in range(X.shape[1])]
    distinctive = [
        [(names[j], float(row[j])) for j in best[:MOST_NAMED] if abs(row[j]) >= SMALL]
        for row, best in zip(differences, order, strict=True)
    ]
    strongest = np.abs(differences).max(axis=0)
    shown = np.argsort(-strongest, kind="stable")[:MOST_IN_HEAT_MAP]
    shown = np.sort(shown[strongest[shown] >= SMALL])
    return ViewClusters(
        [int(cluster) for cluster in clusters],
        sizes.tolist(),
        distinctive,
        [names[j] for j in shown],
        shown.tolist(),
        differences[:, shown],
        None if alone is None else float(adjusted_rand_score(alone, labels)),
    )


def _differences(
    X: Any, codes: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Means of all clusters minus those of all rows, in standard deviations."""
    n = len(codes)
    membership = sparse.csr_array((np.ones(n), (codes, np.arange(n))))
    sums = membership @ X
    sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    mean, deviation = column_moments(X)
    scale = np.where(deviation > 0, deviation, np.inf)
    difference: NDArray[np.float64] = (sums / sizes[:, None] - mean) / scale
    return difference
