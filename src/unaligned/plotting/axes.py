"""Shared by all displays and plots: matplotlib, and axes to draw on."""

from typing import Any

from unaligned.extras import import_extra

__all__ = ["get_axes", "get_pyplot"]


def get_pyplot() -> Any:
    """Import and return ``matplotlib.pyplot``."""
    return import_extra("matplotlib.pyplot", "plots", "A display")


def get_axes(ax: Any) -> Any:
    """Return the axes to draw on; for None, those of a new figure."""
    plt = get_pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax
