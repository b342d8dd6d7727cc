"""``align``: the correspondence between views, and how far to trust it."""

from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

from unaligned.alignment import TRUSTED, Alignment
from unaligned.checkpoints import Milestone
from unaligned.deadline import Deadline
from unaligned.kernels.devices import result_of
from unaligned.kernels.memory import ask_for_memory
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.parameters import POSITIVE
from unaligned.progress import Heartbeat
from unaligned.savuc.config import EFFORTS, Settings, settings_of
from unaligned.savuc.geometry import Geometry, by_rows
from unaligned.savuc.groups import Group
from unaligned.savuc.growth import Problem, grow_groups
from unaligned.views import Views, check_views

__all__ = [
    "align",
    "align_checked",
    "align_steps",
    "memory_need",
    "only_known",
    "with_others",
]


@validate_params(
    {
        "effort": [StrOptions(set(EFFORTS)), Settings],
        "time_limit": [POSITIVE, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)
def align(
    Xs: Any,
    *,
    aligned: Any = None,
    effort: str | Settings = "normal",
    time_limit: float | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Alignment:
    """Find which row of one view belongs to which row of another, with no pair known.

    Two views of the same objects share their inner geometry. Anchors of each view are
    coupled so that their distances agree, from many starts; refinement leads from there
    to single rows; and rows and directions that were held out tell, without labels,
    whether the matches are right. Views that cannot be trusted are refused: their rows
    have no partner.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
        The views, samples × features. They may have different numbers of rows.
    aligned : None, "all", int, boolean mask or dict, default=None
        What is known of the correspondence, as in `unaligned.PAVuC.fit`. Known pairs
        are kept, and help to find the others.
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How many couplings of anchors to try.
    time_limit : float, default=None
        Seconds that the search may take. Pairs of views that it did not come to are
        not matched.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Whether to print what is being done: a line at least every two seconds.

    Returns
    -------
    Alignment
        ``template`` is the first view of the largest group that can be trusted to
        belong together. Views outside it have the verdict "none", and no partners but
        those you knew; where some of them form a group of their own, it is in
        ``others``. ``trust`` is the probability that the rows of a view are matched one
        by one; ``confidence`` is the probability that a single match is right, if they
        are.

    Notes
    -----
    What it can find are relations that are linear in fifty principal directions of each
    view. Views related otherwise, or by too few directions, are refused.

    Views without an object in common are refused, too: none of their rows has a
    partner, and what the test asks are partners. No other test was found to hold.

    Examples
    --------
    >>> from unaligned import align
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.metrics import instance_alignment_rate
    >>> digits = load_digits_views()
    >>> data = unalign([digits.Xs[0][:300], digits.Xs[3][:300]], random_state=0)
    >>> found = align(data.Xs, effort="quick", random_state=0)
    >>> found.verdict, bool(found.trust[1] > 0.9)
    (['objects', 'objects'], True)
    >>> rows = found.permutations[1]
    >>> instance_alignment_rate(data.order[1], data.order[0], rows) > 0.9
    True
    """
    views = check_views(Xs)
    pairs = check_aligned(aligned, views)
    rng = check_random_state(random_state)
    found = align_checked(views, pairs, rng, verbose, effort, time_limit)
    return found.with_rows(views.n_rows, views.row_ids)


def align_checked(
    views: Views,
    pairs: KnownPairs,
    rng: np.random.RandomState,
    verbose: int = 0,
    effort: str | Settings = "normal",
    time_limit: float | None = None,
) -> Alignment:
    """Align views that were checked."""
    ways_out = (
        "Take a sample of the rows, or reduce wide views first, e.g. with "
        "sklearn.decomposition.TruncatedSVD."
    )
    ask_for_memory("unaligned.align", memory_need(views), views.n_rows, ways_out)
    deadline = Deadline(time_limit)
    problem = Problem(views, pairs, settings_of(effort), deadline, verbose)
    with Heartbeat() if verbose else nullcontext():
        return result_of(align_steps(problem, rng))[0]


def align_steps(
    problem: Problem,
    rng: np.random.RandomState,
    reached: dict[str, Any] | None = None,
) -> Generator[Milestone, None, tuple[Alignment, list[Geometry]]]:
    """Align views, with a milestone after every step; also give their geometries.

    ``reached`` is the state of a milestone to go on from, with its random numbers.
    """
    grown = yield from grow_groups(problem, rng, reached)
    found = with_others(grown.groups, grown.best, problem.views, problem.pairs)
    return found, grown.geometries


def memory_need(views: Views) -> float:
    """Count coordinates and plans of all rows, directions, and the largest tables."""
    n = max(views.n_rows)
    coordinates = sum(3 * 4 * X.shape[0] * min(50, X.shape[1]) for X in views.arrays)
    directions = sum(X.shape[1] * _n_directions(X) for X in views.arrays)
    tables = max(map(_table_size, views.arrays)) + 2 * min(n, 2500) ** 2
    return coordinates + 2200 * n + 8 * (directions + tables)


def _n_directions(X: Any) -> int:
    """Count principal directions; wide views are cut twice more to cluster them."""
    n, d = X.shape
    return min(50, n, d) + (2 * min(200, n) if d > 200 else 0)


def _table_size(X: Any) -> int:
    """Count products of columns or of rows, and some rows in full."""
    n, d = X.shape
    some = min(n, 5000)
    if sparse.issparse(X) and d > n:  # which stays sparse
        return 3 * some**2
    side = n if by_rows(n, d) else d
    return 3 * side**2 + 2 * some * d


def with_others(
    groups: list[Group], best: NDArray[np.float64], views: Views, pairs: KnownPairs
) -> Alignment:
    """Alignment of the first group, with those of other groups of several views."""
    largest, *rest = groups
    several = [largest, *(group for group in rest if len(group.views) > 1)]
    found = [as_alignment(group, best, views, pairs) for group in several]
    others = [group for group in found[1:] if len(group.matched()) > 1]
    return replace(found[0], others=others)


def as_alignment(
    group: Group, best: NDArray[np.float64], views: Views, pairs: KnownPairs
) -> Alignment:
    """Alignment of all views with the first of a group."""
    template = group.views[0]
    below = np.nextafter(TRUSTED, 0)
    alignment = only_known(template, np.minimum(best, below), views, pairs)
    verdict = ["objects" if i in group.views else "none" for i in range(len(views))]
    for i in group.views:
        alignment.permutations[i] = group.rows[i]
        alignment.confidence[i] = group.confidence[i]
        alignment.trust[i] = group.trust[i]
        if not (group.rows[i] >= 0).any():  # matched with others, not the template
            verdict[i], alignment.trust[i] = "none", 0.0
    basis = ["known pairs" if known == 1 else "structure" for known in alignment.known]
    basis[template] = "structure"
    return replace(alignment, verdict=verdict, basis=basis)


def only_known(
    template: int, trust: NDArray[np.float64], views: Views, pairs: KnownPairs
) -> Alignment:
    """Alignment that matches no rows but those whose partner is known."""
    permutations, confidence = [], []
    for i, n in enumerate(views.n_rows):
        rows = np.full(views.n_rows[template], -1, dtype=np.intp)
        if i == template:
            rows = np.arange(n)
        else:
            known, partners = pairs.between(template, i)
            rows[known] = partners
        permutations.append(rows)
        confidence.append((rows >= 0).astype(np.float64))
    trust = np.where(np.arange(len(views)) == template, 1.0, trust)
    verdict = ["objects" if i == template else "none" for i in range(len(views))]
    known_share = np.array([np.mean(rows >= 0) for rows in permutations])
    return Alignment(
        template,
        permutations,
        confidence,
        trust,
        views.names,
        verdict=verdict,
        known=known_share,
    )
