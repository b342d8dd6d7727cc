"""Taking the correspondence out of aligned views."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from unaligned.views import check_views

__all__ = ["unalign"]


def unalign(
    Xs: Any, y: Any = None, ratio: float = 0.0, random_state: Any = None
) -> Bunch:
    """Shuffle the rows of every view on its own, but for a share that stays aligned.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays
        Aligned views: row r of all views describes one object.
    y : array-like of shape (n,), default=None
        Class of each object.
    ratio : float, default=0
        Share ρ of the rows that stay aligned. They are chosen at random and come
        first, in the same order in all views.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Bunch
        ``Xs``, the shuffled views; ``ys``, the classes of each view's rows (None
        without ``y``); ``order``, where ``order[i][r]`` is the original row behind row
        r of view i; ``n_aligned``, the number of rows that stayed aligned, ready to be
        passed to ``fit(..., aligned=n_aligned)``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6).reshape(6, 1)
    >>> shuffled = unalign([X, 10 * X], ratio=0.5, random_state=0)
    >>> shuffled.n_aligned
    3
    >>> np.hstack(shuffled.Xs)[:3].astype(int)
    array([[ 5, 50],
           [ 2, 20],
           [ 1, 10]])
    """
    if not 0 <= ratio <= 1:
        raise ValueError(f"ratio={ratio!r} must be between 0 and 1.")
    views = check_views(Xs, equal_rows=True)
    n = views.n_rows[0]
    if y is not None and len(y) != n:
        raise ValueError(f"y has {len(y)} entries, but the views have {n} rows.")
    rng = check_random_state(random_state)
    n_aligned = round(ratio * n)
    objects = rng.permutation(n)
    together, apart = objects[:n_aligned], objects[n_aligned:]
    order = [np.concatenate([together, rng.permutation(apart)]) for _ in views.arrays]
    return Bunch(
        Xs=[X[rows] for X, rows in zip(views.arrays, order, strict=True)],
        ys=None if y is None else [np.asarray(y)[rows] for rows in order],
        order=order,
        n_aligned=n_aligned,
    )
