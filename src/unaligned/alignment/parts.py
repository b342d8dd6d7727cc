"""Whether the parts of an alignment fit each other."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unaligned.alignment import Alignment

__all__ = ["BASES", "PROMISING", "TRUSTED", "VERDICTS", "check_parts"]

TRUSTED = 0.5  # the trust from which a view counts as aligned, in all of the library
PROMISING = 0.01  # the trust from which there is evidence, though too little
VERDICTS = ("objects", "classes", "none", "untested")
BASES = ("structure", "known pairs")


def check_parts(alignment: "Alignment") -> None:
    """Complain about parts that do not fit each other."""
    n_views, given = alignment.n_views, vars(alignment)
    if not 0 <= alignment.template < n_views:
        raise ValueError(
            f"template is {alignment.template}, but there are {n_views} views."
        )
    for name in ("confidence", "trust", "view_names", "verdict", "basis", "known"):
        if len(given[name]) != n_views and (name != "verdict" or given[name]):
            raise ValueError(
                f"{name} has {len(given[name])} entries, but there are {n_views} "
                "views. Give one per view."
            )
    n = len(alignment.permutations[alignment.template])
    for name in ("permutations", "confidence"):
        lengths = [len(values) for values in given[name]]
        if set(lengths) != {n}:
            raise ValueError(
                f"{name} has arrays of {lengths} entries, but the template has {n} "
                "rows. Give one entry per row of the template."
            )
    for name, allowed in (("verdict", VERDICTS), ("basis", BASES)):
        if unknown := set(given[name]) - {*allowed}:
            raise ValueError(
                f"{name} holds {sorted(map(str, unknown))[0]!r}, but it is one of "
                f"{', '.join(map(repr, allowed))} for every view."
            )
    for name in ("trust", "known"):
        values = np.asarray(given[name], dtype=np.float64)
        outside = values[(values < 0) | (values > 1)]
        if outside.size or (name == "known" and np.isnan(values).any()):
            raise ValueError(f"{name} is {values}, but it must be between 0 and 1.")
    for views, rows in alignment.suspects.items():
        if np.ndim(rows) != 2 or np.shape(rows)[1] != 2 or max(views) >= n_views:
            raise ValueError(
                f"suspects[{views}] has shape {np.shape(rows)}. Give pairs of rows of "
                f"two of the {n_views} views in two columns, as in {{(0, 1): pairs}}."
            )
    for name in ("n_rows", "row_ids"):
        if given[name] and len(given[name]) != n_views:
            raise ValueError(
                f"{name} has {len(given[name])} entries, but there are {n_views} "
                "views. Give one per view."
            )
    if alignment.row_ids and not alignment.n_rows:
        raise ValueError("row_ids is given without n_rows. Give both, one per view.")
    for ids, n in zip(alignment.row_ids, alignment.n_rows, strict=False):
        if ids is not None and not isinstance(ids, list | tuple):
            raise ValueError(f"row_ids has {ids!r}. Give a list of names, or None.")
        if ids is not None and len(ids) != n:
            raise ValueError(
                f"row_ids names {len(ids)} rows of a view that has {n}. Give one name "
                "per row."
            )
