"""Shared by all displays and plots: matplotlib, and axes to draw on."""

from typing import Any

__all__ = ["get_axes", "get_pyplot"]


def get_pyplot() -> Any:
    """Import and return ``matplotlib.pyplot``."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Displays need matplotlib. Install it with `pip install unaligned[plots]`."
        ) from None
    return plt


def get_axes(ax: Any) -> Any:
    """Return the axes to draw on; for None, those of a new figure."""
    plt = get_pyplot()
    return plt.subplots(layout="constrained")[1] if ax is None else ax
