"""Results of a search on disk, one JSON line each, for the search to go on from."""

import json
import os
from pathlib import Path

__all__ = ["Checkpoint"]


class Checkpoint:
    """A file of results that grows by a line per result.

    Parameters
    ----------
    path : path or None
        None: nothing is kept, and nothing is found.

    Notes
    -----
    A line that was torn when a process died, or that is no result, is passed over, and
    so are results of other searches: what a result belongs to is in its ``key``.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)

    def read(self) -> dict[str, dict[str, float]]:
        """Score and seconds of every result, by its key."""
        if self.path is None or not self.path.exists():
            return {}
        results = {}
        for line in self.path.read_text(
            encoding="utf-8", errors="replace"
        ).splitlines():
            try:
                result = json.loads(line)
                worth = {name: float(result[name]) for name in ("score", "seconds")}
                results[str(result["key"])] = worth
            except (ValueError, TypeError, KeyError):
                continue
        return results

    def append(self, key: str, setting: str, score: float, seconds: float) -> None:
        """Add a result, on a line of its own even after a torn one."""
        if self.path is None:
            return
        result = {"key": key, "setting": setting, "score": score, "seconds": seconds}
        line = json.dumps(result) + "\n"
        with open(self.path, "ab+") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = "\n" + line
            file.write(line.encode())
