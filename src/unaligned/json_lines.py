"""Files of records, a JSON line each, that a killed process leaves readable."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from unaligned.plain_files import check_plain

__all__ = ["append_record", "read_records"]


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add a record, on a line of its own even after a torn one."""
    check_plain(path)
    line = (json.dumps(record, ensure_ascii=False) + "\n").encode()
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        if os.lseek(file, 0, os.SEEK_END):
            os.lseek(file, -1, os.SEEK_END)
            if os.read(file, 1) != b"\n":
                line = b"\n" + line
        os.write(file, line)
        os.fsync(file)
    finally:
        os.close(file)


def read_records(path: Path) -> Iterator[Any]:
    """Give the values of all lines that are JSON; others were torn, or are not ours."""
    check_plain(path)
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        with suppress(ValueError, RecursionError):
            yield json.loads(line)
