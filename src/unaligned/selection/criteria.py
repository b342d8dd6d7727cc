"""Scores of a model that need no known label."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.partitions import scores
from unaligned.partitions.features import view_features
from unaligned.selection.calibration import self_split_recovery
from unaligned.views import Views, check_views, label

__all__ = ["CRITERIA", "predictability", "scored_views", "stability"]

N_ROWS = 1500  # rows of a view that are scored; more would hardly change the score

Criterion = Callable[..., float]


@threadpool_limits.wrap(limits=1)
def predictability(
    Xs: Any, labels: Any, *, random_state: Any = 0
) -> NDArray[np.float64]:
    """How well clusters are predicted from each view, without any known label.

    Clusters that mean something are predicted by the neighbours of a row, and by a
    linear discriminant that was fitted on other rows. Clusters that are an accident of
    one method or of one view are not.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
        The views, samples × features.
    labels : array-like of shape (n,), or list of them, one per view
        Clusters of the rows of each view, in that view's own row order, such as
        ``model.view_labels_``. One array stands for all views: their rows correspond.
    random_state : int, RandomState instance or None, default=0
        Draws the halves for the discriminant, and 1,500 rows of views that have more.

    Returns
    -------
    ndarray of shape (n_views,)
        From 0.01 (as good as guessed) to 0.99: information between clusters and
        predictions, as a share of what the clusters could tell at most.

    Examples
    --------
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> shuffled = np.random.RandomState(0).permutation(digits.y)
    >>> predictability(digits.Xs[0], digits.y).round(1)
    array([0.9])
    >>> predictability(digits.Xs[0], shuffled) < 0.1
    array([ True])
    """
    views = check_views(Xs)
    rng = check_random_state(random_state)
    values = [
        _predictability_of_view(X, clusters, rng)
        for X, clusters in zip(views.arrays, _check_labels(labels, views), strict=True)
    ]
    return np.array(values)


def _predictability_of_view(X: Any, labels: Any, rng: np.random.RandomState) -> float:
    if len(labels) > N_ROWS:
        rows = np.sort(rng.choice(len(labels), N_ROWS, replace=False))
        X, labels = X[rows], labels[rows]
    names, positions = np.unique(labels, return_inverse=True)
    if len(names) == 1 or len(labels) < 4:
        return scores.LOWEST  # nothing to predict, or nothing to predict it from
    half = scores.draw_halves(len(labels), rng)
    return scores.predictability(view_features(X), positions, len(names), half)


def _check_labels(labels: Any, views: Views) -> list[NDArray[Any]]:
    """One array of labels per view."""
    several = isinstance(labels, list | tuple) and np.ndim(labels[0]) == 1
    checked = [
        np.asarray(part) for part in (labels if several else [labels] * len(views))
    ]
    if len(checked) != len(views):
        raise ValueError(
            f"labels holds {len(checked)} arrays, but there are {len(views)} views. "
            "Give one per view, or a single one if the rows of all views correspond."
        )
    for name, n, part in zip(views.names, views.n_rows, checked, strict=True):
        if part.shape != (n,):
            raise ValueError(
                f"{label(name)} has {n} rows, but its labels have shape {part.shape}. "
                "Give one label per row, in the row order of that view."
            )
    return checked


def stability(
    estimator: Any,
    Xs: Any,
    *,
    aligned: Any = None,
    n_repeats: int = 4,
    share: float = 0.8,
    random_state: Any = 0,
) -> float:
    """How far clusters stay the same when rows are left out and seeds change.

    Parameters
    ----------
    estimator : estimator
        It is cloned, and the clones are fitted with seeds of their own.
    Xs, aligned
        As for the estimator's ``fit``. Rows that are known to correspond are kept or
        left out together.
    n_repeats : int, default=4
        Number of fits.
    share : float, default=0.8
        Share of the rows of each view in every fit. 1: only seeds change.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    float
        Mutual information of two fits on the rows they share, corrected for chance
        (AMI): about 0 for guesses and 1 for identical clusters, in the mean over
        pairs of fits and over the views that are scored in both (see `scored_views`).
        A pair of fits without such a view counts as 0.

    Notes
    -----
    Stable is not right: few, coarse clusters are more stable than many, and a method
    that always finds the same useless clusters is perfectly stable.

    Examples
    --------
    >>> from unaligned.baselines import LMVSC
    >>> from unaligned.datasets import load_digits_views
    >>> digits = load_digits_views()
    >>> views = [X[:300] for X in digits.Xs]
    >>> 0.2 < stability(LMVSC(10), views, aligned="all") < 1
    True
    """
    if not 0 < share <= 1 or n_repeats < 2:
        raise ValueError(
            f"share={share!r} must be above 0 and at most 1, and n_repeats="
            f"{n_repeats!r} at least 2: stability compares fits with each other."
        )
    views = check_views(Xs)
    pairs = check_aligned(aligned, views)
    rng = check_random_state(random_state)
    fits = []
    for _ in range(n_repeats):
        rows = draw_rows(pairs, share, rng)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        model = clone(estimator).set_params(random_state=seed)
        some = {
            name: X[kept]
            for name, X, kept in zip(views.names, views.arrays, rows, strict=True)
        }
        model.fit(some, aligned=pairs_among(pairs, rows))
        fits.append((rows, model))
    return float(np.mean([_agreement(*two) for two in combinations(fits, 2)]))


def draw_rows(
    pairs: KnownPairs, share: float, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Draw a share of the rows of each view; known partners are drawn together."""
    n_objects = 1 + max(int(known.max(initial=-1)) for known in pairs.identities)
    shared = rng.uniform(size=n_objects)
    drawn = []
    for known in pairs.identities:
        own = rng.uniform(size=len(known))
        own[known >= 0] = shared[known[known >= 0]]
        wanted = max(2, round(share * len(known)))
        drawn.append(np.sort(np.argsort(own, kind="stable")[:wanted]))
    return drawn


