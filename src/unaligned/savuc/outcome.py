"""From an alignment to the outcome of a fit: labels, a bridge, a shared space."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unaligned.alignment import Alignment
from unaligned.deadline import Deadline, TimeIsUp
from unaligned.savuc.bridge import Bridge, fit_bridge
from unaligned.savuc.geometry import Geometry
from unaligned.savuc.growth import Problem
from unaligned.savuc.joint_space import joint_coordinates
from unaligned.savuc.labels import (
    Labelled,
    bridged_groups,
    given_suspects,
    label_views,
)
from unaligned.savuc.shared_space import SharedSpace, find_space

__all__ = ["TIME_FOR", "Outcome", "label_aligned"]

# Share of a time limit after which each stage ends. The last ones are cheap, and are
# what a result cannot do without.
TIME_FOR = {"number of clusters": 0.2, "alignment": 0.6, "bridge": 0.7, "labels": 0.9}


class Outcome(NamedTuple):
    """What a fit finds."""

    labelled: Labelled
    space: SharedSpace
    embedding: NDArray[np.float32]
    bridge: Bridge | None
    """Regressions between views, where pairs are known."""
    bridged: tuple[int, ...]
    """Views that are placed by the bridge, not by matched rows."""
    geometries: list[Geometry]


@threadpool_limits.wrap(limits=1)
def label_aligned(
    problem: Problem,
    alignment: Alignment,
    geometries: list[Geometry],
    n_clusters: int,
    rngs: tuple[np.random.RandomState, np.random.RandomState],
    deadline: Deadline,
) -> Outcome:
    """Label aligned views, and find the space that they share.

    ``rngs`` are random numbers for the bridge, and for labels.
    """
    views, pairs, bridge = problem.views, problem.pairs, None
    settings, (rng, draw) = problem.settings, rngs
    label_all = partial(label_views, views, pairs, settings=settings)
    until = deadline.at(TIME_FOR["labels"])
    try:
        if any(ids.max(initial=-1) >= 0 for ids in pairs.identities):
            before = deadline.at(TIME_FOR["bridge"])
            known = pairs.with_found(alignment)
            bridge = fit_bridge(geometries, known, settings, rng, deadline=before)
            alignment = replace(alignment, suspects=given_suspects(bridge, pairs))
        labelled = label_all(alignment, bridge, n_clusters, draw, deadline=until)
    except TimeIsUp:  # for a bridge: views that are not matched stand alone
        bridge = None
        labelled = label_all(alignment, None, n_clusters, draw, deadline=until)
    alignment = labelled.alignment
    matched, template = tuple(alignment.matched()), alignment.template
    space, embedding = find_space(geometries, alignment, matched, settings.ridge)
    bridged = tuple(i for group in bridged_groups(alignment, bridge) for i in group)
    if bridge is not None and template in bridged:
        embedding = joint_coordinates(bridge)[template]
    bare = [geometry.without_rows() for geometry in geometries]
    return Outcome(labelled, space, embedding, bridge, bridged, bare)
