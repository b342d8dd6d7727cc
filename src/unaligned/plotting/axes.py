"""What all displays need: axes to draw on."""

from typing import Any

__all__ = ["get_axes"]


def get_axes(ax: Any) -> Any:
    """Give the axes to draw on; None: those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Displays need matplotlib. Install it with `pip install unaligned[plots]`."
        ) from None
    return plt.subplots(layout="constrained")[1] if ax is None else ax
