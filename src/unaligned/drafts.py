"""What is written under another name until it is whole.

A draft lies beside what it is to become, and is locked for as long as somebody writes
it: one that nobody holds was left behind by a kill.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["claim", "draft_name", "remove_abandoned", "whole_file"]


def draft_name(path: Path) -> str:
    """Name for a draft that nobody else has, and by which it is known later."""
    return f".{path.absolute().name}.{secrets.token_hex(4)}.part"


@contextmanager
def claim(draft: Path) -> Iterator[bool]:
    """Hold a draft for as long as this process lives; tell whether nobody else does."""
    if fcntl is None:
        yield False
        return
    # Some disks lock files only for those who may write to them.
    mode = os.O_RDONLY if draft.is_dir() else os.O_RDWR
    file, ours = os.open(draft, mode), True
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody else holds it, or this disk knows no locks
            ours = False
        yield ours
    finally:
        os.close(file)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once it is complete.

    It is written beside ``path`` under another name. Where anything goes wrong it
    disappears, and what was at ``path`` before is still there. Only a kill leaves it
    behind, and then the next writer to ``path`` removes it.
    """
    path = Path(path)
    remove_abandoned(path)
    beside, file = _open_beside(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _open_beside(path: Path) -> tuple[Path, BinaryIO]:
    """Open a new file beside a path, locked for as long as somebody writes to it."""
    while True:
        beside = path.with_name(draft_name(path))
        file = open(beside, "xb")  # noqa: SIM115  it is the caller's
        if fcntl is not None:
            with suppress(OSError):  # a disk that knows no locks
                fcntl.flock(file, fcntl.LOCK_EX)
        if beside.exists():
            return beside, file
        file.close()  # before it was locked, somebody took it for abandoned


def remove_abandoned(path: Path) -> None:
    """Remove what writers to the file ``path`` that were killed left beside it."""
    with suppress(OSError):  # a folder that must not be listed
        for beside in path.absolute().parent.iterdir():
            if beside.name.startswith(f".{path.name}.") and beside.suffix == ".part":
                with suppress(OSError), claim(beside) as abandoned:
                    # Windows, which knows no claim, removes no file that is open.
                    if abandoned or fcntl is None:
                        beside.unlink()
