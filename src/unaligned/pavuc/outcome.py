"""What a fit leaves behind, from its last state."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.devices import Cores, on_host
from unaligned.kernels.kmeans import cluster_on_device
from unaligned.kernels.scaling import unit_rows
from unaligned.kernels.spectral import embed_graph
from unaligned.known_pairs import KnownPairs
from unaligned.pavuc.problem import State
from unaligned.pavuc.updates import fuse_graphs, inverse, match_confidence
from unaligned.untested import untested_alignment
from unaligned.views import Views

__all__ = ["cluster_there", "describe"]

Clustered = tuple[NDArray[np.intp], NDArray[Any]]


def describe(
    state: State,
    views: Views,
    pairs: KnownPairs,
    n_clusters: int,
    cluster: Callable[[NDArray[Any]], Clustered],
) -> dict[str, Any]:
    """Fitted attributes of a state; ``cluster`` gives labels and centres of points."""
    template = state.template
    graphs = [on_host(graph) for graph in state.graphs]
    permutations = [on_host(rows) for rows in state.permutations]
    embedding = embed_graph(fuse_graphs(graphs, permutations), n_clusters)
    points = unit_rows(embedding.vectors)
    embedding = embedding._replace(vectors=points[:0])  # only its map is needed
    labels, centers = cluster(points)
    view_labels = [labels[inverse(rows)] for rows in permutations]
    known = [pairs.partnered(i, template) for i in range(len(views))]
    confidence = [
        match_confidence(graph, graphs[template], permutation, rows)
        for graph, permutation, rows in zip(graphs, permutations, known, strict=True)
    ]
    return {
        "labels_": view_labels[0],
        "view_labels_": view_labels,
        "template_": template,
        "alignment_": untested_alignment(
            template, permutations, confidence, views, pairs
        ),
        "view_weights_": state.weights,
        "anchors_": on_host(state.anchors),
        "projections_": [on_host(Q) for Q in state.projections],
        "anchor_graphs_": graphs,
        "embedding_": points,
        "cluster_centers_": centers,
        "_embedding": embedding,
    }


def cluster_there(
    device: Cores, points: NDArray[Any], n_clusters: int, n_init: int, seed: int
) -> Clustered:
    """k-means as the paper runs it, on a device of torch."""
    with device.busy():
        labels, centers = cluster_on_device(
            device.put(points), n_clusters, n_init=n_init, max_iter=200, seed=seed
        )
        return on_host(labels), on_host(centers)
