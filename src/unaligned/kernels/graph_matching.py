"""Matching the nodes of two graphs by their edges.

The doubly stochastic projected fixed point (DSPFP; Lu, Huang & Liu, Pattern Recognition
2016) climbs ½ Tr(A P B Pᵀ) + c Tr(Kᵀ P) over soft matchings P, whose rows are the nodes
of graph A and whose columns are those of graph B, and rounds the last one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

__all__ = ["match_graphs", "match_softly", "round_matching"]


def match_graphs(
    first: NDArray[Any],
    second: NDArray[Any],
    affinity: NDArray[Any] | None = None,
    *,
    weight: float = 1.0,
    start: float,
    discretise: str = "argmax",
) -> NDArray[np.intp]:
    """Match the nodes of two graphs.

    Parameters
    ----------
    first, second, affinity, weight, start
        As in `match_softly`.
    discretise : {"argmax", "greedy", "optimal"}, default="argmax"
        As in `round_matching`.

    Returns
    -------
    ndarray of shape (n_second,)
        Entry j is the node of the first graph matched to node j of the second, -1
        where it has none.

    Examples
    --------
    A path 0 - 1 - 2 and one whose middle is called 0:

    >>> import numpy as np
    >>> path = np.array([[0.0, 1, 0], [1, 0, 3], [0, 3, 0]])
    >>> order = np.array([1, 2, 0])
    >>> match_graphs(path, path[np.ix_(order, order)], start=1 / 3)
    array([1, 2, 0])
    """
    soft = match_softly(first, second, affinity, weight=weight, start=start)
    return round_matching(soft, discretise)


def match_softly(
    first: NDArray[Any],
    second: NDArray[Any],
    affinity: NDArray[Any] | None = None,
    *,
    weight: float = 1.0,
    start: float,
    max_iter: int = 50,
    tol: float = 1e-6,
    n_rounds: int = 30,
) -> NDArray[Any]:
    """Weigh every pair of nodes of two graphs.

    One iteration takes little more than two products of n × n matrices. Computed in the
    dtype of the graphs, with room for three arrays of the size of the larger one.

    Parameters
    ----------
    first, second : ndarray of shape (n_first, n_first) and (n_second, n_second)
        Symmetric non-negative weights of edges.
    affinity : ndarray of shape (n_first, n_second), optional
        How alike the nodes are in themselves.
    weight : float, default=1.0
        Weight c of the affinity.
    start : float
        The weight of every pair at first. It matters: the first doubly stochastic
        matrix is blended with it, and the methods that match graphs differ in it.
    max_iter : int, default=50
    tol : float, default=1e-6
        Stop when no weight changes by more; the largest is 1.
    n_rounds : int, default=30
        Rounds of each approach to the doubly stochastic matrices: the methods that
        match graphs make 30, converged or not.

    Returns
    -------
    ndarray of shape (n_first, n_second)
        Weights in [0, 1].
    """
    # Here and not above: numba takes a second to import, and most never match.
    from unaligned.kernels.graph_matching_loops import blend, make_doubly_stochastic

    dtype = np.result_type(first, second, np.float32)
    first, second, affinity = _check(first, second, affinity, dtype)
    shape = len(first), len(second)
    soft = np.full(shape, start, dtype=dtype)
    if 0 in shape:
        return soft
    # A graph with fewer nodes gets nodes without edges. What an iteration leaves there
    # is where the next one starts.
    padded = np.zeros((max(shape), max(shape)), dtype=dtype)
    gradient = padded[: shape[0], : shape[1]]
    half = np.empty(shape, dtype=dtype)
    if affinity is not None:
        affinity = weight * affinity
    # Of a constant start the products are those of the nodes' degrees.
    gradient[:] = start * np.outer(first.sum(axis=1), second.sum(axis=0))
    for iteration in range(max_iter):
        if iteration > 0:
            np.matmul(first, soft, out=half)
            np.matmul(half, second, out=gradient)
        if affinity is not None:
            gradient += affinity
        make_doubly_stochastic(padded, n_rounds)
        if blend(soft, gradient) < tol:
            break
    return soft


def round_matching(soft: NDArray[Any], how: str) -> NDArray[np.intp]:
    """Turn a soft matching into a matching.

    Parameters
    ----------
    soft : ndarray of shape (n_rows, n_columns)
    how : {"argmax", "greedy", "optimal"}
        ``"argmax"``: each column takes its heaviest row, the first among equals, so
        that columns may share rows. ``"greedy"``: one to one, the heaviest free pair
        first. ``"optimal"``: one to one with the largest total weight.

    Returns
    -------
    ndarray of shape (n_columns,)
        The row of each column, -1 where it has none.

    Examples
    --------
    >>> import numpy as np
    >>> soft = np.array([[0.9, 0.8, 0.1], [0.7, 0.1, 0.2]])
    >>> round_matching(soft, "argmax")
    array([0, 0, 1])
    >>> round_matching(soft, "greedy")
    array([ 0, -1,  1])
    >>> round_matching(soft, "optimal")
    array([ 1,  0, -1])
    """
    n_rows, n_columns = soft.shape
    row_of_column = np.full(n_columns, -1, dtype=np.intp)
    if soft.size == 0:
        return row_of_column
    if how == "argmax":
        row_of_column[:] = soft.argmax(axis=0)
    elif how == "greedy":
        from unaligned.kernels.graph_matching_loops import take_largest

        order = np.argsort(-soft.T.ravel(), kind="stable")
        take_largest(order, n_rows, row_of_column)
    elif how == "optimal":
        rows, columns = linear_sum_assignment(soft, maximize=True)
        row_of_column[columns] = rows
    else:
        raise ValueError(
            f'how={how!r} is not known. Use "argmax", "greedy" or "optimal".'
        )
    return row_of_column


def _check(
    first: NDArray[Any],
    second: NDArray[Any],
    affinity: NDArray[Any] | None,
    dtype: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return the graphs in one dtype, or say what is wrong with them."""
    for graph in (first, second):
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
            raise ValueError(
                f"A graph is a square array of edge weights, not one of {graph.shape}."
            )
    arrays = [first, second]
    if affinity is not None:
        if affinity.shape != (len(first), len(second)):
            raise ValueError(
                f"affinity has the shape {affinity.shape}, but the graphs have "
                f"{len(first)} and {len(second)} nodes."
            )
        arrays.append(affinity)
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("The graphs and their affinity must be finite.")
    first, second, *rest = [np.ascontiguousarray(a, dtype=dtype) for a in arrays]
    return first, second, rest[0] if rest else None
