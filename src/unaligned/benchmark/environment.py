"""What a measurement was made on: machine and versions."""

import hashlib
import json
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from unaligned._version import __version__

__all__ = [
    "describe_environment",
    "environment_name",
    "load_average",
    "physical_bytes",
]

PACKAGES = ["numpy", "scipy", "scikit-learn", "numba", "POT", "torch"]


@cache
def describe_environment() -> dict[str, Any]:
    """Machine and versions of this process."""
    blas = {
        f"{pool['internal_api']} {pool['version']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    memory = physical_bytes()
    return {
        "unaligned": __version__,
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := _version(name))},
        "blas": ", ".join(sorted(blas)),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": memory and round(memory / 2**30),
    }


def environment_name(environment: dict[str, Any]) -> str:
    """Short name of an environment, the same for the same description."""
    content = json.dumps(environment, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:8]


def load_average() -> float | None:
    """Count who wanted to run in the last minute; None where nothing tells."""
    try:
        return round(os.getloadavg()[0], 1)
    except (AttributeError, OSError):
        return None


def physical_bytes() -> int | None:
    """Memory of the machine; None where nothing tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor()
