"""Plots of aligned cells, called as scanpy's plots are.

``show=False`` returns the axes, ``ax=`` draws on given axes, ``save=`` writes into the
folder ``figures``. scanpy itself is not needed; matplotlib is imported when something
is drawn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unaligned.alignment import TRUSTED
from unaligned.plotting.axes import get_axes
from unaligned.plotting.maps import AlignmentDisplay
from unaligned.scverse.drawing import draw_cells, finish, panels
from unaligned.scverse.reading import modalities_of
from unaligned.scverse.values import values_of

__all__ = ["embedding", "partners", "trust"]

ALL_POINTS = 120_000  # over the number of cells: size of a point, as in scanpy


def embedding(
    data: Any,
    basis: str = "unaligned",
    *,
    color: str | Sequence[str] | None = None,
    key: str = "unaligned",
    size: float | None = None,
    cmap: Any = "viridis",
    title: str | None = None,
    ax: Any = None,
    show: bool | None = None,
    save: bool | str | None = None,
    **kwargs: Any,
) -> Any:
    """Draw the cells of all modalities in the space that they share.

    Parameters
    ----------
    data : MuData, dict of AnnData or AnnData
        Cells with results of `align` or `cluster`. Modalities without the basis, such
        as refused ones, are left out.
    basis : str, default="unaligned"
        Key of ``obsm``, with or without ``X_``; its first two columns are drawn.
        "unaligned_map" is the map that `unaligned.scverse.joint_map` makes.
    color : str or list of str, default=None
        A column of ``obs``, a variable, or a finding: "modality", "verdict", "partner"
        (whether the cell has one) or "confidence". A list gives a panel for each.
        None: "modality". Cells without a value, and those called "unknown", are gray
        and below the others. Colours in ``uns["COLUMN_colors"]`` are used.
    key : str, default="unaligned"
        The ``key_added`` of the results.
    size : float, default=None
        Of the points. None: 120,000 over the number of cells.
    cmap : str or matplotlib Colormap, default="viridis"
        For numbers.
    title : str, default=None
        None: the name of the colour values.
    ax : matplotlib Axes, default=None
        Where to draw; for one colour only.
    show : bool, default=None
        Whether to show the figure and return None. None: yes, unless ``ax`` is given.
    save : bool or str, default=None
        True writes ``figures/embedding.pdf``; a string is appended to that name, and
        may end in ``.pdf``, ``.png`` or ``.svg``.
    **kwargs
        For `matplotlib.axes.Axes.scatter`.

    Returns
    -------
    matplotlib Axes, list of them, or None
        Axes for one colour, a list of them for several; None if it was shown.

    Examples
    --------
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> import numpy as np
    >>> from unaligned.scverse import pl
    >>> rng = np.random.RandomState(0)
    >>> cells = {"rna": AnnData(np.zeros((30, 2))),
    ...     "atac": AnnData(np.zeros((20, 2)))}  # doctest: +SKIP
    >>> for own in cells.values():  # doctest: +SKIP
    ...     own.obsm["X_unaligned"] = rng.normal(size=(own.n_obs, 3))
    >>> ax = pl.embedding(cells, color="modality", show=False)  # doctest: +SKIP
    >>> [text.get_text() for text in ax.get_legend().texts]  # doctest: +SKIP
    ['rna', 'atac']
    """
    wanted = f"X_{basis.removeprefix('X_')}"
    every = modalities_of(data)
    cells = {name: own for name, own in every.items() if wanted in own.obsm}
    if not cells:
        keys = sorted({str(name) for own in every.values() for name in own.obsm})
        raise ValueError(
            f"No modality has obsm[{wanted!r}]; there are {keys}. Call align or "
            "cluster with inplace=True first; refused modalities share no space."
        )
    several = color is not None and not isinstance(color, str)
    colors = [*color] if color and several else [str(color or "modality")]
    if ax is not None and len(colors) > 1:
        raise ValueError("ax= takes one colour; leave it out to draw several panels.")
    places = np.vstack([np.asarray(own.obsm[wanted])[:, :2] for own in cells.values()])
    axes = [ax] if ax is not None else panels(len(colors))
    style = {"s": size or ALL_POINTS / len(places), "linewidths": 0} | kwargs
    for panel, name in zip(axes, colors, strict=True):
        draw_cells(panel, places, values_of(cells, name, key), cmap, style)
        label = wanted.removeprefix("X_")
        panel.set(
            xticks=[],
            yticks=[],
            xlabel=f"{label}1",
            ylabel=f"{label}2",
            title=name if title is None else title,
        )
    drawn = axes if several else axes[0]
    return finish("embedding", drawn, axes[0].figure, show, save, ax is not None)


def partners(
    data: Any,
    modalities: tuple[str, str] | None = None,
    *,
    basis: str = "unaligned_map",
    key: str = "unaligned",
    n_lines: int = 150,
    ax: Any = None,
    show: bool | None = None,
    save: bool | str | None = None,
    **kwargs: Any,
) -> Any:
    """Draw two modalities side by side, with lines between partners.

    Parameters
    ----------
    data : MuData or dict of AnnData
        With results of `align` or `cluster`.
    modalities : pair of str, default=None
        Which to draw. None: the first two that have the basis.
    basis : str, default="unaligned_map"
        Key of ``obsm``, as in `embedding`; by default the map of
        `unaligned.scverse.joint_map`, on which partners should be at the same place.
    key : str, default="unaligned"
        The ``key_added`` of the results.
    n_lines : int, default=150
        Number of partners that are joined by a line, chosen by a fixed seed.
    ax, show, save
        As in `embedding`.
    **kwargs
        For the lines: `matplotlib.collections.LineCollection`.

    Returns
    -------
    matplotlib Axes or None
        None if it was shown.
    """
    wanted = f"X_{basis.removeprefix('X_')}"
    cells = modalities_of(data)
    names = [n for n in modalities or cells if n in cells and wanted in cells[n].obsm]
    if len(names) < 2:
        raise ValueError(
            f"Two modalities with obsm[{wanted!r}] are needed, and "
            f"{names or 'none'} of {modalities or [*cells]} have it. Call align with "
            "inplace=True and joint_map first; refused modalities share no space."
        )
    one, other = names[:2]
    column = f"{key}_partner_{other}"
    if column not in cells[one].obs:
        raise ValueError(f"obs of modality {one!r} has no column {column!r}.")
    partner = cells[other].obs_names.get_indexer(cells[one].obs[column])
    rows = np.flatnonzero(partner >= 0)
    about = cells[one].uns[key]
    listed = [*about["modalities"]]
    # The template is always trusted; the other modality has the result.
    at_both = [listed.index(name) for name in (one, other)]
    at = at_both[0] if listed[at_both[1]] == about["template"] else at_both[1]
    places = [np.asarray(cells[name].obsm[wanted])[:, :2] for name in (one, other)]
    middle = np.nanmean(np.vstack(places), axis=0)
    radius = np.nanmax(np.linalg.norm(np.vstack(places) - middle, axis=1)) or 1
    first, second = ((own - middle) / radius for own in places)
    drawn = AlignmentDisplay(
        (first, second),
        None,
        np.column_stack([rows, partner[rows]]),
        view_names=(one, other),
        trust=float(about["trust"][at]),
        verdict=str(about["verdict"][at]),
    ).plot(ax, n_lines=n_lines, **kwargs)
    return finish("partners", drawn.ax_, drawn.figure_, show, save, ax is not None)


def trust(
    data: Any,
    *,
    key: str = "unaligned",
    ax: Any = None,
    show: bool | None = None,
    save: bool | str | None = None,
    **kwargs: Any,
) -> Any:
    """Draw the trust in every modality, with its verdict.

    Parameters
    ----------
    data : MuData, dict of AnnData or AnnData
        With results of `align` or `cluster`.
    key : str, default="unaligned"
        The ``key_added`` of the results.
    ax, show, save
        As in `embedding`.
    **kwargs
        For `matplotlib.axes.Axes.barh`.

    Returns
    -------
    matplotlib Axes or None
        None if it was shown.
    """
    abouts = [own.uns[key] for own in modalities_of(data).values() if key in own.uns]
    if not abouts:
        raise ValueError(
            f"No modality has uns[{key!r}]. Call align or cluster with inplace=True."
        )
    about, axes = abouts[0], get_axes(ax)
    names = [
        f"{name} (template)" if name == about["template"] else str(name)
        for name in about["modalities"]
    ]
    bars = axes.barh(names, np.nan_to_num(about["trust"]), **kwargs)
    axes.bar_label(bars, [str(verdict) for verdict in about["verdict"]], padding=3)
    axes.axvline(TRUSTED, color="0.5", linestyle="--", linewidth=1)
    axes.invert_yaxis()
    axes.set(xlabel="trust", xlim=(0, 1.2), xticks=[0, 0.5, 1])
    return finish("trust", axes, axes.figure, show, save, ax is not None)
