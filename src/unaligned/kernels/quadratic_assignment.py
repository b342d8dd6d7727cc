"""Matching the nodes of two small graphs by all their edges: quadratic assignment.

Maximises Σ_ij A_ij B_p(i)p(j) over permutations p. The relaxation that is climbed first
is FAQ (Vogelstein et al., PLoS ONE 2015), by SciPy; no swap of two nodes improves what
comes back.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

__all__ = ["improve_by_swaps", "match_nodes"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


def match_nodes(
    first: Array, second: Array, rng: np.random.RandomState, n_starts: int = 5
) -> Indices:
    """Match the nodes of two graphs of one size.

    Parameters
    ----------
    first, second : ndarray of shape (n, n)
        Symmetric weights of edges.
    rng : RandomState
    n_starts : int, default=5
        Soft matchings that are climbed from: the even one, and those half way from it
        to random permutations.

    Returns
    -------
    ndarray of shape (n,)
        Node of the second graph for every node of the first, the best of all starts.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.array([[0.0, 1, 0], [1, 0, 3], [0, 3, 0]])
    >>> order = np.array([1, 2, 0])
    >>> match_nodes(path, path[np.ix_(order, order)], np.random.RandomState(0))
    array([2, 0, 1])
    """
    n = len(first)
    even = np.full((n, n), 1 / n)
    best, largest = np.arange(n), -np.inf
    for start in range(n_starts):
        soft = even if start == 0 else (even + np.eye(n)[rng.permutation(n)]) / 2
        # Without rng SciPy would look at NumPy's global state, though nothing is drawn.
        options = {"maximize": True, "P0": soft, "rng": np.random.default_rng(0)}
        matched = quadratic_assignment(first, second, options=options)["col_ind"]
        matched = improve_by_swaps(first, second, matched)
        total = float(np.vdot(first, second[np.ix_(matched, matched)]))
        if total > largest:
            best, largest = matched, total
    return best


def improve_by_swaps(first: Array, second: Array, matched: Indices) -> Indices:
    """Swap the partners of two nodes, the best two at a time, while that helps.

    With B the second graph in the order of the first, swapping r and s gains
    2 Σ_k (A_rk − A_sk)(B_sk − B_rk) over all other nodes k, and
    (A_rr − A_ss)(B_ss − B_rr) on the diagonal.
    """
    matched = np.array(matched, dtype=np.intp)
    own_first = first.diagonal()
    rounding = 1e-10 * len(first) * np.abs(first).max() * np.abs(second).max()
    while True:
        B = second[np.ix_(matched, matched)]
        own = B.diagonal()
        products = first @ B
        both = products.diagonal()
        over_all = products + products.T - both[:, None] - both
        # What the sum over all nodes counts at k = r and at k = s.
        at_r = (own_first[:, None] - first) * (B - own[:, None])
        at_s = (first - own_first) * (own - B)
        diagonal = (own_first[:, None] - own_first) * (own - own[:, None])
        gains = 2 * (over_all - at_r - at_s) + diagonal
        r, s = np.unravel_index(gains.argmax(), gains.shape)
        if not gains[r, s] > rounding:
            return matched
        matched[[r, s]] = matched[[s, r]]
