"""Alignment of modalities, a bridge between them, and places in one space."""

from dataclasses import replace
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from unaligned.alignment import Alignment
from unaligned.kernels.devices import result_of
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.savuc.align import align_steps
from unaligned.savuc.bridge import Bridge, fit_bridge
from unaligned.savuc.config import Settings, settings_of
from unaligned.savuc.growth import Problem
from unaligned.savuc.joint_space import joint_coordinates
from unaligned.savuc.labels import (
    bridged_groups,
    given_suspects,
    seen_from,
    with_classes,
)
from unaligned.savuc.shared_space import find_space
from unaligned.scverse.reading import Cells
from unaligned.views import check_views

__all__ = ["Placed", "place_cells"]

Array = NDArray[Any]


class Placed(NamedTuple):
    """Alignment, bridge and places of modalities."""

    alignment: Alignment
    pairs: KnownPairs
    """Pairs that were given."""
    bridge: Bridge | None
    """Regressions between them, from known and found pairs; None without any."""
    places: dict[int, Array]
    """Coordinates of all cells in a common space, for modalities that have one."""


@threadpool_limits.wrap(limits=1)
def place_cells(
    cells: Cells, effort: str | Settings, random_state: Any, verbose: int
) -> Placed:
    """Align modalities, and place their cells in one space.

    Modalities that are matched one by one are placed by the directions that they share;
    those that known pairs link, by the bridge.
    """
    views = check_views(cells.Xs)
    pairs, rng = check_aligned(cells.aligned, views), check_random_state(random_state)
    settings = settings_of(effort)
    problem = Problem(views, pairs, settings, verbose=verbose)
    alignment, geometries = result_of(align_steps(problem, rng))
    known = pairs.with_found(alignment)
    bridge, places = None, {}
    if any(ids.max(initial=-1) >= 0 for ids in pairs.identities) or (
        len(alignment.matched()) > 1
    ):
        bridge = fit_bridge(geometries, known, settings, rng)
        alignment = replace(alignment, suspects=given_suspects(bridge, pairs))
    matched = tuple(alignment.matched())
    if len(matched) > 1:
        space, _ = find_space(geometries, alignment, matched, settings.ridge)
        places = {i: space.places[i].embed(views.arrays[i]) for i in matched}
    for group in bridged_groups(alignment, bridge):
        if len(alignment.trusted()) == 1 and alignment.template not in group:
            alignment = seen_from(group[0], alignment, views, pairs)
        alignment = with_classes(alignment, bridge, group)
        joint = joint_coordinates(bridge) if bridge is not None else []
        sound = [i for i in group if alignment.verdict[i] != "none"]
        if len(sound) > 1:
            places |= {i: joint[i] for i in sound}
    ids = [[*map(str, own.obs_names)] for own in cells.modalities.values()]
    return Placed(alignment.with_rows(views.n_rows, ids), pairs, bridge, places)
