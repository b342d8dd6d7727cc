"""The plain bridge: what a few lines of regression make of some known pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.partitions.kmeans import kmeans
from unaligned.savuc.bridge_regression import fit_ridge
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry, read_geometry
from unaligned.views import check_views

__all__ = ["PlainBridge", "plain_rows"]

N_STARTS = 10  # of k-means


class PlainBridge:
    """Views side by side, estimated by ridge regression; k-means of all rows.

    The floor of every method that knows some of the pairs.
    """

    template_ = 0

    def __init__(self, n_clusters: int, *, random_state: int) -> None:
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, Xs: list[Any], aligned: Any = None) -> "PlainBridge":
        """Estimate every row in all views, and cluster all rows of all views."""
        views, rng = check_views(Xs), np.random.RandomState(self.random_state)
        wanted = Settings().n_directions
        geometries = [read_geometry(X, wanted, rng) for X in views.arrays]
        rows = plain_rows(geometries, check_aligned(aligned, views))
        labels = kmeans(np.vstack(rows), self.n_clusters, rng, N_STARTS)
        ends = np.cumsum([len(of_view) for of_view in rows])[:-1]
        self.view_labels_ = np.split(labels, ends)
        return self


def plain_rows(geometries: list[Geometry], pairs: KnownPairs) -> list[NDArray[Any]]:
    """Place all rows of all views in one space.

    Principal coordinates in every view, side by side: a row's own, those of its known
    partners, and estimates of the others. Without any pair the estimate is the mean, 0.

    Parameters
    ----------
    geometries : list of Geometry
    pairs : KnownPairs

    Returns
    -------
    list of ndarray of shape (n_i, columns of all views)
    """
    rows = []
    for i, one in enumerate(geometries):
        blocks = []
        for j, other in enumerate(geometries):
            at_i, at_j = pairs.between(i, j)
            if i == j:
                block = one.points
            elif at_i.size:
                fit = fit_ridge(one.points[at_i], other.points[at_j])
                block = fit.predict(one.points)
                block[at_i] = other.points[at_j]
            else:
                block = np.zeros((len(one.points), other.points.shape[1]))
            blocks.append(block)
        rows.append(np.hstack(blocks))
    return rows
