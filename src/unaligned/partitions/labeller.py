"""Labels for new rows of a view, from rows whose labels are known."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.neighbors import top_products
from unaligned.partitions.features import (
    ViewFeatures,
    as_floats,
    view_features,
)
from unaligned.partitions.scores import (
    WEIGHTS,
    Discriminant,
    fit_discriminant,
    neighbor_shares,
)

__all__ = ["Labeller", "fit_labeller"]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_KNOWN = 5000  # rows, at most, that new rows are labelled by: they bound memory,
KNOWN_PER_CLASS = 20  # or more with many classes, so that 15 neighbours can be of one
N_BLOCK = 4096  # new rows read at a time
# Share of a prediction that is spread evenly over the classes: sums of logarithms over
# views stay finite, and no view can veto a class.
SMOOTHING = 0.02


class Labeller(NamedTuple):
    """Labels new rows of one view by what predicts the labels of known rows."""

    classes: Array
    features: ViewFeatures
    """Of the known rows."""
    positions: Labels
    """Label of every known row, as a position in ``classes``."""
    discriminant: Discriminant

    def log_probabilities(self, X: Any) -> Array:
        """Log probability of every class, for every row: to be summed over views."""
        starts = range(0, X.shape[0], N_BLOCK)
        blocks = [self._block(as_floats(X[i : i + N_BLOCK])) for i in starts]
        return np.vstack([np.empty((0, len(self.classes))), *blocks])

    def _block(self, X: Any) -> Array:
        k, scales = len(self.classes), self.features
        points = [scale.projection.project(X) for scale in scales]
        linear = self.discriminant.log_probabilities(points[1])
        shares = WEIGHTS[0] * np.exp(linear)
        for weight, scale, rows in zip(WEIGHTS[1:], scales, points, strict=True):
            near, _ = top_products(rows, scale.points, scale.neighbors.shape[1])
            shares += weight * neighbor_shares(near, self.positions, k)
        return np.log((1 - SMOOTHING) * shares + SMOOTHING / k)

    def predict(self, X: Any) -> Array:
        """Labels of new rows of the view."""
        return np.asarray(self.classes[self.log_probabilities(X).argmax(axis=1)])


def fit_labeller(X: Any, labels: Array) -> Labeller:
    """Learn to label rows of one view, from rows whose labels are known.

    The probability of a class is the mean of what a linear discriminant and the nearest
    known rows on both scales say, weighted as in `predictability`.

    Parameters
    ----------
    X : ndarray, CSR array or ViewFeatures of n rows, n at least 2
    labels : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 0.1], [1, 0.0], [0.1, 1], [0.0, 1]])
    >>> fit_labeller(X, np.array([7, 7, 9, 9])).predict(np.array([[0.2, 3.0]]))
    array([9])
    """
    classes, positions = np.unique(labels, return_inverse=True)
    most = max(N_KNOWN, KNOWN_PER_CLASS * len(classes))
    if isinstance(X, ViewFeatures):
        features = X
    elif X.shape[0] <= most:
        features = view_features(X)
    else:  # a sample is enough to tell the classes by
        chosen = np.random.RandomState(0).choice(X.shape[0], most, replace=False)
        features, positions = view_features(X[chosen]), positions[chosen]
    fitted = fit_discriminant(features.standard.points, positions, len(classes))
    return Labeller(classes, features, positions, fitted)
