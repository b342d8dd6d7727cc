"""Results of a search on disk, one JSON line each, for the search to go on from."""

import os
from contextlib import suppress
from pathlib import Path

from unaligned.json_lines import append_record, read_records

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
        if self.path is None:
            return {}
        results = {}
        for result in read_records(self.path):
            with suppress(ValueError, TypeError, KeyError):
                worth = {name: float(result[name]) for name in ("score", "seconds")}
                results[str(result["key"])] = worth
        return results

    def append(self, key: str, setting: str, score: float, seconds: float) -> None:
        """Add a result."""
        if self.path is not None:
            result = {"key": key, "setting": setting}
            append_record(self.path, result | {"score": score, "seconds": seconds})
