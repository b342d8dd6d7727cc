"""How much memory is left, for those who are about to take a lot of it."""

import os
from math import inf
from pathlib import Path
from typing import Any

from scipy import sparse

try:
    import resource
except ImportError:  # Windows sets no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["ask_for_memory", "available_bytes", "bytes_of", "in_bytes"]


def ask_for_memory(who: str, needed: float, n_rows: list[int], ways_out: str) -> None:
    """Refuse work on views of so many rows where less is free than it needs."""
    free = available_bytes()
    if needed > free:
        raise MemoryError(
            f"{who} needs about {in_bytes(needed)} for {len(n_rows)} views of "
            f"{max(n_rows):,} rows, beside the views themselves, and {in_bytes(free)} "
            f"are free. {ways_out}"
        )


def available_bytes() -> float:
    """Memory this process can still take, or infinity where nothing tells.

    That is the least of what the machine has free, of what the limits of the process
    allow (``ulimit -v`` and ``-d``), and of what each Linux control group around it (a
    container, a batch job) still allows.
    """
    free = [_machine_bytes(), *_limit_bytes()]
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


def _limit_bytes() -> list[float]:
    """Bytes that the limits of this process, where there are any, still allow."""
    if resource is None:
        return []
    pages = [int(field) for field in " ".join(_lines("/proc/self/statm")).split()]
    page = os.sysconf("SC_PAGE_SIZE")
    size, data = (page * pages[at] if pages else 0 for at in (0, 5))
    used = {resource.RLIMIT_AS: size, resource.RLIMIT_DATA: data}
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    return [
        float(max(limits[kind] - used[kind], 0))
        for kind in used
        if limits[kind] != resource.RLIM_INFINITY
    ]


def _group_bytes(folder: Path) -> float:
    """Memory that a control group still allows, infinity where it sets no limit."""
    limit = _lines(folder / "memory.max") + _lines(folder / "memory.limit_in_bytes")
    used = _lines(folder / "memory.current") + _lines(folder / "memory.usage_in_bytes")
    if not limit or not used or limit[0] == "max":
        return inf
    # The cache of files counts as used, but is given up when memory is short.
    caches = dict(line.split() for line in _lines(folder / "memory.stat"))
    return float(limit[0]) - float(used[0]) + float(caches.get("inactive_file", 0))


def bytes_of(X: Any) -> int:
    """Memory of a matrix, dense or sparse."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(int(part.nbytes) for part in parts)


def in_bytes(amount: float) -> str:
    """Tell an amount of memory in three digits.

    Examples
    --------
    >>> in_bytes(123.4e6), in_bytes(2.5e9), in_bytes(12.34e12)
    ('123 MB', '2.5 GB', '12,340 GB')
    """
    if amount < 0.9995e9:
        return f"{amount / 1e6:.3g} MB"
    return f"{amount / 1e9:,.0f} GB" if amount >= 1e11 else f"{amount / 1e9:.3g} GB"


def _lines(path: str | Path) -> list[str]:
    """Lines of a file, none where there is no such file."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
