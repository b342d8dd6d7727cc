"""Writing results into AnnData and MuData, under names that begin with one key."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.alignment.tables import matches_of
from unaligned.scverse.reading import Cells

__all__ = ["about_alignment", "categories", "write_alignment"]


def about_alignment(alignment: Alignment, cells: Cells) -> dict[str, Any]:
    """Results for all modalities, in forms that ``uns`` can hold."""
    about: dict[str, Any] = {
        "template": alignment.view_names[alignment.template],
        "modalities": np.array(alignment.view_names, dtype=object),
        "verdict": np.array(alignment.verdict, dtype=object),
        "trust": np.array(alignment.trust, dtype=np.float64),
        "basis": np.array(alignment.basis, dtype=object),
        "known": np.array(alignment.known, dtype=np.float64),
        "preparation": np.array(
            [view.summary() for view in cells.prepared.values()], dtype=object
        ),
    }
    if alignment.suspects:
        about["suspects"] = {
            f"{alignment.view_names[i]}, {alignment.view_names[j]}": pairs
            for (i, j), pairs in alignment.suspects.items()
        }
    return about


def write_alignment(
    mdata: Any,
    cells: Cells,
    alignment: Alignment,
    places: dict[int, NDArray[Any]],
    about: dict[str, Any],
    key_added: str,
) -> None:
    """Write partners, coordinates and the results for all modalities.

    Parameters
    ----------
    mdata : MuData or dict of AnnData
    cells : Cells
        The same, as it was read.
    alignment : Alignment
    places : dict of ndarray
        Coordinates of the cells of a modality, by its index.
    about : dict
        For ``uns``.
    key_added : str
    """
    names = [own.obs_names for own in cells.modalities.values()]
    for i, own in enumerate(cells.modalities.values()):
        for j, other in enumerate(alignment.view_names):
            if j != i:
                rows, confidence = _partners(alignment, i, j, len(names[i]))
                own.obs[f"{key_added}_partner_{other}"] = categories(rows, names[j])
                own.obs[f"{key_added}_confidence_{other}"] = confidence
        own.obsm.pop(f"X_{key_added}", None)  # of an earlier call
        if i in places:
            own.obsm[f"X_{key_added}"] = places[i]
        own.uns[key_added] = dict(about)
    if hasattr(mdata, "mod"):
        mdata.uns[key_added] = dict(about)


def categories(codes: NDArray[np.intp], names: Any) -> Any:
    """Make a column of categories; -1 is missing."""
    import pandas as pd  # comes with AnnData

    return pd.Categorical.from_codes(codes, names)


def _partners(
    alignment: Alignment, i: int, j: int, n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Row of modality j for every row of modality i (-1: none), and its confidence."""
    pairs, sure = matches_of(alignment, i, j)
    partner, confidence = np.full(n, -1, dtype=np.intp), np.zeros(n)
    partner[pairs[:, 0]], confidence[pairs[:, 0]] = pairs[:, 1], sure
    return partner, confidence
