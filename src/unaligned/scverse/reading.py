"""Reading AnnData and MuData: numbers, names of cells, and known pairs."""

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.known_pairs import are_row_numbers, pairs_by_name
from unaligned.preparation import Prepared, prepare

__all__ = ["Cells", "Choice", "modalities_of", "read_cells"]

Choice = str | Mapping[str, str] | None
"""A word for all modalities, or one for each by name."""
Pairs = dict[tuple[int, int], NDArray[np.intp]]


class Cells(NamedTuple):
    """Modalities as views."""

    modalities: dict[str, Any]
    """The AnnData by name."""
    prepared: dict[str, Prepared]
    """Their numbers, and what was done to them."""
    aligned: Any
    """Known pairs, in the form that estimators take."""

    @property
    def Xs(self) -> dict[str, Any]:
        """The numbers by name."""
        return {name: view.X for name, view in self.prepared.items()}


def read_cells(
    mdata: Any,
    *,
    use_rep: Choice = None,
    layer: Choice = None,
    transform: Choice = "auto",
    aligned: Any = "obs_names",
) -> Cells:
    """Read the modalities of a MuData or a dict of AnnData.

    Parameters
    ----------
    mdata : MuData or dict of AnnData
    use_rep, layer : str or dict, default=None
        Keys of ``obsm`` and of ``layers``; ``use_rep`` may also name a layer.
    transform : str or dict, default="auto"
        As in `unaligned.prepare`.
    aligned : "obs_names" or what estimators take, default="obs_names"

    Returns
    -------
    Cells
    """
    modalities = _modalities(mdata)
    prepared = {
        name: _prepared(
            cells, name, _of(use_rep, name), _of(layer, name), _of(transform, name)
        )
        for name, cells in modalities.items()
    }
    if isinstance(aligned, str) and aligned == "obs_names":
        aligned = _shared_names([*modalities.values()])
    return Cells(modalities, prepared, aligned)


def _of(choice: Choice, name: str) -> str | None:
    return choice.get(name) if isinstance(choice, Mapping) else choice


def modalities_of(data: Any) -> dict[str, Any]:
    """AnnData by name; the name of a single AnnData is empty."""
    if hasattr(data, "obs_names") and not hasattr(data, "mod"):
        return {"": data}
    return _modalities(data)


def _modalities(mdata: Any) -> dict[str, Any]:
    """AnnData by name, with names that tell cells apart."""
    modalities = getattr(mdata, "mod", mdata)
    if not isinstance(modalities, Mapping):
        raise TypeError(
            "A MuData or a dict of AnnData by name of modality is needed, got "
            f"{type(mdata).__name__}."
        )
    for name, cells in modalities.items():
        if not hasattr(cells, "obs_names"):
            raise TypeError(
                "A MuData or a dict of AnnData by name of modality is needed, and "
                f"modality {name!r} is {type(cells).__name__}."
            )
        if not cells.obs_names.is_unique:
            raise ValueError(
                f"Several cells of modality {name!r} have one name. Call its "
                "obs_names_make_unique() first."
            )
    return {str(name): cells for name, cells in modalities.items()}


def _prepared(
    cells: Any, name: str, rep: str | None, layer: str | None, transform: str | None
) -> Prepared:
    """Read and prepare the wanted matrix of a modality."""
    if rep is not None and rep != "X":
        if rep not in cells.obsm and rep not in cells.layers:
            raise ValueError(
                f"use_rep names {rep!r}, which modality {name!r} has neither in obsm "
                f"({sorted(cells.obsm)}) nor in layers ({sorted(cells.layers)})."
            )
        if rep not in cells.obsm:
            rep, layer = None, rep
    if cells.X is None and rep in (None, "X") and layer is None:
        raise ValueError(
            f"Modality {name!r} has no X. Name a key of its obsm "
            f"({sorted(cells.obsm)}) with use_rep=, or one of its layers "
            f"({sorted(cells.layers)}) with layer=."
        )
    try:
        return prepare(cells, use_rep=rep, layer=layer, transform=transform or "auto")
    except ValueError as error:
        raise ValueError(f"Modality {name!r}: {error}") from None


def _shared_names(modalities: list[Any]) -> Pairs:
    """Pairs of cells of the same name."""
    names = [list(cells.obs_names) for cells in modalities]
    numbered = [are_row_numbers(own) for own in names]
    pairs, skipped = {}, False
    for i, j in combinations(range(len(names)), 2):
        if numbered[i] and numbered[j]:
            skipped = True
        elif len(shared := pairs_by_name(names[i], names[j])):
            pairs[i, j] = shared
    if skipped:
        warnings.warn(
            "The obs_names are row numbers in two modalities or more, and no pair is "
            'taken from them. If the rows correspond, say aligned="all"; if they do '
            "not, aligned=None.",
            UserWarning,
            stacklevel=4,
        )
    return pairs
