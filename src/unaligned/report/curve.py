"""Curve: the objective over the iterations, as a path in a unit square."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "Tick", "draw_curve"]


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    """Percent of the axis."""
    text: str


@dataclass(frozen=True)
class Curve:
    """A line to be drawn in a box of 100 × 100, with its axes."""

    path: str
    across: list[Tick]
    up: list[Tick]


def draw_curve(values: NDArray[np.float64]) -> Curve:
    """Draw values over their numbers, beginning at one.

    Parameters
    ----------
    values : ndarray of shape (n,), n ≥ 2

    Returns
    -------
    Curve

    Examples
    --------
    >>> import numpy as np
    >>> curve = draw_curve(np.array([4.0, 2.0, 0.0]))
    >>> curve.path
    'M0.00,0.00L50.00,50.00L100.00,100.00'
    >>> [tick.text for tick in curve.up]
    ['0', '1', '2', '3', '4']
    """
    n = len(values)
    up = round_steps(float(values.min()), float(values.max()), 4)
    low, high = min(up[0], values.min()), max(up[-1], values.max())
    x = 100 * np.arange(n) / (n - 1)
    y = 100 * (high - values) / ((high - low) or 1)
    points = [f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True)]
    across = [1.0]  # iterations begin at one, wherever the round numbers do
    across += [
        s for s in round_steps(1, n, 5) if n / 8 < s <= n and s % 1 == 0 and s > 1
    ]
    return Curve(
        "M" + "L".join(points),
        [Tick(100 * (step - 1) / (n - 1), f"{step:.0f}") for step in across],
        [
            Tick(100 * (step - low) / ((high - low) or 1), text)
            for step, text in zip(up, _texts(up), strict=True)
        ],
    )


def round_steps(low: float, high: float, about: int) -> list[float]:
    """Round numbers around a range: multiples of 1, 2 or 5 times a power of ten."""
    width = (high - low) or abs(high) or 1.0
    power = 10.0 ** np.floor(np.log10(width / about))
    step = next(s * power for s in (1, 2, 5, 10) if width / (s * power) <= about)
    first = np.floor(low / step)
    last = max(np.ceil(high / step), first + 1)
    return [float(i * step) for i in np.arange(first, last + 1)]


def _texts(steps: list[float]) -> list[str]:
    """Evenly spaced numbers with just the digits that tell them apart."""
    finest = int(np.floor(np.log10(steps[1] - steps[0]) + 1e-9))
    largest = max(map(abs, steps))
    if finest >= -4 and largest < 1e6:
        return [f"{step:,.{max(0, -finest)}f}" for step in steps]
    digits = max(0, int(np.floor(np.log10(largest))) - finest)
    return [f"{step:.{digits}e}" for step in steps]
