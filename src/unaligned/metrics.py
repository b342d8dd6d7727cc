"""Scores of labels and alignments, and what chance would score."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix
from sklearn.preprocessing import normalize

from unaligned.base import cluster_rows
from unaligned.views import check_views

__all__ = [
    "category_alignment_chance",
    "category_alignment_rate",
    "clustering_accuracy",
    "clustering_scores",
    "instance_alignment_rate",
    "pair_f_score",
    "purity",
    "single_view_scores",
]


def clustering_scores(y: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """All clustering scores of the field at once, each in [0, 1] but ``ari``.

    Parameters
    ----------
    y : array-like of shape (n,)
        True classes.
    labels : array-like of shape (n,)
        Clusters found, in the same row order.

    Returns
    -------
    dict
        ``acc``, ``nmi``, ``f``, ``ari`` and ``purity``.

    Examples
    --------
    >>> scores = clustering_scores([0, 0, 1, 1], [1, 1, 0, 0])
    >>> {name: float(value) for name, value in scores.items()}
    {'acc': 1.0, 'nmi': 1.0, 'f': 1.0, 'ari': 1.0, 'purity': 1.0}
    """
    y, labels = _check_labels(y, labels)
    return {
        "acc": clustering_accuracy(y, labels),
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "f": pair_f_score(y, labels),
        "ari": float(adjusted_rand_score(y, labels)),
        "purity": purity(y, labels),
    }


def clustering_accuracy(y: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that are right under the best one-to-one naming of clusters.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [5, 5, 5, 2])
    0.75
    """
    table = contingency_matrix(*_check_labels(y, labels))
    return float(table[linear_sum_assignment(-table)].sum() / table.sum())


def purity(y: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that belong to the commonest class of their cluster.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    table = contingency_matrix(*_check_labels(y, labels))
    return float(table.max(axis=0).sum() / table.sum())


def pair_f_score(y: ArrayLike, labels: ArrayLike) -> float:
    """F-score over pairs of rows: those of one class that are in one cluster.

    Examples
    --------
    >>> pair_f_score([0, 0, 1], [0, 1, 1])
    0.0
    """
    (_, false_together), (missed, together) = pair_confusion_matrix(
        *_check_labels(y, labels)
    )
    if together == 0:
        # No pair is together in both. That is perfect only if neither has any pair.
        return float(missed == false_together == 0)
    return float(2 * together / (2 * together + false_together + missed))


def category_alignment_rate(
    y_i: ArrayLike, y_t: ArrayLike, permutation: ArrayLike
) -> float:
    """Share of matched rows whose partner is of the same class (CAR).

    Parameters
    ----------
    y_i, y_t : array-like
        Classes of the rows of view i and of the template, each in its own row order.
    permutation : array-like of int, one entry per template row
        Row of view i matched to each template row; -1 is left out.

    Returns
    -------
    float
        In [0, 1]; NaN where nothing is matched. Compare with
        `category_alignment_chance`.

    Examples
    --------
    >>> category_alignment_rate([0, 1, 1], [1, 1, 0], [1, 2, 0])
    1.0
    """
    return _agreement(y_i, y_t, permutation)


def category_alignment_chance(y_i: ArrayLike, y_t: ArrayLike) -> float:
    """Give the expected `category_alignment_rate` of a random matching.

    Examples
    --------
    >>> category_alignment_chance([0, 0, 1, 1], [0, 1, 0, 1])
    0.5
    """
    y_i, y_t = np.asarray(y_i), np.asarray(y_t)
    classes = np.unique(np.concatenate([y_i, y_t]))
    share_i = [np.mean(y_i == c) for c in classes]
    share_t = [np.mean(y_t == c) for c in classes]
    return float(np.dot(share_i, share_t))


def instance_alignment_rate(
    order_i: ArrayLike, order_t: ArrayLike, permutation: ArrayLike
) -> float:
    """Share of matched rows whose partner is the very same object.

    Parameters
    ----------
    order_i, order_t : array-like of int
        Object that each row of view i and of the template describes, such as ``order``
        of `unaligned.datasets.unalign`.
    permutation : array-like of int, one entry per template row
        Row of view i matched to each template row; -1 is left out.

    Returns
    -------
    float
        In [0, 1]; NaN where nothing is matched. Chance is about 1/n.

    Examples
    --------
    >>> instance_alignment_rate([2, 0, 1], [0, 1, 2], [1, 2, 0])
    1.0
    """
    return _agreement(order_i, order_t, permutation)


def single_view_scores(
    Xs: Any, ys: Any, n_clusters: int, *, n_init: int = 20, random_state: int = 0
) -> list[dict[str, float]]:
    """Scores of plain k-means on each view alone: the floor of every method.

    Rows are scaled to unit length first. The best of the list, picked with the labels,
    is the oracle single view.

    Parameters
    ----------
    Xs : views
        As for the estimators.
    ys : list of array-like
        True classes of the rows of each view.
    n_clusters : int
    n_init : int, default=20
        Restarts of k-means.
    random_state : int, default=0

    Returns
    -------
    list of dict
        One `clustering_scores` per view.
    """
    return [
        clustering_scores(
            y,
            cluster_rows(normalize(X), n_clusters, n_init=n_init, seed=random_state)[0],
        )
        for X, y in zip(check_views(Xs).arrays, ys, strict=True)
    ]


def _check_labels(y: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    y, labels = np.asarray(y), np.asarray(labels)
    if y.ndim != 1 or y.shape != labels.shape or y.size == 0:
        raise ValueError(
            f"y and labels must be 1-D and of one length above 0, got shapes {y.shape} "
            f"and {labels.shape}. Score each view with its own y, in its own row order."
        )
    return y, labels


def _agreement(of_i: ArrayLike, of_t: ArrayLike, permutation: ArrayLike) -> float:
    of_i, of_t, rows = np.asarray(of_i), np.asarray(of_t), np.asarray(permutation)
    if rows.shape != of_t.shape or rows.ndim != 1:
        raise ValueError(
            f"permutation has shape {rows.shape}, but the template has {of_t.size} "
            "rows. It needs one entry per template row."
        )
    if rows.size and not -1 <= rows.min() <= rows.max() < of_i.size:
        raise ValueError(
            f"permutation names rows {rows.min()} to {rows.max()}, but the view has "
            f"{of_i.size} rows."
        )
    matched = rows >= 0
    if not matched.any():
        return float("nan")
    return float(np.mean(of_i[rows[matched]] == of_t[matched]))
