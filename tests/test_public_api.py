"""Names people rely on, and what importing them costs."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import unaligned

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(unaligned.__path__, "unaligned.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["unaligned", *MODULES])
def test_everything_exported_exists(name):
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), f"{name} has no {public}"


def test_exports_are_sorted_and_documented():
    for module in (
        unaligned,
        unaligned.baselines,
        unaligned.datasets,
        unaligned.metrics,
        unaligned.selection,
    ):
        assert list(module.__all__) == sorted(module.__all__)
        for name in module.__all__:
            assert name == "__version__" or getattr(module, name).__doc__


def test_importing_brings_no_heavy_library():
    heavy = ["torch", "dask", "matplotlib", "numba", "ot", "jinja2", "h5py", "mudata"]
    heavy += ["anndata", "pooch", "requests", "zarr", "unaligned.benchmark"]
    code = f"import sys, unaligned; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [n for n in MODULES if ".kernels" in n])
def test_kernels_know_nothing_of_the_house(name):
    # Read from the source: imports inside functions count too.
    source = Path(importlib.import_module(name).__file__).read_text(encoding="utf-8")
    ours = [
        line
        for line in source.splitlines()
        if "import" in line and "unaligned." in line
    ]
    assert all("unaligned.kernels" in line for line in ours)
    assert "sklearn" not in source
