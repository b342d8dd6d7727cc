"""Peak memory of this process, and a bound on it."""

import sys
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # Windows tells no peak and bounds nothing
    resource = None  # type: ignore[assignment]

__all__ = ["bound_memory", "forget_peak", "memory_bytes", "peak_bytes"]


def forget_peak() -> None:
    """Count the peak from now on, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory_bytes() -> int | None:
    """Memory that is resident now; None where the system does not tell."""
    return _status("VmRSS:")


def peak_bytes() -> int | None:
    """Most memory that was resident at once; None where the system does not tell."""
    peak = _status("VmHWM:")
    if peak is None and resource is not None:
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return peak


def bound_memory(n_bytes: int) -> None:
    """Make this process fail with MemoryError beyond so many bytes, if possible."""
    if resource is not None:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, n_bytes))


def _status(entry: str) -> int | None:
    """Bytes of an entry of Linux's own account of this process."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(entry):
                return 1024 * int(line.split()[1])
    return None
