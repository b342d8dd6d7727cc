"""Clusters of all rows of all views, with common names where views correspond."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import TRUSTED, Alignment
from unaligned.deadline import NEVER, Deadline
from unaligned.known_pairs import KnownPairs
from unaligned.partitions.features import view_features
from unaligned.partitions.labeller import fit_labeller
from unaligned.partitions.scores import draw_halves, predictability
from unaligned.savuc.align import only_known
from unaligned.savuc.bridge import Bridge
from unaligned.savuc.bridge_clusters import ENOUGH_PER_CLUSTER, cluster_linked
from unaligned.savuc.bridge_partitions import common_names
from unaligned.savuc.config import NORMAL, Settings
from unaligned.savuc.consensus import cluster_view, draw_rows, fuse_views
from unaligned.views import Views

__all__ = ["Labelled", "bridged_groups", "given_suspects", "label_views", "rename"]

Labels = NDArray[np.intp]

DOUBTFUL = 0.1  # confidence below which a match has no say in common clusters: early


class Labelled(NamedTuple):
    """Labels of every view, and the alignment with verdicts on what they share."""

    view_labels: list[Labels]
    alignment: Alignment
    common: tuple[int, ...]
    """Views whose clusters have common names, the template among them."""
    best_view: int
    """The view whose clusters are predicted best, alone or with its matched views."""


def label_views(
    views: Views,
    pairs: KnownPairs,
    alignment: Alignment,
    bridge: Bridge | None,
    n_clusters: int,
    rng: np.random.RandomState,
    deadline: Deadline = NEVER,
    settings: Settings = NORMAL,
) -> Labelled:
    """Label every row of every view.

    Matched views are clustered together. Views that known pairs link, but whose rows
    are not all matched, are clustered in one space by their bridge. Any other view is
    clustered alone. Where time is short, fewer partitions are made of each; for linked
    views there may be none, and `TimeIsUp` is raised.
    """
    seed = rng.randint(np.iinfo(np.int32).max)
    labels: dict[int, Labels] = {}
    bridged = bridged_groups(alignment, bridge)
    if bridge is not None and bridged:
        until = deadline.part(1, of=2)
        joint = cluster_linked(
            bridge, views.arrays, n_clusters, rng, bridged, until, settings
        )
        labels = {i: joint[i] for group in bridged for i in group}
    quality: dict[int, float] = {}

    def cluster_alone(i: int) -> tuple[Labels, float]:
        # The same random numbers for every view: what it gives alone hangs neither on
        # the other views nor on their order.
        draw = np.random.RandomState(seed)
        until = deadline.part(1, of=len(views) - len(labels))
        return cluster_view(views.arrays[i], n_clusters, draw, until)

    for group in [alignment, *alignment.others]:
        members = [i for i in group.matched() if i not in labels]
        together = clustered_together(group, members, n_clusters)
        if len(together) > 1:
            until = deadline.part(len(together), of=len(views) - len(labels))
            found, quality[group.template] = label_together(
                views, group, together, n_clusters, rng, until, settings
            )
            labels |= found
        for i in members:
            if i not in labels and len(members) > 1:
                own, quality[i] = cluster_alone(i)
                labels[i] = rename(own, labels.get(group.template, own), group, i)
    for i in range(len(views)):
        if i not in labels:
            labels[i], quality[i] = cluster_alone(i)
    view_labels = [labels[i] for i in range(len(views))]
    for linked in bridged:
        if len(alignment.trusted()) == 1:
            # Nothing is matched: the view that says most of the clusters is the best.
            best = max(
                linked,
                key=lambda i: said_by(views.arrays[i], labels[i], n_clusters, seed),
            )
            alignment = seen_from(best, alignment, views, pairs)
        alignment = with_classes(alignment, bridge, linked)
    best, stands_alone = alignment.template, len(alignment.trusted()) == 1
    if quality and (stands_alone or not any(best in linked for linked in bridged)):
        best = max(quality, key=lambda i: quality[i])
    if quality and stands_alone:
        # Nothing corresponds: the clearest view is the template.
        trust = np.where(alignment.trust < TRUSTED, alignment.trust, 0)
        trust[alignment.template] = trust.max()
        alignment = moved_to(best, trust, alignment, views, pairs)
    return Labelled(view_labels, alignment, tuple(alignment.trusted()), best)


def bridged_groups(
    alignment: Alignment, bridge: Bridge | None
) -> list[tuple[int, ...]]:
    """Find groups of linked views that are not matched as a whole already."""
    if bridge is None:
        return []
    matched = [set(group.matched()) for group in (alignment, *alignment.others)]
    return [
        group
        for group in bridge.groups
        if len(group) > 1 and not any({*group} <= views for views in matched)
    ]


def said_by(X: Any, labels: Labels, n_clusters: int, seed: int) -> float:
    """How well the clusters of a view's rows are predicted from it (`predictability`).

    Of a sample, where rows are many.
    """
    rng = np.random.RandomState(seed)
    drawn = draw_rows(len(labels), n_clusters, rng)
    if min(len(drawn), n_clusters) < 2:
        return 0.0
    half = draw_halves(len(drawn), rng)
    return predictability(view_features(X[drawn]), labels[drawn], n_clusters, half)


def with_classes(
    alignment: Alignment, bridge: Any, group: tuple[int, ...]
) -> Alignment:
    """Add the verdicts of a bridge: classes correspond, so far as its links do."""
    if alignment.template not in group:
        return alignment
    verdict, basis = list(alignment.verdict), list(alignment.basis)
    trust = alignment.trust.copy()
    for i in group:
        if verdict[i] != "objects":
            trust[i] = bridge.trust(alignment.template, i)
            verdict[i] = "classes" if trust[i] >= TRUSTED else "none"
            basis[i] = "known pairs"
    return replace(alignment, verdict=verdict, basis=basis, trust=trust)


def seen_from(
    template: int, alignment: Alignment, views: Views, pairs: KnownPairs
) -> Alignment:
    """Give an alignment that matches no rows a template that known pairs link."""
    trust = alignment.trust.copy()
    trust[alignment.template] = 0.0
    return moved_to(template, trust, alignment, views, pairs)


def moved_to(
    template: int,
    trust: NDArray[np.float64],
    alignment: Alignment,
    views: Views,
    pairs: KnownPairs,
) -> Alignment:
    """Give an alignment that matches no rows another template."""
    return replace(
        only_known(template, trust, views, pairs),
        others=alignment.others,
        basis=list(alignment.basis),
        suspects=alignment.suspects,
    )


def clustered_together(
    alignment: Alignment, members: list[int], n_clusters: int
) -> tuple[int, ...]:
    """Find the matched views that have enough rows in common to be clustered as one.

    A view that has few of the rows does not help: those that all views have would be
    too few to find clusters in.
    """
    if alignment.template not in members:
        return ()
    found, complete = {alignment.template}, has_partner(alignment, alignment.template)
    n_partners = {i: has_partner(alignment, i).sum() for i in members}
    for i in sorted(members, key=lambda i: -n_partners[i]):
        left = complete & has_partner(alignment, i)
        enough = min(complete.sum() / 2, ENOUGH_PER_CLUSTER * n_clusters)
        if left.sum() >= max(enough, 2):
            found.add(i)
            complete = left
    return tuple(sorted(found))


def has_partner(alignment: Alignment, view: int) -> NDArray[np.bool_]:
    """Whether a row of the template has a partner in the view that is not doubtful."""
    there = alignment.permutations[view] >= 0
    return there & (alignment.confidence[view] >= DOUBTFUL)


def label_together(
    views: Views,
    alignment: Alignment,
    together: tuple[int, ...],
    n_clusters: int,
    rng: np.random.RandomState,
    deadline: Deadline = NEVER,
    settings: Settings = NORMAL,
) -> tuple[dict[int, Labels], float]:
    """Label views as one where rows are matched, by likeness elsewhere.

    Also give how well the clusters are predicted from all of them together.
    """
    complete = np.all([has_partner(alignment, i) for i in together], axis=0)
    rows = [alignment.permutations[i][complete] for i in together]
    arrays = [views.arrays[i] for i in together]
    fused, quality = fuse_views(arrays, n_clusters, rng, rows, deadline, settings)
    labels = {}
    for i, X, matched in zip(together, arrays, rows, strict=True):
        found = np.empty(X.shape[0], dtype=np.intp)
        found[matched] = fused
        rest = np.setdiff1d(np.arange(len(found)), matched)
        if rest.size:
            found[rest] = fit_labeller(X[matched], fused).predict(X[rest])
        labels[i] = found
    return labels, quality


def rename(
    labels: Labels, template_labels: Labels, alignment: Alignment, view: int
) -> Labels:
    """Give the clusters of a view the names that most of its rows' partners have."""
    rows = alignment.permutations[view]
    matched = np.flatnonzero(rows >= 0)
    n_names = int(max(labels.max(), template_labels.max())) + 1
    own, told = labels[rows[matched]], template_labels[matched]
    return common_names(own, told, n_names)[labels]


def given_suspects(
    bridge: Bridge, pairs: KnownPairs
) -> dict[tuple[int, int], NDArray[np.intp]]:
    """List the known pairs that the data contradict, without pairs that were found."""
    suspects = {}
    for (i, j), rows in bridge.suspects().items():
        given = dict(np.column_stack(pairs.between(i, j)).tolist())
        kept = [given.get(row) == partner for row, partner in rows.tolist()]
        if any(kept):
            suspects[i, j] = rows[kept]
    return suspects
