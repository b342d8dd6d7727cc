"""Values that cells are coloured by, for all modalities that are drawn."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MISSING", "Values", "values_of"]

MISSING = "lightgray"  # colour of cells without a value, as scanpy has it
UNKNOWN = "unknown"  # what `transfer_labels` calls cells without a label
FOUND = ("modality", "verdict", "partner", "confidence")


class Values(NamedTuple):
    """A value for every cell: a number, or a category."""

    codes: NDArray[Any]
    """Numbers (NaN: none), or numbers of categories (-1: none)."""
    categories: list[str] | None
    """Names of the categories; None for numbers."""
    colors: list[Any]
    """A colour for each category."""


def values_of(cells: dict[str, Any], color: str, key: str) -> Values:
    """Look up the values that cells are coloured by.

    Parameters
    ----------
    cells : dict of AnnData
        The modalities that are drawn.
    color : str
        A column of ``obs`` or a variable of any of them, or a finding of `align`:
        "modality", "verdict", "partner" (whether a cell has one) or "confidence".
    key : str
        Name of the results of `align`.
    """
    import pandas as pd  # comes with AnnData
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    there = [color in own.obs or color in own.var_names for own in cells.values()]
    if not any(there) and color not in FOUND:
        known = sorted({str(name) for own in cells.values() for name in own.obs})
        raise ValueError(
            f"color={color!r} is neither a column of obs ({known}), nor a variable, "
            f"nor one of {', '.join(FOUND)}."
        )
    parts = []
    for here, (name, own) in zip(there, cells.items(), strict=True):
        if here:
            column = own.obs[color] if color in own.obs else own.obs_vector(color)
        elif any(there):
            column = np.full(own.n_obs, np.nan)
        else:
            column = _finding(own, name, color, key)
        parts.append(pd.Series(column))
    named = [not is_numeric_dtype(part) or is_bool_dtype(part) for part in parts]
    values = pd.concat([part.astype(object) for part in parts])
    if not any(named):
        return Values(values.to_numpy(dtype=np.float64, na_value=np.nan), None, [])
    text = values.map(str, na_action="ignore")
    names = _order(parts, text.dropna().unique())
    codes = pd.Categorical(text, categories=names).codes
    return Values(np.asarray(codes), names, _colors(cells, color, names))


def _finding(own: Any, name: str, color: str, key: str) -> Any:
    """Read a finding of `align` for the cells of one modality."""
    import pandas as pd

    if color == "modality":
        return pd.Categorical([name] * own.n_obs)
    if key not in own.uns:
        raise ValueError(
            f"color={color!r} needs results in uns[{key!r}]. Call align or cluster "
            "with inplace=True first, and give its key_added as key=."
        )
    if color == "verdict":
        about = own.uns[key]
        if name not in about["modalities"]:
            raise ValueError("color='verdict' needs a dict of AnnData, or a MuData.")
        at = [*about["modalities"]].index(name)
        return [about["verdict"][at]] * own.n_obs
    partners = own.obs[[c for c in own.obs if c.startswith(f"{key}_partner_")]]
    if color == "partner":
        has = partners.notna().any(axis=1).to_numpy()
        return np.where(has, "has a partner", "has none")
    sure = own.obs[[c for c in own.obs if c.startswith(f"{key}_confidence_")]]
    return sure.max(axis=1).where(partners.notna().any(axis=1)).to_numpy()


def _order(parts: list[Any], seen: Any) -> list[str]:
    """Names of categories, in the order of a modality if it has one."""
    known = [
        str(name)
        for part in parts
        if hasattr(part, "cat")
        for name in part.cat.categories
    ]
    there = set(seen)
    first = [name for name in dict.fromkeys(known) if name in there]
    return [*first, *sorted(there - set(first))]


def _colors(cells: dict[str, Any], color: str, names: list[str]) -> list[Any]:
    """Colours of categories: those in ``uns`` of a modality, or of a colour map."""
    import matplotlib as mpl

    for own in cells.values():
        kept = own.uns.get(f"{color}_colors")
        if kept is not None and color in own.obs and hasattr(own.obs[color], "cat"):
            of = dict(zip(map(str, own.obs[color].cat.categories), kept, strict=False))
            if set(names) <= {*of, UNKNOWN}:
                return [of.get(name, MISSING) for name in names]
    shown = [name for name in names if name != UNKNOWN]
    maps = mpl.colormaps
    if len(shown) <= 20:
        drawn = maps["tab10" if len(shown) <= 10 else "tab20"](range(len(shown)))
    else:
        drawn = maps["hsv"](np.linspace(0, 1, len(shown), endpoint=False))
    of = dict(zip(shown, drawn.tolist(), strict=True))
    return [of.get(name, MISSING) for name in names]
