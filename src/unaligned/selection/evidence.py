"""The evidence on a number of clusters: two scores of every number that was tried."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ClusterEvidence", "weigh"]

Array = NDArray[Any]

# A number may be right if one of its scores is at least this share of the best. Chosen
# so that with any one dataset left out, the interval holds the number of classes on
# four of five others; see ``benchmarks/number_of_clusters.py``.
NEAR = 0.9


@dataclass(frozen=True)
class ClusterEvidence:
    """How far the views support each number of clusters.

    Parameters
    ----------
    n_clusters : int
        The number of the best modularity.
    interval : tuple of int
        Smallest and largest number that may be right: by modularity or by agreement,
        the best number and those around it, as far as the score stays near the best.
    alternatives : tuple of int
        Other peaks: the number on which partitions agree best, and others on which they
        agree nearly as well. Data often have groups of groups, and then several numbers
        are right.
    flat : bool
        Whether no number stands out: the interval spans more than half of the range
        that was tried, on a scale of ratios.
    candidates : ndarray of shape (n_candidates,)
        Numbers that were tried.
    modularity : ndarray of shape (n_views, n_candidates)
        Mean modularity of the partitions in the graph of nearest neighbours, for each
        view.
    agreement : ndarray of shape (n_views, n_candidates)
        Mean adjusted Rand index of two partitions, for each view.

    Examples
    --------
    >>> import numpy as np
    >>> modularity = np.array([[0.3, 0.5, 0.6, 0.6, 0.5]])
    >>> agreement = np.array([[0.5, 0.6, 0.9, 0.6, 0.5]])
    >>> evidence = weigh(np.array([2, 3, 4, 5, 6]), modularity, agreement)
    >>> evidence.n_clusters, evidence.interval, evidence.flat
    (4, (4, 5), False)
    """

    n_clusters: int
    interval: tuple[int, int]
    alternatives: tuple[int, ...]
    flat: bool
    candidates: NDArray[np.intp]
    modularity: NDArray[np.float64]
    agreement: NDArray[np.float64]

    def __post_init__(self) -> None:
        named = (self.n_clusters, *self.interval, *self.alternatives)
        tried = self.candidates
        shapes = {np.shape(scores)[1:] for scores in (self.agreement, self.modularity)}
        fits = (
            shapes == {np.shape(tried)}
            and len(self.interval) == 2
            and tried.dtype.kind == "i"
            and {*named} <= {*tried.tolist()}
            and tried[0] > 0
            and bool((np.diff(tried) > 0).all())
        )
        if not fits:  # as in a file that somebody has made up
            raise ValueError("evidence must be on rising numbers that were tried")

    @property
    def scores(self) -> NDArray[np.float64]:
        """Modularity in the mean over views, which the choice is made by."""
        mean: NDArray[np.float64] = self.modularity.mean(axis=0)
        return mean

    def sentence(self) -> str:
        """Say what was chosen and how far to believe it.

        Returns
        -------
        str
        """
        low, high = self.interval
        if self.flat:
            return (
                f"The evidence on the number of clusters is flat: anything from {low} "
                f"to {high} may be right. The number of clusters, {self.n_clusters}, "
                "was chosen without labels and is hardly more than a guess."
            )
        text = f"The number of clusters, {self.n_clusters}, was chosen without labels"
        if low < high:
            text += f"; {low} to {high} may be right"
        if self.alternatives:
            text += f"; other peaks: {', '.join(map(str, self.alternatives))}"
        return f"{text}."


def weigh(
    candidates: NDArray[np.intp],
    modularity: Array,
    agreement: Array,
    near: float = NEAR,
) -> ClusterEvidence:
    """Choose the number of the best modularity, with what else may be right.

    Parameters
    ----------
    candidates : ndarray of shape (n_candidates,)
        Numbers of clusters, rising.
    modularity, agreement : ndarrays of shape (n_views, n_candidates)
        Scores of each number in each view.
    near : float, default=0.9
        A number may be right if one of its scores is at least this share of the best.

    Returns
    -------
    ClusterEvidence
    """
    both = modularity.mean(axis=0), agreement.mean(axis=0)
    bests = [int(np.argmax(scores)) for scores in both]
    supported = np.zeros(len(candidates), dtype=bool)
    for scores, best in zip(both, bests, strict=True):
        runs = _runs(scores >= near * scores[best])
        supported |= runs == runs[best]
    low, high = (int(k) for k in candidates[supported][[0, -1]])
    close = both[1] >= near * both[1][bests[1]]
    runs = _runs(close)
    peaks = [
        np.flatnonzero(runs == run)[np.argmax(both[1][runs == run])]
        for run in np.unique(runs[close])
    ]
    others = {int(candidates[at]) for at in peaks}
    chosen = int(candidates[bests[0]])
    flat = high / low > np.sqrt(candidates[-1] / candidates[0])
    return ClusterEvidence(
        chosen,
        (low, high),
        tuple(sorted(others - {chosen})),
        bool(flat),
        candidates,
        modularity,
        agreement,
    )


def _runs(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Give the stretches of equal entries numbers.

    Examples
    --------
    >>> import numpy as np
    >>> _runs(np.array([True, True, False, True]))
    array([0, 0, 1, 2])
    """
    return np.cumsum(np.diff(mask, prepend=mask[:1]))
