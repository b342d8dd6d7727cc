"""Scores of clusters, of one view or of all under common names."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from unaligned.partitions.kmeans import cluster_rows
from unaligned.views import check_views

__all__ = [
    "clustering_accuracy",
    "clustering_scores",
    "joint_scores",
    "pair_f_score",
    "purity",
    "single_view_scores",
]

Table = NDArray[np.int64]


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
    return _scores(_table(y, labels))


def joint_scores(
    ys: Any, view_labels: Any, *, n_namings: int = 100, random_state: Any = 0
) -> dict[str, float]:
    """Scores of one naming of clusters over all rows of all views.

    A cluster number must mean the same in every view. Scores of single views do not
    see whether it does, because each view may name its clusters anew.

    Parameters
    ----------
    ys : list of array-like
        True classes of the rows of each view.
    view_labels : list of array-like
        Clusters of the rows of each view, such as ``view_labels_`` of an estimator.
    n_namings : int, default=100
        Random namings that the floor is averaged over.
    random_state : int, RandomState instance or None, default=0
        Seed of these.

    Returns
    -------
    dict
        ``acc``, ``nmi``, ``f``, ``ari`` and ``purity`` of all rows together, and
        ``floor_acc`` and so on: the same where every view keeps its partition and the
        names of clusters are matched between views at random.

    Examples
    --------
    >>> y = [0, 0, 1, 1]
    >>> scores = joint_scores([y, y], [[0, 0, 1, 1], [1, 1, 0, 0]])
    >>> scores["acc"]  # each view is right by itself, the names contradict each other
    0.5
    >>> 0.7 < scores["floor_acc"] < 0.8  # names agree by chance in half of all cases
    True
    """
    parts = [
        _check_labels(y, labels) for y, labels in zip(ys, view_labels, strict=True)
    ]
    sizes = np.cumsum([len(y) for y, _ in parts])[:-1]
    classes, y = np.unique(np.concatenate([y for y, _ in parts]), return_inverse=True)
    names, labels = np.unique(
        np.concatenate([labels for _, labels in parts]), return_inverse=True
    )
    tables = []
    for of_class, of_name in zip(
        np.split(y, sizes), np.split(labels, sizes), strict=True
    ):
        table = np.zeros((len(classes), len(names)), dtype=np.int64)
        np.add.at(table, (of_class, of_name), 1)
        tables.append(table)
    rng = check_random_state(random_state)
    floors = []
    for _ in range(n_namings):
        renamed = [table[:, rng.permutation(len(names))] for table in tables]
        floors.append(_scores(np.sum(renamed, axis=0)))
    floor = {
        f"floor_{name}": float(np.mean([scores[name] for scores in floors]))
        for name in floors[0]
    }
    return _scores(np.sum(tables, axis=0)) | floor


def clustering_accuracy(y: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that are right under the best one-to-one naming of clusters.

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes.
    labels : array-like of shape (n,)
        Clusters.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [5, 5, 5, 2])
    0.75
    """
    return _scores(_table(y, labels))["acc"]


def purity(y: ArrayLike, labels: ArrayLike) -> float:
    """Share of rows that belong to the commonest class of their cluster.

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes.
    labels : array-like of shape (n,)
        Clusters.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    return _scores(_table(y, labels))["purity"]


def pair_f_score(y: ArrayLike, labels: ArrayLike) -> float:
    """F-score over pairs of rows: those of one class that are in one cluster.

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes.
    labels : array-like of shape (n,)
        Clusters.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> pair_f_score([0, 0, 1], [0, 1, 1])
    0.0
    """
    return _scores(_table(y, labels))["f"]


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


def _table(y: ArrayLike, labels: ArrayLike) -> Table:
    """Count the rows of every class in every cluster."""
    return np.asarray(contingency_matrix(*_check_labels(y, labels)))


def _scores(table: Table) -> dict[str, float]:
    """All scores of a table of classes × clusters."""
    n = int(table.sum())
    classes, clusters = table.sum(axis=1), table.sum(axis=0)
    # Ordered pairs of rows: of one class and cluster, of one class, of one cluster.
    both, of_class, of_cluster = (
        int((np.asarray(counts, dtype=np.int64) ** 2).sum()) - n
        for counts in (table, classes, clusters)
    )
    pairs = n * (n - 1)
    by_chance = of_class * of_cluster / pairs if pairs else 0.0
    most = (of_class + of_cluster) / 2
    mean_entropy = float(entropy(classes) + entropy(clusters)) / 2
    shared = float(mutual_info_score(None, None, contingency=table))
    return {
        "acc": float(table[linear_sum_assignment(-table)].sum() / n),
        "nmi": shared / mean_entropy if mean_entropy > 0 else 1.0,
        "f": 2 * both / (of_class + of_cluster) if of_class + of_cluster else 1.0,
        "ari": (both - by_chance) / (most - by_chance) if most != by_chance else 1.0,
        "purity": float(table.max(axis=0).sum() / n),
    }
