"""What lies at a path: a file, or something that is no file and may never end."""

import os
import stat
from pathlib import Path

__all__ = ["check_plain"]

KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_plain(path: str | os.PathLike[str]) -> None:
    """Complain about pipes, sockets and devices: reading one can take for ever.

    Whatever else is there, or that nothing is, is left to whoever opens it.
    """
    try:
        kind = KINDS.get(stat.S_IFMT(Path(path).stat().st_mode))
    except (OSError, ValueError):
        return
    if kind is not None:
        raise ValueError(f"{path} is {kind}, not a file. Name a file instead.")
