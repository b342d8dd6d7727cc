"""How well a partition is predicted from a view, and labels predicted for other rows.

A partition that means something can be told from the views it was not made for. Three
witnesses are heard per view: the nearest neighbours of a row, with and without columns
standardised, and a linear discriminant that is fitted on one half of the rows and
asked about the other.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh

from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.geometry import column_moments, row_lengths

__all__ = ["Labeller", "Portrait", "fit_labeller", "portray", "predictability"]

Array = NDArray[Any]
Labels = NDArray[np.intp]

N_NEIGHBORS = 15
N_WIDE = 200  # a wider view is cut to as many singular directions
N_PRINCIPAL = 50  # directions the discriminant sees
N_SEARCHED = 3000  # rows, at most, that directions are found from
N_KNOWN = 5000  # rows, at most, that new rows are labelled by
KNOWN_PER_CLASS = 20  # or more, with many classes
N_BLOCK = 4096  # new rows read at a time
RIDGE = 0.05  # added to the variances within classes, as a share of their mean
WEIGHTS = 0.5, 0.25, 0.25  # of the discriminant, and of neighbours on both scales
APART = 0.7  # share of 1/k² of a variance that k clusters leave where they lie apart
DOUBT = 0.02  # share of a prediction that is spread evenly over the classes


class Reading(NamedTuple):
    """One way of looking at the rows of a view, and its principal directions."""

    mean: Array
    scale: Array
    directions: Array | None
    """Singular directions kept; None where the view is narrow enough."""
    center: Array
    principal: Array

    def read(self, X: Any) -> Array:
        """Coordinates of rows: scaled to unit length, then cut."""
        lengths = row_lengths(X, self.mean, self.scale)
        scaled, offset = 1 / self.scale, self.mean / self.scale
        if self.directions is None:
            points = X.toarray() if sparse.issparse(X) else X
            points = points * scaled - offset
        else:
            points = X @ (self.directions * scaled[:, None])
            points = points - offset @ self.directions
        return np.asarray(points / lengths[:, None])

    def turn(self, points: Array) -> Array:
        """Principal coordinates of rows that were read."""
        turned: Array = (points - self.center) @ self.principal
        return turned


class Look(NamedTuple):
    """What one reading shows of the rows it was made from."""

    reading: Reading
    points: Array
    principal: Array
    near: Labels
    """The nearest other rows of every row, by cosine: (n, at most 15)."""


class Portrait(NamedTuple):
    """A view, seen as it is and with its columns standardised."""

    plain: Look
    standard: Look

    @property
    def looks(self) -> tuple[Look, Look]:
        """Both looks."""
        return self.plain, self.standard


def portray(X: Any) -> Portrait:
    """Read a view of two or more rows both ways, and find every row's neighbours."""
    X = as_floats(X)
    mean, deviation = column_moments(X)
    scale = np.where(deviation > 0, deviation, np.inf)
    nothing, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    return Portrait(_look(X, nothing, ones), _look(X, mean, scale))


def as_floats(X: Any) -> Any:
    """Cast to float64, since half floats and small integers overflow or crawl."""
    return X.astype(np.float64) if sparse.issparse(X) else np.asarray(X, np.float64)


def _look(X: Any, mean: Array, scale: Array) -> Look:
    directions = _singular_directions(X, mean, scale) if X.shape[1] > N_WIDE else None
    reading = Reading(mean, scale, directions, nothing := np.zeros(0), nothing)
    points = reading.read(X)
    center = points.mean(axis=0)
    centred = points - center
    principal = leading(centred.T @ centred, N_PRINCIPAL)[1]
    reading = reading._replace(center=center, principal=principal)
    return Look(reading, points, reading.turn(points), nearest(points))


