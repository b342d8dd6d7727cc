"""One space for all rows of linked views: own, known and estimated coordinates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.bridge import Bridge

__all__ = ["joint_blocks", "joint_coordinates", "place_rows"]

Array = NDArray[Any]


def joint_blocks(bridge: Bridge) -> list[dict[int, Array]]:
    """Features of all rows of every view, in all views of its group.

    A row has its own features, those of its known partners so far as the pair is not
    doubted, and estimates in other views.

    Returns
    -------
    list of dict
        For every view i, by view j: ndarray of shape (n_i, features of j).
    """
    found = []
    for i, features in enumerate(bridge.features):
        blocks = _estimates(bridge, features, i)
        for j in blocks.keys() - {i}:
            if (min(i, j), max(i, j)) in bridge.links:
                rows_i, rows_j, weights = bridge.known(i, j)
                partner = bridge.features[j][rows_j]
                blocks[j][rows_i] += weights[:, None] * (partner - blocks[j][rows_i])
        found.append(blocks)
    return found


def joint_coordinates(bridge: Bridge) -> list[Array]:
    """Place all rows of all views in one space for each group of linked views.

    Diffusion coordinates of `joint_blocks` side by side, rows scaled to unit length.

    Parameters
    ----------
    bridge : Bridge

    Returns
    -------
    list of ndarray of shape (n_i, d)
        Views of one group have the same columns.
    """
    return [_side_by_side(bridge, blocks) for blocks in joint_blocks(bridge)]


def place_rows(bridge: Bridge, points: Array, i: int) -> Array:
    """Place new rows of view i beside those of `joint_coordinates`.

    Parameters
    ----------
    bridge : Bridge
    points : ndarray of shape (m, d)
        Principal coordinates of the rows, `Geometry.read`.
    i : int

    Returns
    -------
    ndarray of shape (m, columns of the view's group)
    """
    blocks = _estimates(bridge, bridge.read(points, i), i)
    return _side_by_side(bridge, blocks)


def _estimates(bridge: Bridge, features: Array, i: int) -> dict[int, Array]:
    """Features that rows of view i have, or would have, in all views of its group."""
    group = next(group for group in bridge.groups if i in group)
    return {
        j: features if i == j else bridge.estimate(features, i, j)[0] for j in group
    }


def _side_by_side(bridge: Bridge, blocks: dict[int, Array]) -> Array:
    parts = [block[:, bridge.diffusion(j)] for j, block in blocks.items()]
    return unit_rows(np.hstack(parts))
