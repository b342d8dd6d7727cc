"""How much memory is left, for those who are about to take a lot of it."""

import os
from math import inf
from pathlib import Path

__all__ = ["available_bytes"]


def available_bytes() -> float:
    """Memory this process can still take, or infinity where nothing tells.

    That is the least of what the machine has free and of what each Linux control group
    around the process (a container, a batch job) still allows.
    """
    free = [_machine_bytes()]
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):  # version 2, version 1
            root = Path("/sys/fs/cgroup", controllers)
            group = root / path.lstrip("/")
            # Up to the root, which is where a container finds its own group.
            free += map(_group_bytes, [group, *group.parents][: -len(root.parents)])
    return min(free)


def _machine_bytes() -> float:
    """Free memory of the machine."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows and macOS do not tell
        return inf


def _group_bytes(folder: Path) -> float:
    """Memory that a control group still allows, infinity where it sets no limit."""
    limit = _lines(folder / "memory.max") + _lines(folder / "memory.limit_in_bytes")
    used = _lines(folder / "memory.current") + _lines(folder / "memory.usage_in_bytes")
    if not limit or not used or limit[0] == "max":
        return inf
    # The cache of files counts as used, but is given up when memory is short.
    caches = dict(line.split() for line in _lines(folder / "memory.stat"))
    return float(limit[0]) - float(used[0]) + float(caches.get("inactive_file", 0))


def _lines(path: str | Path) -> list[str]:
    """Lines of a file, none where there is no such file."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
