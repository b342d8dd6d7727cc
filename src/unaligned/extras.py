"""Packages that are not always installed, imported when they are needed."""

from importlib import import_module
from typing import Any

__all__ = ["import_extra"]


def import_extra(package: str, extra: str, what: str) -> Any:
    """Import a package, or say what needs it and which extra brings it.

    Examples
    --------
    >>> import_extra("nothing", "io", "This")
    Traceback (most recent call last):
    ImportError: This needs nothing. Install it with `pip install unaligned[io]`.
    """
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(
            f"{what} needs {package.partition('.')[0]}. Install it with "
            f"`pip install unaligned[{extra}]`."
        ) from None
