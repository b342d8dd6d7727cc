"""Scores of matched rows, and what a random matching would score."""

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "category_alignment_chance",
    "category_alignment_rate",
    "instance_alignment_rate",
]


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

    Parameters
    ----------
    y_i, y_t : array-like
        Class of every row of view i and of the template.

    Returns
    -------
    float
        In [0, 1].

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
