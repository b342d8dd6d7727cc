"""The number of clusters, from the views alone.

Two scores of partitions can be compared over numbers of clusters. Modularity: are the
neighbours of a row in its own cluster, beyond what sizes of clusters let expect?
Agreement: different ways to cluster find the same clusters where they are there to be
found, and each its own where a number is forced on the data.
"""

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from unaligned.deadline import NEVER, Deadline
from unaligned.partitions.features import ViewFeatures, view_features
from unaligned.partitions.scores import modularity
from unaligned.progress import say
from unaligned.savuc.recipes import view_spaces
from unaligned.selection.evidence import ClusterEvidence, weigh
from unaligned.selection.families import make_families
from unaligned.views import Views, check_views, label

__all__ = ["choose_n_clusters", "select_n_clusters"]

Labels = NDArray[np.intp]

N_ROWS = 1000  # rows of a view that are clustered, or more for larger numbers
ROWS_PER_CLUSTER = 5  # of fewer rows, clusters are accidents
GROWTH = 1.15  # from one number that is tried to the next, once they are large


def select_n_clusters(
    Xs: Any,
    k_range: Iterable[int] | None = None,
    *,
    random_state: Any = 0,
    verbose: int = 0,
) -> ClusterEvidence:
    """Choose the number of clusters without labels.

    Each view is clustered in two ways on two scales, into every number of clusters.
    The number is chosen whose partitions have the best modularity in the graph of
    nearest neighbours, in the mean over partitions and views. How far they agree beyond
    chance (the mean adjusted Rand index of two partitions) is a second opinion on what
    may be right.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
        The views, samples × features. Of those with more than 1,000 rows, 1,000 are
        drawn, or five for each of the largest number of clusters. What corresponds to
        what does not matter.
    k_range : iterable of int, default=None
        Numbers to try. None: 2 to 200 in growing steps, at most one per five rows.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
        Whether to print a line per view.

    Returns
    -------
    ClusterEvidence
        ``n_clusters``, the number chosen; ``interval``, numbers that may be right;
        ``alternatives``, other peaks; ``flat``, whether no number stands out; and
        ``candidates``, ``modularity`` and ``agreement``, what they rest on.

    Notes
    -----
    Data often have groups of groups. Look at ``interval`` and ``alternatives`` before
    you believe ``n_clusters``, and do not believe it where ``flat`` is true.

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
) -> ClusterEvidence:
    """Choose the number of clusters of checked views."""
    candidates = numbers_to_try(min(views.n_rows))
    if len(candidates) == 1:  # too few rows to compare
        nothing = np.zeros((len(views), 1))
        return weigh(candidates, nothing, nothing)
    return _select(views, candidates, rng, verbose, deadline)


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
    most = max(2, min(n_rows, N_ROWS) // ROWS_PER_CLUSTER)
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
) -> ClusterEvidence:
    most = max(N_ROWS, ROWS_PER_CLUSTER * int(candidates[-1]))
    modularities, agreements = [], []
    for i, X in enumerate(views.arrays):
        if i and deadline.over():  # the others have no say
            break
        features = view_features(X[_draw_rows(X.shape[0], most, rng)])
        found, agreed = score_numbers(features, candidates, rng, deadline)
        modularities.append(found)
        agreements.append(agreed)
        if verbose:
            best = candidates[np.argmax(found)]
            say(
                f"[n_clusters] {label(views.names[i])}: {best} clusters are best, with "
                f"a modularity of {found.max():.3f}"
            )
    return weigh(candidates, np.array(modularities), np.array(agreements))


def _draw_rows(n_rows: int, most: int, rng: np.random.RandomState) -> Labels:
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, most, replace=False))


def score_numbers(
    features: ViewFeatures,
    candidates: Labels,
    rng: np.random.RandomState,
    deadline: Deadline = NEVER,
) -> NDArray[np.float64]:
    """Score every number of clusters of a view by modularity and by agreement.

    Where time is short, one of the two scales is enough.
    """
    distinct = len(np.unique(features.plain.points, axis=0))
    possible = np.flatnonzero(candidates <= distinct)
    scores = np.zeros((2, len(candidates)))
    if possible.size == 0:
        return scores
    numbers = candidates[possible].tolist()
    families: list[dict[int, Labels]] = []
    for space in view_spaces(features):
        if families and deadline.over():
            break
        families += make_families(space, numbers, rng)
    for at, k in zip(possible, numbers, strict=True):
        pool = [family[k] for family in families]
        in_graphs = [
            modularity(scale.neighbors, labels, k)
            for labels, scale in product(pool, features)
        ]
        scores[:, at] = np.mean(in_graphs), mean_agreement(pool)
    return scores


def mean_agreement(pool: list[Labels]) -> float:
    """Mean adjusted Rand index of two of the partitions (Hubert and Arabie, 1985)."""
    return float(np.mean([adjusted_rand_score(*two) for two in combinations(pool, 2)]))
