"""Curves as paths in a unit square: an objective, evidence on numbers of clusters."""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "EvidenceCurve", "Tick", "draw_curve", "draw_evidence"]


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


@dataclass(frozen=True)
class EvidenceCurve(Curve):
    """A curve over numbers of clusters, with the interval and the chosen number."""

    second: str
    """Path of the agreement of recipes, on the same axes."""
    low: float
    """Where the interval begins, in percent of the axis."""
    width: float
    chosen: float


def draw_curve(values: NDArray[np.float64]) -> Curve:
    """Draw values over their positions, from 1 on.

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
    (path,), up = _draw(100 * np.arange(n) / (n - 1), values[None])
    across = [1.0]  # the first iteration always has a tick
    across += [
        s for s in round_steps(1, n, 5) if n / 8 < s <= n and s % 1 == 0 and s > 1
    ]
    ticks = [Tick(100 * (step - 1) / (n - 1), f"{step:.0f}") for step in across]
    return Curve(path, ticks, up)


def draw_evidence(evidence: Any) -> EvidenceCurve:
    """Draw the scores of numbers of clusters, on a logarithmic axis.

    Parameters
    ----------
    evidence : ClusterEvidence with two or more candidates

    Returns
    -------
    EvidenceCurve
    """
    first, last = (int(evidence.candidates[end]) for end in (0, -1))

    def place(number: Any) -> Any:
        return 100 * np.log(np.divide(number, first)) / log(last / first)

    both = np.stack([evidence.scores, evidence.agreement.mean(axis=0)])
    (path, second), up = _draw(place(evidence.candidates), both)
    rounds = [r * 10**p for p in range(7) for r in (1, 2, 5)]
    across = [Tick(float(place(r)), f"{r:,}") for r in rounds if first <= r <= last]
    low, high = map(float, place(evidence.interval))
    chosen = float(place(evidence.n_clusters))
    return EvidenceCurve(path, across, up, second, low, high - low, chosen)


def _draw(
    x: NDArray[np.float64], curves: NDArray[np.float64]
) -> tuple[list[str], list[Tick]]:
    """Draw curves over positions in percent, and the ticks of their axis."""
    up = round_steps(float(curves.min()), float(curves.max()), 4)
    low, high = min(up[0], curves.min()), max(up[-1], curves.max())
    paths = []
    for y in 100 * (high - curves) / ((high - low) or 1):
        points = [f"{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True)]
        paths.append("M" + "L".join(points))
    ticks = [
        Tick(100 * (step - low) / ((high - low) or 1), text)
        for step, text in zip(up, _texts(up), strict=True)
    ]
    return paths, ticks


def round_steps(low: float, high: float, about: int) -> list[float]:
    """Round numbers around a range: multiples of 1, 2 or 5 times a power of ten."""
    width = (high - low) or abs(high) or 1.0
    power = 10.0 ** np.floor(np.log10(width / about))
    step = next(s * power for s in (1, 2, 5, 10) if width / (s * power) <= about)
    first = np.floor(low / step)
    last = max(np.ceil(high / step), first + 1)
    return [float(i * step) for i in np.arange(first, last + 1)]


def _texts(steps: list[float]) -> list[str]:
    """Texts of evenly spaced numbers, with no more digits than needed."""
    finest = int(np.floor(np.log10(steps[1] - steps[0]) + 1e-9))
    largest = max(map(abs, steps))
    if finest >= -4 and largest < 1e6:
        return [f"{step:,.{max(0, -finest)}f}" for step in steps]
    digits = max(0, int(np.floor(np.log10(largest))) - finest)
    return [f"{step:.{digits}e}" for step in steps]