def leading(gram: Array, wanted: int) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors, at least one, none of rounding noise."""
    m = len(gram)
    values, vectors = eigh(gram, subset_by_index=[max(m - wanted, 0), m - 1])
    kept = max(1, int(np.count_nonzero(values > 1e-10 * max(values[-1], 0))))
    return values[::-1][:kept], vectors[:, ::-1][:, :kept]


def _singular_directions(X: Any, mean: Array, scale: Array) -> Array:
    """Leading right singular vectors of the scaled rows; sparse rows stay sparse."""
    n, d = X.shape
    if n > N_SEARCHED:
        chosen = np.random.RandomState(0).choice(n, N_SEARCHED, replace=False)
        X, n = X[np.sort(chosen)], N_SEARCHED
    inverse = 1 / row_lengths(X, mean, scale)
    offset = mean / scale
    if not sparse.issparse(X) or d <= n:
        rows = X.toarray() if sparse.issparse(X) else X
        rows = (rows / scale - offset) * inverse[:, None]
        if d <= n:
            return leading(rows.T @ rows, N_WIDE)[1]
        values, left = leading(rows @ rows.T, N_WIDE)
        directions = rows.T @ left
    else:
        # Rows are D (S − 1 oᵀ), with S sparse: multiplied out, nothing gets dense.
        S = X @ sparse.diags_array(1 / scale)
        products, shifts = (S @ S.T).toarray(), S @ offset
        products += offset @ offset - shifts[:, None] - shifts
        values, left = leading(products * inverse[:, None] * inverse, N_WIDE)
        weighted = left * inverse[:, None]
        directions = S.T @ weighted - np.outer(offset, weighted.sum(axis=0))
    return np.asarray(directions / np.sqrt(np.where(values > 0, values, 1)))


def nearest(points: Array) -> Labels:
    """For every row, the 15 other rows of largest cosine (or all, if fewer)."""
    n = len(points)
    unit = unit_rows(points)
    wanted = min(N_NEIGHBORS, n - 1)
    found, _ = top_products(unit, unit, wanted + 1)
    # Among many equal rows a row may miss itself: then its last neighbour goes.
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return found[~own].reshape(n, wanted)


def vote(near: Labels, labels: Labels, n_clusters: int) -> Array:
    """Share of a row's neighbours in every cluster: (rows, n_clusters)."""
    m, n_near = near.shape
    cells = np.arange(m)[:, None] * n_clusters + labels[near]
    counts = np.bincount(cells.ravel(), minlength=m * n_clusters)
    return counts.reshape(m, n_clusters) / n_near


def information(one: Labels, other: Labels, n_clusters: int) -> float:
    """Mutual information of two partitions, over the log of the number of clusters.

    Not over their entropies: a partition of one big cluster and outliers has little
    entropy, and would look well predicted.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([0, 0, 1, 1])
    >>> information(one, 1 - one, 2), information(one, np.array([0, 1, 0, 1]), 2)
    (1.0, 0.0)
    """
    cells = np.bincount(one * n_clusters + other, minlength=n_clusters**2)
    joint = cells.reshape(n_clusters, n_clusters) / len(one)
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = joint > 0
    shared = np.sum(joint[there] * np.log(joint[there] / apart[there]))
    return float(max(shared, 0.0) / np.log(n_clusters))


def modularity(near: Labels, labels: Labels, n_clusters: int) -> float:
    """How much more of the neighbours are in one cluster than its size lets expect.

    Newman's modularity of the undirected graph of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> near = np.array([[1], [0], [3], [2]])
    >>> together, apart = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> modularity(near, together, 2), modularity(near, apart, 2)
    (0.5, -0.5)
    """
    n, n_near = near.shape
    degrees = (n_near + np.bincount(near.ravel(), minlength=n)) / 2
    shares = np.bincount(labels, degrees, minlength=n_clusters) / degrees.sum()
    return float(np.mean(labels[near] == labels[:, None]) - shares @ shares)


def log_lengths(X: Any) -> Array:
    """Logarithm of the length of every row, which no portrait shows."""
    d = X.shape[1]
    return np.asarray(np.log(row_lengths(as_floats(X), np.zeros(d), np.ones(d))))


