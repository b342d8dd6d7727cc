"""Shapes of what a fit leaves, and of its state in a checkpoint.

`unaligned.shapes` explains the words; m is the number of anchors, l the latent
dimension, e that of the embedding.
"""

from typing import Any

__all__ = ["FITTED", "STATE"]

FITTED: dict[str, Any] = {
    "view_weights_": "v",
    "anchors_": "m l",
    "projections_": ["d l"],
    "anchor_graphs_": ["n m"],
    "embedding_": "t e",
    "cluster_centers_": "_ e",
    "_embedding": {"vectors": "_ e", "components": "m e"},
}
STATE: dict[str, Any] = {
    "anchors": "m l",
    "projections": ["d l"],
    "graphs": ["n m"],
    "residuals": ["n"],
    "moments": ["d m"],
    "weights": "v",
    "permutations": ["int n"],
}
