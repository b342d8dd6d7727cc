"""Groups of aligned views, grown by one search after the other.

Problem: views, known pairs, settings. State: groups of views and the pairs of groups
that were searched. One step: search one pair of groups, and merge them where the result
is trusted.
"""

from collections.abc import Generator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil, comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import TRUSTED
from unaligned.checkpoints import Milestone
from unaligned.deadline import NEVER, Deadline, TimeIsUp
from unaligned.kernels.devices import Cores, spawn
from unaligned.known_pairs import KnownPairs
from unaligned.progress import Pace, say
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import Geometry, read_geometry
from unaligned.savuc.groups import (
    Group,
    alone,
    at_full_length,
    complete_group,
    known_between,
    merge,
    plain,
    restore,
    thinned,
)
from unaligned.savuc.search import search_pair
from unaligned.savuc.starts import SearchView, prepare_view
from unaligned.views import Views, label

__all__ = ["Grown", "Problem", "grow_groups"]

SHARE_OF_SEARCH = 0.8  # of the time that there is; the rest is for matching all rows

Tried = tuple[tuple[int, ...], tuple[int, ...]]
"""The views of two groups that were searched."""


@dataclass(frozen=True)
class Problem:
    """What is to be aligned, and how."""

    views: Views
    pairs: KnownPairs
    settings: Settings
    deadline: Deadline = NEVER
    verbose: int = 0
    pace: Pace = field(default_factory=Pace, compare=False)
    """How long searches took so far, for those who wait."""

    def __post_init__(self) -> None:
        for name, n in zip(self.views.names, self.views.n_rows, strict=True):
            if n < 2:
                raise ValueError(
                    f"{label(name)} has n_samples={n}: a row has no place "
                    "among others where there are no others. Bring two or more."
                )

    def tell(self, one: Group, other: Group, what: str, n_left: int) -> None:
        """Print what is being done to two groups, and how long the rest may take."""
        if self.verbose:
            names = [
                " + ".join(self.views.names[i] for i in group.views)
                for group in (one, other)
            ]
            line = f"[align] views {names[0]} and {names[1]}: {what}"
            say(line, left=self.pace.left(n_left))


