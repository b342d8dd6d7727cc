"""The start of a fit that a user gives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_start"]


def check_start(
    init: Any, n_rows: int, n_anchors: int | None, latent_dim: int | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Anchors (latent_dim × n_anchors) and graph (n_anchors × n_rows), as given."""
    if len(init) != 2:
        raise ValueError(
            f"init has {len(init)} parts. Give two arrays (A, G): anchors "
            "(latent_dim × n_anchors) and a graph (n_anchors × n_samples)."
        )
    anchors, graph = (np.asarray(part, dtype=np.float64) for part in init)
    fits = (
        anchors.ndim == 2
        and latent_dim in (None, anchors.shape[0])
        and n_anchors in (None, anchors.shape[1])
        and graph.shape == (anchors.shape[1], n_rows)
    )
    if not fits:
        raise ValueError(
            f"init=(A, G) has shapes {anchors.shape} and {graph.shape}. With "
            f"latent_dim={latent_dim}, n_anchors={n_anchors} and {n_rows} "
            "rows, A must be latent_dim × n_anchors and G n_anchors × n_samples."
        )
    if not (np.isfinite(anchors).all() and np.isfinite(graph).all()):
        raise ValueError("init=(A, G) holds NaN or infinity.")
    return anchors, graph
