"""Payload: the findings as compact JSON for the page's scripts."""

import base64
import json
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.report.findings import Findings, ViewFindings
from unaligned.report.rows import Column
from unaligned.report.verdict import level_of

__all__ = ["pack_array", "to_json"]

FINEST = np.iinfo(np.uint16).max


def to_json(findings: Findings) -> str:
    """Write the findings as JSON that is safe inside an HTML script element.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    str
        Without ``<``, so that nothing in it can end the element or begin a comment.
    """
    payload = {
        "template": findings.template,
        "views": [_view(view) for view in findings.views],
        "columns": [_column(column) for column in findings.columns],
    }
    text = json.dumps(
        payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return text.replace("<", "\\u003c")


def pack_array(array: NDArray[Any]) -> dict[str, str]:
    """Write an array as base64, whole numbers in the narrowest unsigned type.

    Examples
    --------
    >>> import numpy as np
    >>> pack_array(np.array([0, 1, 255]))
    {'type': 'Uint8', 'base64': 'AAH/'}
    """
    if array.dtype.kind == "f":
        dtype, name = np.dtype("<f4"), "Float32"
    else:
        most = int(array.max(initial=0))
        dtype = np.min_scalar_type(most).newbyteorder("<")
        name = f"Uint{8 * dtype.itemsize}"
    data = np.ascontiguousarray(array, dtype=dtype).tobytes()
    return {"type": name, "base64": base64.b64encode(data).decode("ascii")}


def _places(coordinates: NDArray[np.float32]) -> dict[str, Any]:
    # The circle of radius one around the map, in steps of 1/32767 of that radius.
    places = np.rint((coordinates.astype(np.float64) + 1) / 2 * FINEST)
    x, y = places.clip(0, FINEST).astype(np.uint16).T
    return {"x": pack_array(x), "y": pack_array(y)}


def _view(view: ViewFindings) -> dict[str, Any]:
    joint = None if view.joint is None else _places(view.joint)
    return {
        "name": view.name,
        "level": level_of(view),
        "verdict": view.verdict,
        "trust": None if isnan(view.trust) else round(view.trust, 4),
        "sharesClusters": view.shares_clusters,
        **_places(view.coordinates),
        "joint": joint,
        "labels": None if view.labels is None else pack_array(view.labels),
        # Shifted by one: 0 is no partner.
        "partners": pack_array(view.partners + 1),
        "confidence": pack_array(view.confidence.astype(np.float32)),
        "ids": view.ids,
    }


def _column(column: Column) -> dict[str, Any]:
    shift = 0 if column.categories is None else 1
    return {
        "name": column.name,
        "categories": column.categories,
        "values": [
            None if values is None else pack_array(values + shift)
            for values in column.values
        ],
    }
