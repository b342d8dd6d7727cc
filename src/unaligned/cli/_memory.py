"""Recognise errors that come from too little memory."""

from typing import Any

try:
    import resource
except ImportError:  # Windows sets no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["complain_of_no_room", "complain_of_no_start", "memory_complaint"]

# Bytes of addresses that commands take on the smallest files: 580 MB with all libraries
# (OpenBLAS looks for room without end where there is none), and 240 MB more to compile
# loops (LLVM ends the process).
ROOM_FOR_LIBRARIES, ROOM_TO_COMPILE = 550e6, 300e6

# How libraries are refused that find no room, by the linker and by those who hide that.
NO_ROOM = (
    "failed to map segment",
    "annot allocate memory",
    "Could not find/load shared object",
)


def memory_complaint(error: BaseException) -> str | None:
    """Message on too little memory, if that is the cause of an error.

    Parameters
    ----------
    error : exception

    Returns
    -------
    str or None
        None if it is something else.
    """
    if type(error) is MemoryError and str(error):  # NumPy has a type of its own
        return str(error)
    no_room = isinstance(error, ImportError | OSError) and any(
        words in str(error) for words in NO_ROOM
    )
    if not (isinstance(error, MemoryError) or no_room):
        return None
    limit = _limit()
    if limit is not None:
        return _limited_to(limit)
    return (
        "There is not enough memory; take fewer rows or columns, or a machine with "
        "more."
    )


def complain_of_no_start() -> None:
    """Refuse to start if a limit is below what the libraries need."""
    limit = _limit()
    if limit is not None and limit < ROOM_FOR_LIBRARIES:
        raise MemoryError(_limited_to(limit))


def complain_of_no_room() -> None:
    """Refuse to go on if a limit leaves too little memory to compile loops."""
    from unaligned.kernels.memory import available_bytes

    limit = _limit()
    if limit is not None and available_bytes() < ROOM_TO_COMPILE:
        raise MemoryError(_limited_to(limit))


def _limited_to(limit: float) -> str:
    return (
        f"There is not enough memory: this process may take {limit / 1e6:,.0f} MB "
        "(ulimit -v). Raise the limit, or take fewer rows or columns."
    )


def _limit() -> Any:
    """Bytes that this process may take, if there is a limit."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit
