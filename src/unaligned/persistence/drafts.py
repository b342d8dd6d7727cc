"""What is written in a private folder until it is whole.

The folder lies beside what is to be written. A file in it says who made it and for
what, and is locked for as long as somebody writes there. A folder that nobody holds was
left behind by a kill. Only a folder that says it is ours is ever removed: a name proves
nothing.
"""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from unaligned.plain_files import check_plain

try:
    import fcntl
except ImportError:  # Windows, where what a kill leaves behind stays
    fcntl = None  # type: ignore[assignment]

__all__ = ["Draft", "abandoned_drafts", "begin_draft", "remove_abandoned", "whole_file"]

NAME = re.compile(r"\.unaligned-[0-9a-f]{16}\.part")
MAKER = "maker.txt"


class Draft(NamedTuple):
    """A private folder that this process holds."""

    folder: Path
    lock: int

    def remove(self) -> None:
        """Remove the folder and what is in it, the proof that it is ours last."""
        with suppress(OSError):
            for path in self.folder.iterdir():
                if path.name != MAKER:
                    is_folder = path.is_dir() and not path.is_symlink()
                    shutil.rmtree(path) if is_folder else path.unlink()
        if fcntl is None:  # Windows, which removes no file that is open
            os.close(self.lock)
        with suppress(OSError):
            if os.listdir(self.folder) == [
                MAKER
            ]:  # else something could not be removed
                (self.folder / MAKER).unlink()
                self.folder.rmdir()
        if fcntl is not None:  # not before: who waits for the lock must see it gone
            os.close(self.lock)


def begin_draft(place: Path, target: Path) -> Draft:
    """Make a private folder in a place, to draft in it what will be ``target``."""
    while True:
        folder = place / f".unaligned-{secrets.token_hex(8)}.part"
        folder.mkdir(mode=0o700)
        try:
            lock = os.open(folder / MAKER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:  # somebody took the empty folder for abandoned
            continue
        os.write(lock, _proof(folder, target))
        if fcntl is not None:
            with suppress(OSError):  # a disk that knows no locks
                fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / MAKER).exists():
            return Draft(folder, lock)
        os.close(lock)  # before it was locked, somebody took it for abandoned


def abandoned_drafts(place: Path, target: Path) -> Iterator[Draft]:
    """Take over drafts of ``target`` whose writers were killed."""
    with suppress(OSError):  # a folder that must not be listed
        for folder in [path for path in place.iterdir() if NAME.fullmatch(path.name)]:
            with suppress(OSError):  # another command removes it, too
                if (draft := _take_over(folder, target)) is not None:
                    yield draft


def _take_over(folder: Path, target: Path) -> Draft | None:
    """Hold a private folder, if it is ours and nobody else holds it."""
    if folder.is_symlink() or not folder.is_dir():
        return None
    held = os.listdir(folder)
    if not held:  # killed before it could say whose it is
        folder.rmdir()
        return None
    if not stat.S_ISREG((folder / MAKER).lstat().st_mode):
        return None
    lock = os.open(folder / MAKER, os.O_RDWR)
    proof = _proof(folder, target)
    said = os.read(lock, len(proof) + 1)
    ours = said == proof or (said == b"" and held == [MAKER])
    if ours and _lock(lock):
        return Draft(folder, lock)
    os.close(lock)
    return None


def _proof(folder: Path, target: Path) -> bytes:
    """Text that says whose draft a folder is, the same wherever the place is moved."""
    name = os.path.relpath(target.absolute(), folder.absolute().parent)
    return b"%s: unaligned drafts %s here\n" % tuple(
        map(os.fsencode, (folder.name, name))
    )


def _lock(file: int) -> bool:
    """Lock a file; tell whether nobody else holds it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody holds it, or this disk knows no locks
        return False
    return True


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once it is complete.

    It is written in a private folder beside ``path``. Where anything goes wrong it
    disappears, and what was at ``path`` before is still there. Only a kill leaves it
    behind, and then the next writer to ``path`` removes it.
    """
    path = Path(path)
    check_plain(path)
    remove_abandoned(path)
    draft = begin_draft(path.absolute().parent, path)
    try:
        with open(draft.folder / "file", "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft.folder / "file", path)
    finally:
        draft.remove()


def remove_abandoned(path: Path) -> None:
    """Remove what writers to the file ``path`` that were killed left beside it."""
    for draft in abandoned_drafts(path.absolute().parent, path):
        draft.remove()
