"""Labels of the rows of one view carried to the rows of another, along a bridge.

Every row has features in both views: its own, those of its partner where a pair is
known or was found, and estimates elsewhere (`joint_space`). Ridge regression of the
labels of the first view on the features of its rows is applied to those of the second.

How far to believe it is found on pairs that are left out: rows of the second view whose
partner, and so whose label, is known are labelled by a regression that has seen neither
their pair nor their partner's label, and a logistic regression tells right from wrong.
Rows whose best label has less support than that of nearly all pairs left out are unlike
them, as rows of a type are that the first view lacks; they are believed less.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.calibration import Calibration, calibrate, less_where_untypical
from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_regression import Ridge, fit_ridge
from unaligned.savuc.joint_space import joint_blocks

__all__ = ["Carried", "carry_labels"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_FOLDS = 5  # custom


class Carried(NamedTuple):
    """Labels that were carried over, and how sure they are."""

    labels: Indices
    """Number of the likeliest label of every row."""
    confidence: Array
    """Probability that it is right, if the pairs are."""
    held_out: float
    """Share of right labels of the pairs that were left out; NaN without any."""
    n_held_out: int


def carry_labels(
    bridge: Bridge,
    i: int,
    j: int,
    labels: Indices,
    tested: NDArray[np.bool_],
    rng: np.random.RandomState,
) -> Carried:
    """Carry labels of the rows of view i to the rows of view j.

    Parameters
    ----------
    bridge : Bridge
    i, j : int
        Two views with pairs.
    labels : ndarray of int of shape (n_i,)
        Numbers of labels from 0 on; -1 where there is none.
    tested : ndarray of bool of shape (n_pairs,)
        Which of the pairs ``bridge.known(i, j)`` are left out to find the confidence.
    rng : RandomState

    Returns
    -------
    Carried
        Of all rows of view j, those with a known partner included.
    """
    there = np.flatnonzero(labels >= 0)
    members = np.eye(int(labels.max()) + 1)[labels[there]]
    blocks = joint_blocks(bridge)[i]
    source = np.hstack([blocks[i], blocks[j]])[there]
    estimated = bridge.estimate(bridge.features[j], j, i)[0]
    target = np.hstack([estimated, bridge.features[j]])
    scores = _shares(fit_ridge(source, members), target)
    rows_i, rows_j, _ = bridge.known(i, j)
    at = np.flatnonzero(tested & (labels[rows_i] >= 0))
    learned, right = Calibration(np.zeros(2), 0.0, np.empty(0)), np.empty(0, dtype=bool)
    if len(at):
        # What each row says of view i without its own pair.
        left_out = bridge.regression(j, i).left_out[at]
        asked = np.hstack([left_out, bridge.features[j][rows_j[at]]])
        found = np.empty((len(at), members.shape[1]))
        fold_of = rng.permutation(len(at)) % N_FOLDS
        for fold in np.unique(fold_of):
            out = fold_of == fold
            seen = ~np.isin(there, rows_i[at[out]])
            found[out] = _shares(fit_ridge(source[seen], members[seen]), asked[out])
        right = found.argmax(axis=1) == labels[rows_i[at]]
        learned = calibrate(_two_largest(found), right, np.ones(len(right)))
    best = _two_largest(scores)
    sure = less_where_untypical(learned.probability(best), learned.typical(best))
    share = float(right.mean()) if len(right) else float("nan")
    return Carried(scores.argmax(axis=1), sure, share, len(right))


def _shares(model: Ridge, features: Array) -> Array:
    """Estimated memberships, at least 0, that sum to 1."""
    members = np.maximum(model.predict(features), 1e-9)
    shares: Array = members / members.sum(axis=1, keepdims=True)
    return shares


def _two_largest(scores: Array) -> Array:
    """Give the two largest scores of each row, the largest first."""
    return -np.sort(-scores, axis=1)[:, :2]
