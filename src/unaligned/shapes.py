"""Shapes of arrays that come from a file, in words.

Shapes are written as words: ``"n m"`` is an array of finite numbers with two axes.
``v`` stands for the number of views, ``k`` for that of clusters, ``n`` and ``d`` for
the rows and columns of a view, ``t`` for the rows of the template, ``_`` for any
length. Other words stand for one length each, the same wherever they occur. In front of
them stands ``int`` where all numbers are whole, ``inf`` where some may be infinite. A
list with one entry describes every view's in turn, a dict the fields of a record or the
entries of a list or a dict, and None anything that is there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["MissingPart", "check_shapes", "need"]

OF_VIEW = ("n", "d")


class MissingPart(ValueError):
    """Something is not there, as in files of earlier versions."""


def need(holds: bool, complaint: str) -> None:
    """Complain unless something holds."""
    if not holds:
        raise ValueError(complaint)


def check_shapes(parts: Any, shapes: Mapping[Any, Any], sizes: dict[str, int]) -> None:
    """Check arrays by name, and note in ``sizes`` what is learned from them.

    Parameters
    ----------
    parts : dict or record
        What holds the arrays.
    shapes : dict
        Their shapes, as the top of this module describes them.
    sizes : dict
        Lengths that are known, with that of view 0 as ``n0``, and so on.
    """
    for name, shape in shapes.items():
        _check_shape(str(name), _part_of(parts, name), shape, sizes, "")


def _part_of(parts: Any, name: Any) -> Any:
    """Field of a record, or entry of a dict or a list."""
    try:
        is_field = isinstance(name, str) and not isinstance(parts, Mapping)
        return getattr(parts, name) if is_field else parts[name]
    except (AttributeError, LookupError, TypeError):
        raise MissingPart(f"{name} is missing") from None


def _check_shape(
    name: str, part: Any, shape: Any, sizes: dict[str, int], view: str
) -> None:
    if isinstance(shape, list):
        need(isinstance(part, list | tuple), f"{name} is no list")
        inner = bool(view)  # a list in that of a view may have any length
        need(inner or len(part) == sizes["v"], f"{name} is not of {sizes['v']} views")
        for i, item in enumerate(part):
            _check_shape(name, item, shape[0], sizes, view or str(i))
    elif isinstance(shape, Mapping):
        check_shapes(part, shape, sizes)
    elif shape is not None:
        _check_array(name, part, shape.split(), sizes, view)


def _check_array(
    name: str, part: Any, words: list[str], sizes: dict[str, int], view: str
) -> None:
    sort = words[0] if words[:1] in (["int"], ["inf"]) else ""  # [] is a number
    axes = words[1:] if sort else words
    kinds = "iu" if sort == "int" else "biuf"
    need(
        (isinstance(part, np.ndarray) or sparse.issparse(part))
        and part.dtype.kind in kinds
        and part.ndim == len(axes),
        f"{name} is no array of {len(axes)} axes",
    )
    for word, length in zip(axes, part.shape, strict=True):
        if word != "_":
            known = sizes.setdefault(word + view * (word in OF_VIEW), length)
            need(known == length, f"{name} has the shape {part.shape}")
    values = part.data if sparse.issparse(part) else part
    finite = np.isfinite(values) if sort != "inf" else ~np.isnan(values)
    need(bool(finite.all()), f"{name} is not finite")
