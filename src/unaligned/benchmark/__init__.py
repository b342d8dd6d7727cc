"""The paper's evaluation: its published tables as data, and all that runs it again."""

import json
from importlib.resources import files
from typing import Any

__all__ = ["published_tables"]


def published_tables() -> dict[str, Any]:
    """Read the tables and settings that the paper PAVuC-ATS publishes.

    Returns
    -------
    dict
        ``table4_fully_unaligned``, ``table5_two_views``, ``table6_ablation``,
        ``table7_seconds``, ``table3_datasets`` and ``settings``; scores in percent.

    Examples
    --------
    >>> published_tables()["table4_fully_unaligned"]["PAVuC-ATS"]["Wiki"]["ACC"]
    53.41
    """
    text = files("unaligned.benchmark").joinpath("published.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables
