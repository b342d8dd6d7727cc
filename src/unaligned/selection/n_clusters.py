"""The number of clusters, from the views alone.

With the right number, clusters can be told from what they were not made of. With too
many, neighbours are in different clusters by accident. Agreement is corrected for
chance, so that it can be compared over numbers of clusters. Of clear clusters that are
joined, the whole is as clear as they are: among equals the largest number is right.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.utils import Bunch, check_random_state
from threadpoolctl import threadpool_limits

from unaligned.deadline import NEVER, Deadline
from unaligned.partitions.features import ViewFeatures, view_features
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import WEIGHTS, draw_halves, predictions
from unaligned.progress import say
from unaligned.views import Views, check_views, label

__all__ = ["choose_n_clusters", "select_n_clusters"]

Labels = NDArray[np.intp]

N_ROWS = 1000  # rows of a view that are scored
N_DRAWS = 2  # rounds with other seeds and halves, averaged
N_STARTS = 3  # of k-means
ROWS_PER_CLUSTER = 10  # a cluster of fewer rows cannot be told from its neighbours
MOST_CLUSTERS = 50  # tried where nobody says how many
TIE = 0.01  # scores that are no worse count as equally good
GROWTH = 1.15  # from one number that is tried to the next, once they are large


def select_n_clusters(
    Xs: Any,
    k_range: Iterable[int] | None = None,
    *,
    random_state: Any = 0,
    verbose: int = 0,
) -> Bunch:
    """Choose the number of clusters without labels.

    For every number, k-means clusters of each view are made and predicted back, from
    the neighbours of each row and by a linear discriminant that did not see it. The
    view that is predicted best at any number decides: by the largest number at which it
    is predicted as well as at its best.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
        The views, samples × features. Of those with more than 1,000 rows, 1,000 are
        drawn. What corresponds to what does not matter.
    k_range : iterable of int, default=None
        Numbers to try. None: 2 to 50 in growing steps, at most one per ten rows.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
        Whether to print a line per view.

    Returns
    -------
    Bunch
        ``n_clusters``, the number chosen; ``candidates``, those tried; ``scores``, how
        well the clusters of the view that decided were predicted at each, 0 being
        chance and 1 perfect; ``view``, which view that was; and ``view_scores``, the
        scores of every view, of shape (n_views, n_candidates).

    Notes
    -----
    Data often have structure on several scales, and the coarsest is the clearest. Look
    at ``scores`` before you believe ``n_clusters``: several high values are several
    good answers, and a flat curve is none.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> classes = np.repeat(np.eye(5), 40, axis=0)
    >>> views = [classes + 0.2 * rng.normal(size=(200, 5)) for _ in range(2)]
    >>> select_n_clusters(views, range(2, 9)).n_clusters
    5
    """
    views = check_views(Xs)
    if min(views.n_rows) < 2:
        raise ValueError(
            f"The views have {views.n_rows} rows. Bring at least 2 rows of each view: "
            "one row is one cluster."
        )
    candidates = _check_range(k_range, min(views.n_rows))
    return _select(views, candidates, check_random_state(random_state), verbose)


def choose_n_clusters(
    views: Views,
    rng: np.random.RandomState,
    verbose: int = 0,
    deadline: Deadline = NEVER,
) -> int:
    """Choose the number of clusters of views that have come through the door."""
    candidates = numbers_to_try(min(views.n_rows))
    if len(candidates) == 1:  # too few rows to compare
        return int(candidates[0])
    return int(_select(views, candidates, rng, verbose, deadline).n_clusters)


def _check_range(k_range: Iterable[int] | None, n_rows: int) -> Labels:
    if k_range is None:
        return numbers_to_try(n_rows)
    candidates = sorted({int(k) for k in k_range})
    if not candidates or candidates[0] < 2 or candidates[-1] > n_rows:
        raise ValueError(
            f"k_range={candidates} must hold numbers of clusters from 2 to the "
            f"{n_rows} rows of the smallest view."
        )
    return np.array(candidates)


def numbers_to_try(n_rows: int) -> Labels:
    """List numbers of clusters in growing steps, as far as there are rows for them."""
    if n_rows < 2:
        return np.array([1])
    most = max(2, min(MOST_CLUSTERS, n_rows // ROWS_PER_CLUSTER))
    numbers = [2]
    while (following := max(numbers[-1] + 1, int(GROWTH * numbers[-1]))) <= most:
        numbers.append(following)
    return np.array(numbers)


@threadpool_limits.wrap(limits=1)
def _select(
    views: Views,
    candidates: Labels,
    rng: np.random.RandomState,
    verbose: int,
    deadline: Deadline = NEVER,
) -> Bunch:
    scores = np.zeros((len(views), len(candidates)))
    for i, X in enumerate(views.arrays):
        if i and deadline.over():  # the others have no say
            break
        features = view_features(X[_draw_rows(X.shape[0], rng)])
        for at, n_clusters in enumerate(candidates):
            scores[i, at] = np.mean(
                [clarity(features, int(n_clusters), rng) for _ in range(N_DRAWS)]
            )
        if verbose:
            tried = zip(candidates, scores[i], strict=True)
            listed = ", ".join(f"{k}: {score:.3f}" for k, score in tried)
            say(f"[n_clusters] {label(views.names[i])}, score by number: {listed}")
    view = int(np.argmax(scores.max(axis=1)))
    good = scores[view] >= scores[view].max() - TIE
    return Bunch(
        n_clusters=int(candidates[good][-1]),
        candidates=candidates,
        scores=scores[view],
        view=view,
        view_scores=scores,
    )


def _draw_rows(n_rows: int, rng: np.random.RandomState) -> Labels:
    if n_rows <= N_ROWS:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, N_ROWS, replace=False))


def clarity(
    features: ViewFeatures, n_clusters: int, rng: np.random.RandomState
) -> float:
    """How well k-means clusters of a view are predicted from it, beyond chance."""
    half = draw_halves(len(features.plain.points), rng)
    found = []
    for scale in features:
        labels = kmeans(scale.points, n_clusters, rng, N_STARTS)
        if len(np.unique(labels)) < n_clusters:
            return 0.0  # there are not as many different rows
        predicted = predictions(features, labels, n_clusters, half)
        agreement = [adjusted_mutual_info_score(labels, other) for other in predicted]
        found.append(np.dot(WEIGHTS, agreement))
    return float(np.mean(found))
