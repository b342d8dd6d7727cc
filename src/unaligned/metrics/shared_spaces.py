"""Scores of rows of two views in a space that they share, and what chance scores."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_array, gen_even_slices

__all__ = [
    "foscttm",
    "label_transfer_accuracy",
    "label_transfer_chance",
    "retrieval_ranks",
]

Array = NDArray[Any]

BLOCK = 2**20  # distances at a time


def foscttm(A: ArrayLike, B: ArrayLike) -> float:
    """Fraction of samples closer than the true match (FOSCTTM).

    Parameters
    ----------
    A, B : array-like of shape (n, d)
        Rows of two views in one space. Row i of both is the same object.

    Returns
    -------
    float
        In [0, 1], the mean over all rows and both directions. 0: every row is nearest
        to its partner; chance is 0.5; above that the answer is reversed. Rows as far as
        the partner count half, so that a space where all rows are in one place scores
        0.5.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[0.0], [1.0], [2.0]])
    >>> foscttm(A, A + 0.1), foscttm(A, 0 * A)
    (0.0, 0.5)
    """
    A, B = _check_pair(A, B)
    shares = [_mean_closer(one, other) for one, other in ((A, B), (B, A))]
    return float(np.mean(shares) / (len(A) - 1))


def retrieval_ranks(A: ArrayLike, B: ArrayLike) -> dict[str, float]:
    """Ranks of true partners when every row of A is looked up among the rows of B.

    Parameters
    ----------
    A, B : array-like of shape (n, d)
        Rows of two views in one space. Row i of both is the same object. Distances are
        Euclidean; scale the rows to unit length first if angles count.

    Returns
    -------
    dict
        ``top1`` (share of rows whose partner comes first), ``mean_rank`` (1 is best)
        and ``mean_reciprocal_rank``; and what a random order gives, ``chance_top1`` and
        so on. Of rows that are equally far each order is equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[0.0], [1.0], [2.0]])
    >>> ranks = retrieval_ranks(A, A[[0, 2, 1]])
    >>> round(ranks["top1"], 3), round(ranks["mean_rank"], 3)
    (0.333, 1.833)
    >>> round(ranks["chance_top1"], 3), ranks["chance_mean_rank"]
    (0.333, 2.0)
    """
    A, B = _check_pair(A, B)
    n = len(A)
    top1, rank, reciprocal = 0.0, 0.0, 0.0
    for closer, as_far in _compare(A, B):
        top1 += np.sum((closer == 0) / (1 + as_far))
        rank += np.sum(closer + 1 + as_far / 2)
        # Mean of 1/r for r from closer + 1 to closer + as_far + 1.
        harmonic = digamma(closer + as_far + 2) - digamma(closer + 1)
        reciprocal += np.sum(harmonic / (1 + as_far))
    return {
        "top1": float(top1 / n),
        "mean_rank": float(rank / n),
        "mean_reciprocal_rank": float(reciprocal / n),
        "chance_top1": 1 / n,
        "chance_mean_rank": (n + 1) / 2,
        "chance_mean_reciprocal_rank": float((digamma(n + 1) - digamma(1)) / n),
    }


def label_transfer_accuracy(
    A: ArrayLike, y_a: ArrayLike, B: ArrayLike, y_b: ArrayLike, n_neighbors: int = 5
) -> float:
    """Accuracy of classes that are carried from A to B by the nearest neighbours.

    Parameters
    ----------
    A : array-like of shape (n_a, d)
        Rows of a view in a space that two views share.
    y_a : array-like of shape (n_a,)
        Their classes.
    B : array-like of shape (n_b, d)
        Rows of another view in that space, in any order.
    y_b : array-like of shape (n_b,)
        Their classes.
    n_neighbors : int, default=5
        Rows of A that vote on the class of a row of B.

    Returns
    -------
    float
        In [0, 1]. Compare with `label_transfer_chance`.

    Examples
    --------
    >>> label_transfer_accuracy([[0.0], [5.0]], ["a", "b"], [[4.0]], ["b"], 1)
    1.0
    """
    rows, classes = _check_classes(A, y_a, "A")
    new_rows, true_classes = _check_classes(B, y_b, "B")
    if rows.shape[1] != new_rows.shape[1] or not 1 <= n_neighbors <= len(rows):
        raise ValueError(
            f"A has shape {rows.shape}, B {new_rows.shape}, and n_neighbors is "
            f"{n_neighbors}. Both need equally many columns, and A n_neighbors rows."
        )
    voted = KNeighborsClassifier(n_neighbors).fit(rows, classes).predict(new_rows)
    return float(np.mean(voted == true_classes))


def label_transfer_chance(y_a: ArrayLike, y_b: ArrayLike) -> float:
    """Accuracy of giving every row of B the commonest class of A.

    The more random rows of A vote, the closer they come to that.

    Parameters
    ----------
    y_a, y_b : array-like
        Classes of the rows of A and of B.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> label_transfer_chance([0, 0, 1], [0, 1, 1, 1])
    0.25
    """
    classes, counts = np.unique(np.asarray(y_a), return_counts=True)
    return float(np.mean(np.asarray(y_b) == classes[counts.argmax()]))


def _check_classes(X: ArrayLike, y: ArrayLike, name: str) -> tuple[Array, Array]:
    rows, classes = np.asarray(check_array(X)), np.asarray(y)
    if classes.shape != (len(rows),):
        raise ValueError(
            f"y_{name.lower()} has shape {classes.shape}, but {name} has {len(rows)} "
            "rows. Give one class per row."
        )
    return rows, classes


def _check_pair(A: ArrayLike, B: ArrayLike) -> tuple[Array, Array]:
    """Both in float64 around a common mean, which leaves distances as they are."""
    one, other = (np.asarray(check_array(X, dtype=np.float64)) for X in (A, B))
    if one.shape != other.shape or len(one) < 2:
        raise ValueError(
            f"A has shape {one.shape} and B {other.shape}. Row i of both must be one "
            "object, in a space that they share: give two arrays of one shape with 2 "
            "rows or more."
        )
    mean = (one.mean(axis=0) + other.mean(axis=0)) / 2
    return one - mean, other - mean


def _mean_closer(A: Array, B: Array) -> float:
    total = sum(np.sum(closer + as_far / 2) for closer, as_far in _compare(A, B))
    return float(total / len(A))


def _compare(A: Array, B: Array) -> Iterator[tuple[Array, Array]]:
    """For rows of A, block by block: rows of B closer than the partner, and as far."""
    n, size_a, size_b = len(A), np.sum(A**2, axis=1), np.sum(B**2, axis=1)
    # What rounding may do to a squared distance: rows within that are as far.
    rounding = 8 * np.finfo(np.float64).eps * (size_a + size_b.max())
    for rows in gen_even_slices(n, max(1, n * n // BLOCK)):
        distances = (
            size_b - 2 * A[rows] @ B.T
        )  # squared, up to what a row has in common
        own = np.arange(n)[rows]
        further = distances - distances[np.arange(len(own)), own][:, None]
        tie = np.abs(further) <= rounding[rows, None]
        closer = np.sum((further < 0) & ~tie, axis=1)
        yield closer, tie.sum(axis=1) - 1  # the partner itself ties
