"""``align``: the correspondence between views, and how far to trust it."""

import time
from collections.abc import Generator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

from unaligned.alignment import Alignment
from unaligned.checkpoints import Milestone
from unaligned.kernels.devices import Cores, result_of, spawn
from unaligned.kernels.matching import invert
from unaligned.kernels.memory import ask_for_memory
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.parameters import POSITIVE
from unaligned.progress import say
from unaligned.savuc.couplings import Effort
from unaligned.savuc.geometry import Geometry, by_rows, read_geometry
from unaligned.savuc.groups import Group, alone, plain, restore
from unaligned.savuc.joint import Search, grow_groups, match_groups
from unaligned.savuc.pairs_of_views import PairFit
from unaligned.views import Views, check_views, label

__all__ = [
    "EFFORTS",
    "align",
    "align_checked",
    "memory_need",
    "only_known",
    "told_through",
]

# Placements of anchors; population, generations, children and candidates of each;
# crossings of candidates; and how often to search anew.
EFFORTS = {
    "quick": (Effort(2, 40, 2, 40, 2, 0), 2),
    "normal": (Effort(2, 75, 4, 60, 3, 3), 3),
    "thorough": (Effort(4, 100, 6, 100, 4, 6), 6),
}


@validate_params(
    {
        "effort": [StrOptions(set(EFFORTS))],
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
    effort: str = "normal",
    time_limit: float | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Alignment:
    """Find which row of one view belongs to which row of another, with no pair known.

    Two views of the same objects share their inner geometry. A few dozen anchors per
    view are matched so that their distances agree, from many starts; self-learning
    climbs from there to single rows; and the canonical correlations that are reached
    tell, without labels, right answers from wrong ones. Views that cannot be trusted
    are refused: their rows have no partner.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, MuData, or one 2-D array
        The views, samples × features. They may have different numbers of rows.
    aligned : None, "all", int, boolean mask or dict, default=None
        What is known of the correspondence, as in `unaligned.PAVuC.fit`. Known pairs
        are kept, and help to find the others.
    effort : {"quick", "normal", "thorough"}, default="normal"
        How many couplings of anchors to breed, and how often to try again.
    time_limit : float, default=None
        Seconds after which no further pair of views is tried.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Whether to print a line per pair of views.

    Returns
    -------
    Alignment
        ``template`` is the first view of the largest group that can be trusted to
        belong together. Views outside it have trust below 0.5, and no partners but
        those you knew; where some of them form a group of their own, it is in
        ``others``.
        ``trust`` is the probability that a view is aligned far better than chance;
        ``confidence`` ranks single matches.

    Notes
    -----
    What it can find are relations that are linear in fifty principal directions of each
    view. Views related otherwise, or by too few directions, are refused.

    Examples
    --------
    >>> from unaligned import align
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.metrics import instance_alignment_rate
    >>> digits = load_digits_views()
    >>> data = unalign([digits.Xs[0][:300], digits.Xs[3][:300]], random_state=0)
    >>> found = align(data.Xs, effort="quick", random_state=0)
    >>> bool(found.trust[1] > 0.9)
    True
    >>> rows = found.permutations[1]
    >>> instance_alignment_rate(data.order[1], data.order[0], rows) > 0.9
    True
    """
    views = check_views(Xs)
    pairs = check_aligned(aligned, views)
    rng = check_random_state(random_state)
    return align_checked(views, pairs, effort, time_limit, rng, verbose)[0]


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


def align_checked(
    views: Views,
    pairs: KnownPairs,
    effort: str,
    time_limit: float | None,
    rng: np.random.RandomState,
    verbose: int,
) -> tuple[Alignment, list[Geometry]]:
    """Align views that have come through the door; also give their geometries."""
    ways_out = (
        "Take a sample of the rows, or reduce wide views first, e.g. with "
        "sklearn.decomposition.TruncatedSVD."
    )
    ask_for_memory("unaligned.align", memory_need(views), views.n_rows, ways_out)
    return result_of(align_steps(views, pairs, effort, time_limit, rng, verbose))


def align_steps(
    views: Views,
    pairs: KnownPairs,
    effort: str,
    time_limit: float | None,
    rng: np.random.RandomState,
    verbose: int,
    reached: dict[str, Any] | None = None,
) -> Generator[Milestone, None, tuple[Alignment, list[Geometry]]]:
    """Do the work of `align_checked`, with a milestone after every pair of views.

    ``reached`` is the state of a milestone to go on from, with its random numbers.
    """
    for name, n in zip(views.names, views.n_rows, strict=True):
        if n < 2:
            raise ValueError(
                f"{label(name)} has n_samples={n}: a row has no place "
                "among others where there are no others. Bring two or more."
            )
    doubts = np.zeros(len(views))

    def report(
        one: tuple[int, ...], other: tuple[int, ...], fit: PairFit, trust: float
    ) -> None:
        doubts[[*one, *other]] = np.maximum(doubts[[*one, *other]], trust)
        if verbose:
            names = [
                " + ".join(views.names[i] for i in group) for group in (one, other)
            ]
            say(
                f"[align] views {names[0]} and {names[1]}: best score {fit.score:.2f}, "
                f"by chance {fit.null:.2f}, trust {trust:.2f}"
            )

    breeding, n_tries = EFFORTS[effort]
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    cores = Cores()
    search = Search(breeding, n_tries, deadline, cores, report)
    start = deepcopy(rng) if reached is None else reached["start"]
    with cores.busy():
        states = spawn(rng if reached is None else deepcopy(start), len(views))
        geometries = cores.map(read_geometry, views.arrays, states)
    groups, tried = [alone(i, geometry) for i, geometry in enumerate(geometries)], []
    if reached is not None:
        groups = [restore(parts, geometries) for parts in reached["groups"]]
        tried, doubts[:], rng = reached["tried"], reached["doubts"], reached["rng"]
    for _ in grow_groups(geometries, pairs, search, rng, groups, tried):
        so_far = {"groups": [plain(group) for group in groups], "tried": tried}
        yield Milestone(so_far | {"doubts": doubts, "start": start, "rng": rng})
    with cores.busy():
        matched = match_groups(groups, geometries, pairs, search, rng)
    largest, *others = [_tell(group, doubts, views, pairs) for group in matched]
    others = [group for group in others if len(group.trusted()) > 1]
    return replace(largest, others=others), geometries


def _tell(group: Group, doubts: Any, views: Views, pairs: KnownPairs) -> Alignment:
    """Alignment of all views with the first of a group."""
    template = group.views[0]
    alignment = only_known(template, np.minimum(doubts, 0.49), views, pairs)
    for i in group.views:
        alignment.permutations[i] = group.rows[i]
        alignment.confidence[i] = group.confidence[i]
        found_any = (group.rows[i] >= 0).any()  # with the template, not just others
        alignment.trust[i] = group.trust[i] if found_any else 0.0
    return alignment


def only_known(template: int, trust: Any, views: Views, pairs: KnownPairs) -> Alignment:
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
    return Alignment(template, permutations, confidence, trust, views.names)


def told_through(
    template: int, alignment: Alignment, views: Views, pairs: KnownPairs
) -> Alignment:
    """Tell an alignment through another of the views that it trusts.

    Who has no partner in the old template has none, unless it is known.
    """
    at = invert(alignment.permutations[template], views.n_rows[template])
    sure = np.where(at >= 0, alignment.confidence[template][at], 0.0)
    trust = np.minimum(alignment.trust, alignment.trust[template])
    told = only_known(template, trust, views, pairs)
    for i in alignment.trusted():
        if i != template:
            rows = np.where(at >= 0, alignment.permutations[i][at], -1)
            free = told.permutations[i] < 0
            free &= ~np.isin(rows, told.permutations[i][~free])
            told.permutations[i][free] = rows[free]
            told.confidence[i][free] = (sure * alignment.confidence[i][at])[free]
    return replace(told, others=alignment.others)
