"""Drawings as SVG, for pages and for files of their own.

Axes and letters are drawn in one colour that pages replace by that of their text, so
that figures are readable on light and on dark.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unaligned.benchmark.columns import slug
from unaligned.extras import import_extra

__all__ = ["COLOURS", "INK", "MARKERS", "STYLES", "Picture", "canvas", "picture"]

INK = "#010203"  # no other colour is like it: pages replace it
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "osD^vPX"
STYLES = tuple(
    {"color": colour, "marker": marker, "ms": 4}
    for colour, marker in zip(COLOURS, MARKERS, strict=False)
)


INKED = (
    "text.color",
    "axes.edgecolor",
    "axes.labelcolor",
    "xtick.color",
    "ytick.color",
)
STYLE: Any = dict.fromkeys(INKED, INK) | {
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.color": "#808080",
    "legend.frameon": False,
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "unaligned",  # the same figure is the same file
}


@dataclass(frozen=True)
class Picture:
    """A figure: where it belongs, what it shows, and the drawing."""

    name: str
    title: str
    caption: str
    figure: Any

    @cached_property
    def svg(self) -> str:
        """Drawing without background, in ``INK``, from its first tag on."""
        import matplotlib

        file = io.StringIO()
        with matplotlib.rc_context(STYLE):
            self.figure.savefig(file, format="svg", metadata={"Date": None}, dpi=120)
        text = file.getvalue()
        return text[text.index("<svg") :]

    @property
    def file(self) -> str:
        """Drawing on white, for a file of its own."""
        return self.svg.replace("<svg", '<svg style="background: #fff"', 1)


@contextmanager
def canvas(columns: int, rows: int = 1, width: float = 3.6) -> Iterator[Any]:
    """Figure and its axes, in one list; pyplot and its global state stay untouched."""
    matplotlib = import_extra("matplotlib", "plots", "A figure")
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure((width * columns, 2.9 * rows), layout="constrained")
        figure.patch.set_alpha(0)
        yield figure, figure.subplots(rows, columns, squeeze=False).ravel()


def picture(title: str, caption: str, figure: Any) -> Picture:
    """Picture named after its title."""
    return Picture(slug(title), title, caption, figure)