def told_by_length(lengths: Array, labels: Labels, n_clusters: int) -> float:
    """Share of what a partition says that the lengths of rows alone tell.

    In twice as many steps of length as there are clusters, or in as many as leave each
    of them ten rows of every cluster. Nothing where clusters do not slice a continuum
    of lengths, but lie apart: k slices of any but a gapped distribution leave 1/k² of
    its variance, or more, within them.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(80)
    >>> half, even = rows // 40, rows % 2
    >>> told_by_length(rows, half, 2), told_by_length(rows, even, 2)
    (1.0, 0.0)
    >>> told_by_length(rows + 80 * half, half, 2)
    0.0
    """
    sizes = np.maximum(np.bincount(labels, minlength=n_clusters), 1)
    means = np.bincount(labels, lengths, minlength=n_clusters) / sizes
    if np.mean((lengths - means[labels]) ** 2) < APART / n_clusters**2 * lengths.var():
        return 0.0
    n_steps = max(1, min(2 * n_clusters, len(lengths) // (10 * n_clusters)))
    steps = np.quantile(lengths, np.arange(1, n_steps) / n_steps)
    n_names = max(n_steps, n_clusters)
    told = information(np.searchsorted(steps, lengths), labels, n_names)
    return told / (information(labels, labels, n_names) or 1.0)


class Discriminant(NamedTuple):
    """Linear discriminant: one Gaussian per class, all of one shape."""

    slopes: Array
    intercepts: Array

    def log_probabilities(self, points: Array) -> Array:
        """Log probability of every class, for every row."""
        scores = points @ self.slopes + self.intercepts
        scores -= scores.max(axis=1, keepdims=True)
        result: Array = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return result


def fit_discriminant(points: Array, labels: Labels, n_clusters: int) -> Discriminant:
    """Fit means, shares and one covariance; an empty class is never predicted."""
    n, d = points.shape
    places = labels, np.arange(n)
    members = sparse.csr_array((np.ones(n), places), shape=(n_clusters, n))
    sizes = np.bincount(labels, minlength=n_clusters)
    means = (members @ points) / np.maximum(sizes, 1)[:, None]
    within = points.T @ points / n - (means * (sizes / n)[:, None]).T @ means
    # Where classes have no extent, a trace of the whole keeps the matrix regular.
    floor = 1e-6 * points.var(axis=0).sum() or 1.0
    within[np.diag_indices(d)] += max(RIDGE * np.trace(within), floor) / d
    slopes = cho_solve(cho_factor(within), means.T)
    log_shares = np.full(n_clusters, -np.inf)
    log_shares[sizes > 0] = np.log(sizes[sizes > 0] / n)
    return Discriminant(slopes, log_shares - 0.5 * np.sum(means.T * slopes, axis=0))


def draw_halves(n: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Split rows in two halves at random, as a mask."""
    half = np.zeros(n, dtype=bool)
    half[rng.permutation(n)[: n // 2]] = True
    return half


def predictability(
    portrait: Portrait, labels: Labels, n_clusters: int, half: NDArray[np.bool_]
) -> float:
    """How well a partition of the rows is predicted from a view, from 0.01 to 0.99.

    Parameters
    ----------
    portrait : Portrait
    labels : ndarray of int of shape (n,)
        From 0 to ``n_clusters`` − 1.
    n_clusters : int
        At least 2.
    half : boolean mask of shape (n,)
        The rows a discriminant is fitted on to be asked about the others, and back.
    """
    points = portrait.standard.principal
    told = np.empty_like(labels)
    for learn in (half, ~half):
        linear = fit_discriminant(points[learn], labels[learn], n_clusters)
        told[~learn] = linear.log_probabilities(points[~learn]).argmax(axis=1)
    voted = [vote(look.near, labels, n_clusters).argmax(1) for look in portrait.looks]
    answers = [information(labels, answer, n_clusters) for answer in (told, *voted)]
    return float(np.clip(np.dot(WEIGHTS, answers), 0.01, 0.99))


class Labeller(NamedTuple):
    """Labels new rows of one view, by what predicts the labels of known rows."""

    classes: Array
    portrait: Portrait
    positions: Labels
    """Label of every known row, as a position in ``classes``."""
    discriminant: Discriminant

    def log_probabilities(self, X: Any) -> Array:
        """Log probability of every class, for every row: to be summed over views."""
        starts = range(0, X.shape[0], N_BLOCK)
        blocks = [self._block(as_floats(X[i : i + N_BLOCK])) for i in starts]
        return np.vstack([np.empty((0, len(self.classes))), *blocks])

    def _block(self, X: Any) -> Array:
        looks, k = self.portrait.looks, len(self.classes)
        views = [look.reading.read(X) for look in looks]
        turned = looks[1].reading.turn(views[1])
        shares = WEIGHTS[0] * np.exp(self.discriminant.log_probabilities(turned))
        for weight, look, rows in zip(WEIGHTS[1:], looks, views, strict=True):
            wanted = min(N_NEIGHBORS, len(look.points))
            near, _ = top_products(unit_rows(rows), unit_rows(look.points), wanted)
            shares += weight * vote(near, self.positions, k)
        return np.log((1 - DOUBT) * shares + DOUBT / k)

    def predict(self, X: Any) -> Array:
        """Labels of new rows of the view."""
        return np.asarray(self.classes[self.log_probabilities(X).argmax(axis=1)])


def fit_labeller(X: Any, labels: Array) -> Labeller:
    """Learn to label rows of one view, from rows whose labels are known.

    Parameters
    ----------
    X : ndarray, CSR array or Portrait of n rows, n at least 2
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
    if isinstance(X, Portrait):
        portrait = X
    elif X.shape[0] <= most:
        portrait = portray(X)
    else:  # a sample says what rows of a class look like
        chosen = np.random.RandomState(0).choice(X.shape[0], most, replace=False)
        portrait, positions = portray(X[chosen]), positions[chosen]
    known = portrait.standard.principal, positions, len(classes)
    return Labeller(classes, portrait, positions, fit_discriminant(*known))