def pairs_among(
    pairs: KnownPairs, rows: list[NDArray[np.intp]]
) -> dict[tuple[int, int], NDArray[np.intp]] | None:
    """Known pairs among some rows of each view, as ``aligned`` wants them."""
    kept = KnownPairs(
        [known[some] for known, some in zip(pairs.identities, rows, strict=True)]
    )
    found = {
        (i, j): np.column_stack(kept.between(i, j))
        for i, j in combinations(range(len(rows)), 2)
    }
    return {views: both for views, both in found.items() if len(both)} or None


def scored_views(model: Any) -> list[int]:
    """List the views whose labels are scored.

    Its template, views that it trusts, and those of which at least half of the rows
    were given a partner.
    """
    alignment = model.alignment_
    given = np.flatnonzero(alignment.known >= 0.5).tolist()
    return sorted({int(model.template_), *alignment.trusted(), *given})


def _agreement(one: tuple[Any, Any], other: tuple[Any, Any]) -> float:
    """Agreement of two fits on the rows they share."""
    (rows_one, fit_one), (rows_other, fit_other) = one, other
    both = set(scored_views(fit_one)) & set(scored_views(fit_other))
    found = []
    for i in both:
        _, at_one, at_other = np.intersect1d(
            rows_one[i], rows_other[i], assume_unique=True, return_indices=True
        )
        clusters = fit_one.view_labels_[i][at_one], fit_other.view_labels_[i][at_other]
        found.append(adjusted_mutual_info_score(*clusters))
    return float(np.mean(found)) if found else 0.0


def judge_predictability(model: Any, Xs: Any, aligned: Any = None) -> float:
    """Mean over the scored views of log q − ½ log(1 − q), q their predictability.

    The logarithm punishes clusters that live in one view only; the second term keeps a
    view that is very strong.
    """
    views = check_views(Xs, view_sizes=model.view_sizes)
    chosen = scored_views(model)
    q = predictability(
        [views.arrays[i] for i in chosen], [model.view_labels_[i] for i in chosen]
    )
    return float(np.mean(np.log(q) - 0.5 * np.log1p(-q)))


def judge_stability(model: Any, Xs: Any, aligned: Any = None) -> float:
    """`stability` of the model's clusters."""
    views = check_views(Xs, view_sizes=model.view_sizes)
    unsplit = clone(model).set_params(view_sizes=None)
    return stability(
        unsplit, dict(zip(views.names, views.arrays, strict=True)), aligned=aligned
    )


def judge_recovery(model: Any, Xs: Any, aligned: Any = None) -> float:
    """Mean over views of `self_split_recovery`."""
    views = check_views(Xs, view_sizes=model.view_sizes)
    found = self_split_recovery(clone(model).set_params(view_sizes=None), views.arrays)
    return float(np.nanmean(found))


CRITERIA: dict[str, Criterion] = {
    "predictability": judge_predictability,
    "recovery": judge_recovery,
    "stability": judge_stability,
}
