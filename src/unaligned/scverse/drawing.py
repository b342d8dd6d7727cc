"""Shared by the plots of cells: panels, coloured points, showing, saving."""

from pathlib import Path
from typing import Any

import numpy as np

from unaligned.plotting.axes import get_axes, get_pyplot
from unaligned.scverse.values import MISSING, Values

__all__ = ["draw_cells", "finish", "panels"]

FOLDER = "figures"  # scanpy's default
MOST_COLUMNS = 4  # panels beside each other, as in scanpy
LONGEST_LEGEND = 14  # names in one column, as in scanpy


def panels(n: int) -> list[Any]:
    """Axes for several square panels, in rows."""
    if n == 1:
        return [get_axes(None)]
    plt = get_pyplot()
    width = min(n, MOST_COLUMNS)
    shape = -(-n // width), width
    figure, axes = plt.subplots(
        *shape,
        figsize=(4.5 * shape[1], 4 * shape[0]),
        squeeze=False,
        layout="constrained",
    )
    for spare in axes.flat[n:]:
        figure.delaxes(spare)
    return list(axes.flat[:n])


def draw_cells(ax: Any, places: Any, values: Values, cmap: Any, style: Any) -> None:
    """Draw cells in their colours; cells without a value first."""
    from matplotlib.colors import to_rgba_array

    if values.categories is None:
        # The largest values are on top, as in scanpy.
        order = np.argsort(np.nan_to_num(values.codes, nan=-np.inf), kind="stable")
        none = np.isnan(values.codes)
        ax.scatter(*places[none].T, color=MISSING, **style)
        order = order[~none[order]]
        drawn = ax.scatter(*places[order].T, c=values.codes[order], cmap=cmap, **style)
        ax.figure.colorbar(drawn, ax=ax)
        return
    colors = [*values.colors, MISSING]  # the last for cells without a value: -1
    gray = np.array([color == MISSING for color in colors])
    below = np.flatnonzero(gray[values.codes])
    above = np.setdiff1d(np.arange(len(places)), below)
    # In random order, so that no category hides another one.
    above = np.random.RandomState(0).permutation(above)
    palette = to_rgba_array(colors)
    for rows in (below, above):
        ax.scatter(*places[rows].T, color=palette[values.codes[rows]], **style)
    for name, color in zip(values.categories, values.colors, strict=True):
        ax.scatter([], [], color=color, label=name)
    ax.legend(
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        frameon=False,
        ncols=-(-len(values.categories) // LONGEST_LEGEND),
    )


def finish(
    name: str,
    axes: Any,
    figure: Any,
    show: bool | None,
    save: bool | str | None,
    given: bool,
) -> Any:
    """Save, show or return the axes, as scanpy's functions do."""
    if save:
        ending = "" if save is True else save
        if not ending.endswith((".pdf", ".png", ".svg")):
            ending += ".pdf"
        Path(FOLDER).mkdir(exist_ok=True)
        figure.savefig(Path(FOLDER) / f"{name}{ending}", bbox_inches="tight")
    if not given if show is None else show:
        get_pyplot().show()
        return None
    return axes
