"""From any table to a view: a matrix of numbers, and notes on what was done."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unaligned.preparation.notes import ColumnNote, Prepared
    from unaligned.preparation.steps import prepare

__all__ = ["ColumnNote", "Prepared", "prepare"]

_HOMES = {"ColumnNote": "notes", "Prepared": "notes", "prepare": "steps"}


def __getattr__(name: str) -> Any:
    # Imported on first use: the commands read the options without scikit-learn.
    if name in _HOMES:
        return getattr(import_module(f"unaligned.preparation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'unaligned.preparation' has no attribute {name!r}")
