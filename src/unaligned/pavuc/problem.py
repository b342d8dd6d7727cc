"""The problem: what does not change during a fit, and the state, which does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unaligned.kernels.blocks import row_blocks
from unaligned.kernels.devices import Cores
from unaligned.kernels.gpu import HostRows
from unaligned.kernels.residual import sum_of_squares
from unaligned.known_pairs import KnownPairs
from unaligned.pavuc.updates import (
    Array,
    Indices,
    choosing_order,
)


@dataclass(frozen=True)
class Problem:
    """What does not change during a fit."""

    views: list[Any]
    pairs: KnownPairs
    mu: float
    alpha: float
    matching: str
    align: bool

    orders: list[Indices]
    """Eq. 22 for every view; empty where nothing is aligned."""
    floors: list[float]
    """Smallest residual of every view that is not taken for zero."""
    device: Cores
    """Where the views are, and all that is computed from them."""
    _known: dict[tuple[int, int], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def known(self, view: int, template: int) -> tuple[Indices, Indices]:
        """Rows of a view and of the template known to be pairs, on the device."""
        if (view, template) not in self._known:
            rows = self.pairs.between(view, template)
            self._known[view, template] = tuple(map(self.device.put, rows))
        found: tuple[Indices, Indices] = self._known[view, template]
        return found

    @property
    def stays_on_device(self) -> bool:
        """Whether an iteration needs the host for nothing but φ and the template."""
        return not any(isinstance(X, HostRows) for X in self.views) and (
            self.matching == "greedy" or not self.align
        )

    @property
    def pull(self) -> float:
        """μ, or 0 where the alignment term is taken out (the ablation NPA-VuC)."""
        return self.mu if self.align else 0.0


class State(NamedTuple):
    """What an iteration changes. Arrays of rows and of features are on the device."""

    anchors: Array
    projections: list[Array]
    graphs: list[Array]
    residuals: list[Array]
    moments: list[Array]
    weights: Array
    template: int
    permutations: list[Indices]
    objective: float


def carry(state: State, to: Callable[[Array], Array]) -> State:
    """Give the same state with its arrays elsewhere: on the host, or on a device."""
    lists: dict[str, Any] = {
        name: [to(array) for array in value]
        for name, value in state._asdict().items()
        if isinstance(value, list)
    }
    return state._replace(anchors=to(state.anchors), **lists)


def pose(
    views: list[Any],
    pairs: KnownPairs,
    *,
    mu: float,
    alpha: float,
    matching: str,
    align: bool,
    device: Cores,
) -> Problem:
    """Pose the problem for checked views, and take them to the device."""
    there = [device.put_view(X) for X in views]
    return Problem(
        views=there,
        pairs=pairs,
        mu=mu,
        alpha=alpha,
        matching=matching,
        align=align,
        orders=[choosing_order(X, device.map) for X in there if align],
        floors=device.each(residual_floor, there, [X.dtype for X in views]),
        device=device,
    )


def residual_floor(X: Any, dtype: np.dtype[Any]) -> float:
    """Smallest residual that is no rounding error at the scale of the view's rows.

    ``dtype`` is that of the view on the host.
    """
    squares = sum(sum_of_squares(X[rows]) for rows in row_blocks(X))
    scale = float(np.sqrt(squares / X.shape[0])) or 1.0
    return float(np.finfo(dtype).eps) * scale
