"""Self-split: a view against itself, where the right correspondence is known.

Halves of the columns of one view are two views of the same rows. Shuffled, they make a
problem of the user's own kind whose solution is known, and settings can be compared by
how much of it they find.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch, check_random_state

from unaligned.alignment import Alignment
from unaligned.datasets import unalign
from unaligned.views import check_views

__all__ = ["self_split", "self_split_recovery"]

N_ROWS = 1000  # rows of a view that are split; a problem of the same kind, only smaller
FEWEST_COLUMNS = 4  # a half of fewer than two columns has no inner geometry


def self_split(X: Any, *, random_state: Any = 0) -> Bunch:
    """Split the columns of one view into two views of the same rows, and shuffle them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), d at least 4
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    Bunch
        ``Xs``, two views with ⌈d/2⌉ and ⌊d/2⌋ of the columns, the rows of each in an
        order of its own; and ``order``, where ``order[i][r]`` is the row of ``X``
        behind row r of view i, as `unaligned.datasets.unalign` gives it.

    Examples
    --------
    >>> import numpy as np
    >>> split = self_split(np.arange(20.0).reshape(4, 5))
    >>> [half.shape for half in split.Xs]
    [(4, 3), (4, 2)]
    """
    (X,) = check_views([X]).arrays
    d = X.shape[1]
    if d < FEWEST_COLUMNS:
        raise ValueError(
            f"X has {d} columns, and each half needs 2. Split a view of at least "
            f"{FEWEST_COLUMNS} columns."
        )
    rng = check_random_state(random_state)
    columns = rng.permutation(d)
    # In their old order: neighbouring columns, of an image say, stay neighbours.
    halves = [X[:, np.sort(columns[start::2])] for start in (0, 1)]
    shuffled = unalign(halves, random_state=rng)
    return Bunch(Xs=shuffled.Xs, order=shuffled.order)


def self_split_recovery(
    method: Any, Xs: Any, *, random_state: Any = 0
) -> NDArray[np.float64]:
    """Share of rows whose other half a method finds again, for every view.

    It compares settings on a problem of the user's own kind and size. It is no promise
    for two different views: they may share more than the halves of one do, or less.

    Parameters
    ----------
    method : estimator, or callable of a list of views that returns an Alignment
        An estimator is cloned and fitted, and its ``alignment_`` is judged.
        ``functools.partial(unaligned.align, effort="quick")`` is such a callable.
    Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
        The views, samples × features. Of those with more than 1,000 rows, 1,000 are
        drawn.
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    ndarray of shape (n_views,)
        In [0, 1]. Rows without a partner count as not found. NaN for views of fewer
        than four columns.

    Examples
    --------
    >>> from unaligned import PAVuC
    >>> from unaligned.datasets import load_digits_views
    >>> pixels = load_digits_views().Xs[0][:200]
    >>> paper = PAVuC(10, max_iter=10, tol=1, random_state=0)
    >>> bool(self_split_recovery(paper, pixels)[0] < 0.05)  # chance is 1/200
    True
    """
    views = check_views(Xs)
    rng = check_random_state(random_state)
    align = _aligner(method)
    return np.array([_recovery(align, X, rng) for X in views.arrays])


def _aligner(method: Any) -> Callable[[list[Any]], Alignment]:
    if hasattr(method, "fit"):
        return lambda Xs: clone(method).fit(Xs).alignment_
    return method


def _recovery(
    align: Callable[[list[Any]], Alignment], X: Any, rng: np.random.RandomState
) -> float:
    n, d = X.shape
    if d < FEWEST_COLUMNS:
        return float("nan")
    if n > N_ROWS:
        X = X[np.sort(rng.choice(n, N_ROWS, replace=False))]
    split = self_split(X, random_state=rng)
    one, other = align(split.Xs).pairs(0, 1).T
    return float(np.sum(split.order[0][one] == split.order[1][other]) / X.shape[0])
