"""Displays of rows: maps of views, and matches between two views."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from unaligned.alignment import Alignment
from unaligned.plotting.axes import get_axes
from unaligned.report.maps import draw_maps, map_view, rows_to_draw

__all__ = ["AlignmentDisplay", "EmbeddingDisplay"]

Array = NDArray[Any]


class EmbeddingDisplay:
    """Map of one view, on which similar rows are near each other.

    Parameters
    ----------
    coordinates : ndarray of shape (n, 2)
    values : ndarray of shape (n,)
        Values that give the colours: whole numbers are categories, others a scale.
    view_name : str
    values_name : str, default="cluster"

    Attributes
    ----------
    points_ : matplotlib PathCollection
    colorbar_ : matplotlib Colorbar or None
        None for categories.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        coordinates: Array,
        values: Array,
        *,
        view_name: str,
        values_name: str = "cluster",
    ) -> None:
        self.coordinates = coordinates
        self.values = values
        self.view_name = view_name
        self.values_name = values_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        view: int | str = 0,
        Xs: Any = None,
        *,
        color: Any = "cluster",
        ax: Any = None,
        **kwargs: Any,
    ) -> "EmbeddingDisplay":
        """Draw the map of one view of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        view : int or str, default=0
            The view, by index or by name.
        Xs : views, default=None
            The views it was fitted on. None: the map is made from what the estimator
            kept of the view, see `unaligned.report.write_report`.
        color : {"cluster", "confidence"} or array of shape (n,), default="cluster"
            Values that give the colours. Rows without partner have confidence NaN.
        ax : matplotlib Axes, default=None
        **kwargs
            For `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        EmbeddingDisplay
        """
        check_is_fitted(estimator, "alignment_")
        alignment: Alignment = estimator.alignment_
        i = alignment.index_of(view)
        rows, _ = rows_to_draw(estimator, Xs)
        name = color if isinstance(color, str) else ""
        if name == "cluster":
            values = estimator.view_labels_[i]
        elif name == "confidence":
            values = row_confidence(alignment, i, rows[i].shape[0])
        elif name:
            raise ValueError(
                f"color={color!r} is neither 'cluster' nor 'confidence'. Give one of "
                "them or an array with a value per row of the view."
            )
        else:
            values = np.asarray(color)
        display = cls(
            map_view(rows[i]),
            values,
            view_name=alignment.view_names[i],
            values_name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> "EmbeddingDisplay":
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        **kwargs
            For `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        are_categories = self.values.dtype.kind in "biu"
        colors = category_colors(self.values) if are_categories else self.values
        style = {"s": 8, "linewidths": 0} | kwargs
        x, y = self.coordinates.T
        self.points_ = self.ax_.scatter(x, y, c=colors, **style)
        self.colorbar_ = None
        if not are_categories:
            self.colorbar_ = self.figure_.colorbar(
                self.points_, ax=self.ax_, label=self.values_name
            )
        self.ax_.set(xticks=[], yticks=[], title=self.view_name, aspect="equal")
        return self


class AlignmentDisplay:
    """Maps of the template and of another view, with lines between matched rows.

    Parameters
    ----------
    coordinates : pair of ndarray of shape (n, 2)
        Maps of the template and of the other view.
    labels : pair of ndarray of int, or None
        Clusters of their rows.
    pairs : ndarray of shape (n_pairs, 2)
        Matched rows of the template and of the other view.
    view_names : pair of str
    trust : float
        Trust of the other view; NaN if nothing was tested.
    verdict : str, default="objects"
        What corresponds, as in `unaligned.Alignment`.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
    lines_ : matplotlib LineCollection
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(
        self,
        coordinates: tuple[Array, Array],
        labels: tuple[Array, Array] | None,
        pairs: Array,
        *,
        view_names: tuple[str, str],
        trust: float,
        verdict: str = "objects",
    ) -> None:
        self.coordinates = coordinates
        self.labels = labels
        self.pairs = pairs
        self.view_names = view_names
        self.trust = trust
        self.verdict = verdict

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        view: int | str | None = None,
        Xs: Any = None,
        *,
        n_lines: int = 150,
        ax: Any = None,
        **kwargs: Any,
    ) -> "AlignmentDisplay":
        """Draw how the rows of a view were matched to those of the template.

        Parameters
        ----------
        estimator : fitted estimator, or Alignment with ``Xs``
        view : int or str, default=None
            The view, by index or by name. None: the one with the largest trust, or
            with the most known pairs.
        Xs : views, default=None
            As in `EmbeddingDisplay.from_estimator`.
        n_lines : int, default=150
            Number of matches that are drawn as lines, chosen by a fixed seed.
        ax : matplotlib Axes, default=None
        **kwargs
            For the lines: `matplotlib.collections.LineCollection`.

        Returns
        -------
        AlignmentDisplay
        """
        alignment = estimator
        if not isinstance(estimator, Alignment):
            check_is_fitted(estimator, "alignment_")
            alignment = estimator.alignment_
        t = alignment.template
        i = _most_trusted(alignment) if view is None else alignment.index_of(view)
        rows, _ = rows_to_draw(estimator, Xs)
        both = Alignment(
            0,
            [alignment.permutations[v] for v in (t, i)],
            [alignment.confidence[v] for v in (t, i)],
            alignment.trust[[t, i]],
            verdict=[alignment.verdict[v] for v in (t, i)],
            known=alignment.known[[t, i]],
        )
        own, other = draw_maps([rows[t], rows[i]], both)
        labels = getattr(estimator, "view_labels_", None)
        display = cls(
            (own, other),
            None if labels is None else (labels[t], labels[i]),
            alignment.pairs(t, i),
            view_names=(alignment.view_names[t], alignment.view_names[i]),
            trust=float(alignment.trust[i]),
            verdict=alignment.verdict[i],
        )
        return display.plot(ax, n_lines=n_lines, **kwargs)

    def plot(
        self, ax: Any = None, *, n_lines: int = 150, **kwargs: Any
    ) -> "AlignmentDisplay":
        """Draw both maps side by side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        n_lines : int, default=150
        **kwargs
            For the lines: `matplotlib.collections.LineCollection`.

        Returns
        -------
        self
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        from matplotlib.collections import LineCollection

        gap = np.array([2.4, 0])  # maps are circles of radius one
        maps = [self.coordinates[0], self.coordinates[1] + gap]
        colors: list[Any] = ["0.5", "0.5"]
        if self.labels is not None:
            colors = [category_colors(labels) for labels in self.labels]
        self.points_ = [
            self.ax_.scatter(*drawn.T, c=color, s=6, linewidths=0)
            for drawn, color in zip(maps, colors, strict=True)
        ]
        chosen = np.random.RandomState(0).permutation(len(self.pairs))[:n_lines]
        ends = self.pairs[chosen]
        segments = np.stack([maps[0][ends[:, 0]], maps[1][ends[:, 1]]], axis=1)
        style: dict[str, Any] = {"colors": "0.3", "linewidths": 0.5, "zorder": 0}
        lines = LineCollection(list(segments), **style | {"alpha": 0.5} | kwargs)
        self.lines_ = self.ax_.add_collection(lines)
        trust = "" if np.isnan(self.trust) else f", trust {self.trust:.2f}"
        for name, place in zip(self.view_names, (0.0, gap[0]), strict=True):
            self.ax_.text(place, 1.12, name, ha="center", va="bottom")
        self.ax_.set(
            xlim=(-1.1, gap[0] + 1.1),
            ylim=(-1.1, 1.35),
            aspect="equal",
            title=f"{len(self.pairs):,} matches, {self.verdict}{trust}",
        )
        self.ax_.set_axis_off()
        return self


def category_colors(values: Array) -> list[str]:
    """Colours of matplotlib's cycle, the same for a category in all plots."""
    return [f"C{int(value) % 10}" for value in values]


def row_confidence(alignment: Alignment, view: int, n_rows: int) -> Array:
    """Confidence of the match of every row of a view; NaN for rows without a match."""
    confidence = np.full(n_rows, np.nan)
    rows = alignment.permutations[view]
    confidence[rows[rows >= 0]] = alignment.confidence[view][rows >= 0]
    return confidence


def _most_trusted(alignment: Alignment) -> int:
    others = [i for i in range(alignment.n_views) if i != alignment.template]
    if not others:
        raise ValueError("There is one view only, so no rows are matched.")
    trust = np.nan_to_num(alignment.trust, nan=-1)
    return max(others, key=lambda i: (trust[i], alignment.known[i]))
