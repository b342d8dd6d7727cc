"""Records in models that were saved by earlier versions, and what they are now."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.scaling import unit_rows
from unaligned.partitions.features import (
    Features,
    Projection,
    ViewFeatures,
    nearest_rows,
)
from unaligned.partitions.labeller import Labeller, fit_labeller

__all__ = ["Look", "Portrait", "Reading", "renew_labeller"]

Array = NDArray[Any]


class Reading(NamedTuple):
    """Became `Projection`, without a second cut to principal directions."""

    mean: Array
    scale: Array
    directions: Array | None
    center: Array
    principal: Array

    def renew(self) -> Projection:
        """Keep the singular directions; take all columns where there were none."""
        directions = self.directions
        if directions is None:
            directions = np.eye(len(self.mean))
        return Projection(self.mean, self.scale, directions)


class Look(NamedTuple):
    """Became `Features`."""

    reading: Reading
    points: Array
    principal: Array
    near: Array

    def renew(self) -> Features:
        """Scale rows to unit length after the cut."""
        points = np.asarray(unit_rows(self.points), dtype=np.float32)
        return Features(self.reading.renew(), points, nearest_rows(points))


class Portrait(NamedTuple):
    """Became `ViewFeatures`."""

    plain: Look
    standard: Look


def renew_labeller(
    classes: Array, portrait: Portrait, positions: Array, discriminant: Any
) -> Labeller:
    """Fit a labeller again on the rows that it was fitted on."""
    features = ViewFeatures(portrait.plain.renew(), portrait.standard.renew())
    return fit_labeller(features, classes[positions])
