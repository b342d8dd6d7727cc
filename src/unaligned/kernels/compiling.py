"""Loops compiled by numba, kept on disk where there is a place for them.

On many machines, such as containers and clusters, neither the folder of the library nor
that of the user can be written to, or a disk is full. Loops are then compiled anew in
every process.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core import caching

__all__ = ["compiling"]

NO_PLACE = (
    "Compiled loops cannot be kept on this machine, and every process compiles them "
    "anew, which takes some seconds. Name a folder that can be written to in "
    "the environment variable NUMBA_CACHE_DIR to keep them."
)


@cache
def _say_once() -> None:
    warnings.warn(NO_PLACE, UserWarning, stacklevel=3)


_numba: Any = caching  # which has no annotations


class _Cache(_numba.FunctionCache):
    """Numba's cache of one function; a full disk is no reason to stop."""

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _say_once()


def compiling(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is called, without the lock of the interpreter.

    Parameters
    ----------
    **options
        For numba's ``njit``.

    Returns
    -------
    callable
        Takes the function, and gives the one that is compiled.
    """

    def compile_it(function: Callable[..., Any]) -> Any:
        compiled = njit(nogil=True, **options)(function)
        try:
            compiled._cache = _Cache(function)
        except (OSError, RuntimeError):  # numba finds no folder to write to
            _say_once()
        return compiled

    return compile_it
