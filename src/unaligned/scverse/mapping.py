"""``joint_map``: cells of all modalities on one map of two dimensions."""

from typing import Any

import numpy as np

from unaligned.scverse.reading import modalities_of

__all__ = ["joint_map"]


def joint_map(data: Any, *, key: str = "unaligned") -> None:
    """Place the cells of all modalities on one map, from the space that they share.

    It writes ``obsm["X_unaligned_map"]``, of two columns, into every modality that has
    ``obsm["X_unaligned"]``, for `unaligned.scverse.pl` and for ``scanpy.pl.embedding``.

    Parameters
    ----------
    data : MuData, dict of AnnData or AnnData
        With the results of `align` or `cluster` with ``inplace=True``.
    key : str, default="unaligned"
        Their ``key_added``.

    Notes
    -----
    t-SNE places 1,500 of the cells. Every other cell gets the mean place of the three
    of them that are nearest to it in the shared space, weighted by nearness. Cells
    without coordinates in the shared space are NaN on the map.

    Examples
    --------
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> import numpy as np
    >>> from unaligned.scverse import joint_map
    >>> cells = AnnData(np.zeros((40, 2)))  # doctest: +SKIP
    >>> places = np.random.RandomState(0).normal(size=(40, 5))
    >>> cells.obsm["X_unaligned"] = places  # doctest: +SKIP
    >>> joint_map(cells)  # doctest: +SKIP
    >>> cells.obsm["X_unaligned_map"].shape  # doctest: +SKIP
    (40, 2)
    """
    from unaligned.report.maps import map_view  # scikit-learn's t-SNE: not at import

    name = f"X_{key}"
    sharing = [own for own in modalities_of(data).values() if name in own.obsm]
    if not sharing:
        raise ValueError(
            f"No modality has obsm[{name!r}]. Call align or cluster with inplace=True "
            "first; modalities that are refused have no shared space."
        )
    places = np.vstack([np.asarray(own.obsm[name]) for own in sharing])
    there = np.isfinite(places).all(axis=1)
    drawn = np.full((len(places), 2), np.nan, dtype=np.float32)
    drawn[there] = map_view(places[there], scaled=True)
    ends = np.cumsum([own.n_obs for own in sharing])[:-1]
    for own, part in zip(sharing, np.split(drawn, ends), strict=True):
        own.obsm[f"{name}_map"] = part