@dataclass
class State:
    """Groups that were found so far, and what was searched."""

    groups: list[Group]
    rng: np.random.RandomState
    tried: list[Tried] = field(default_factory=list)
    """Pairs of groups that were searched."""
    best: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Largest trust that any search had in each view."""


class Grown(NamedTuple):
    """What the search found."""

    groups: list[Group]
    """Largest first."""
    best: NDArray[np.float64]
    """Largest trust that any search had in each view."""
    geometries: list[Geometry]


def grow_groups(
    problem: Problem,
    rng: np.random.RandomState,
    reached: dict[str, Any] | None = None,
) -> Generator[Milestone, None, Grown]:
    """Search pairs of groups until none is left, with a milestone after every one.

    ``reached`` is the state of a milestone to go on from, with its random numbers.
    """
    settings, deadline = problem.settings, problem.deadline
    cores = Cores(check=deadline.at(SHARE_OF_SEARCH).check)
    start = deepcopy(rng) if reached is None else reached["start"]
    if problem.verbose:
        say(f"[align] reading {len(problem.views)} views")
    with cores.busy():
        draws = spawn(rng if reached is None else deepcopy(start), len(problem.views))
        geometries, search_views = read_views(problem, draws, Cores())
    state = first_state(search_views, rng)
    if reached is not None:
        state = restore_state(reached, search_views, settings)
    while (pair := next_pair(state)) is not None:
        try:
            cores.check()
            with cores.busy():
                search_step(state, pair, problem, search_views, cores)
        except TimeIsUp:
            break
        problem.pace.step()
        yield Milestone({**plain_state(state), "start": start})
    if problem.verbose:
        say("[align] matching all rows")
    groups = complete_groups(state, problem, search_views)
    groups.sort(key=lambda group: (-len(group.views), group.views))
    return Grown(groups, state.best, geometries)


def complete_groups(
    state: State, problem: Problem, search_views: list[SearchView]
) -> list[Group]:
    """Match all rows of every group; where there is no time for it, leave it so."""
    cores, groups = Cores(check=problem.deadline.check), []
    for group in state.groups:
        try:
            with cores.busy():
                found = complete_group(
                    group,
                    search_views,
                    problem.pairs,
                    problem.settings,
                    state.rng,
                    cores,
                )
        except TimeIsUp:
            found = at_full_length(group, search_views)
        groups.append(found)
    return groups


def read_views(
    problem: Problem, draws: list[np.random.RandomState], cores: Cores
) -> tuple[list[Geometry], list[SearchView]]:
    """Principal coordinates of every view, and what the search uses of it."""
    settings = problem.settings

    def read(X: Any, rng: np.random.RandomState) -> Geometry:
        return read_geometry(X, settings.n_directions, rng)

    def prepare(geometry: Geometry, rng: np.random.RandomState) -> SearchView:
        view = prepare_view(geometry, settings, rng)
        if not limited:  # else there may be no time to sketch all of them
            _ = view.sketch
        return view

    limited = np.isfinite(problem.deadline.seconds)
    geometries = cores.map(read, problem.views.arrays, draws)
    return geometries, cores.map(prepare, geometries, draws)


def first_state(search_views: list[SearchView], rng: np.random.RandomState) -> State:
    """Every view is a group of its own."""
    groups = [alone(i, view) for i, view in enumerate(search_views)]
    return State(groups, rng, best=np.zeros(len(groups)))


def plain_state(state: State) -> dict[str, Any]:
    """Give a state in arrays, numbers and lists of them."""
    return {
        "groups": [plain(group) for group in state.groups],
        "tried": state.tried,
        "best": state.best,
        "rng": state.rng,
    }


def restore_state(
    plain: dict[str, Any], search_views: list[SearchView], settings: Settings
) -> State:
    """Make a state of what `plain_state` gave."""
    return State(
        [restore(parts, search_views, settings) for parts in plain["groups"]],
        plain["rng"],
        [(tuple(one), tuple(other)) for one, other in plain["tried"]],
        plain["best"],
    )


def next_pair(state: State) -> tuple[Group, Group] | None:
    """Choose the groups to be searched next, large ones first."""
    groups = sorted(state.groups, key=lambda g: (-len(g.views), g.views))
    for i, j in sorted(combinations(range(len(groups)), 2), key=sum):
        if (groups[i].views, groups[j].views) not in state.tried:
            return groups[i], groups[j]
    return None


def n_searches_left(state: State) -> int:
    """Count searches to come, this one included, if no two groups are merged."""
    tried = {frozenset(pair) for pair in state.tried}
    pairs = combinations([group.views for group in state.groups], 2)
    return sum(frozenset(pair) not in tried for pair in pairs)


def search_step(
    state: State,
    pair: tuple[Group, Group],
    problem: Problem,
    search_views: list[SearchView],
    cores: Cores,
) -> None:
    """Search two groups, and merge them in the state where the result is trusted."""
    one, other = pair
    settings = problem.settings
    pairs, rng = problem.pairs, state.rng
    known = known_between(one, other, pairs)
    if other.n_rows < len(search_views[other.views[0]].whitened):
        # Two samples have few objects in common.
        other = complete_group(other, search_views, pairs, settings, rng, cores)
        known = known_between(one, other, pairs)
    if len(one.views) > 1:  # of a single view the search draws samples itself
        one = thinned(one, known, search_views, settings, rng)
        known = known_between(one, other, pairs)
    views = one.search_view, other.search_view
    cores.map(lambda view: view.sketch, views)  # before any two threads ask for one

    n_left = n_searches_left(state)
    best = state.best.max()
    so_far = f", best trust so far {best:.2f}" if state.tried else ""

    def report(stage: str) -> None:
        problem.tell(one, other, f"{stage}{so_far}", n_left)

    n_pairs = comb(len(search_views), 2)
    share = replace(settings, n_searches=ceil(settings.n_searches / n_pairs))
    fit = search_pair(*views, share, rng, cores, known, report)
    found = f"evidence {fit.evidence.mean:.3f} ± {fit.evidence.error:.3f}"
    problem.tell(one, other, f"{found}, trust {fit.trust:.2f}", n_left - 1)
    state.tried.append((one.views, other.views))
    members = [*one.views, *other.views]
    state.best[members] = np.maximum(state.best[members], fit.trust)
    if fit.trust >= TRUSTED:
        one = thinned(one, known, search_views, settings, rng)
        known = known_between(one, other, pairs)
        joined = merge(one, other, fit, known, search_views, settings)
        rest = [g for g in state.groups if g.views not in (one.views, other.views)]
        state.groups = [*rest, joined]
