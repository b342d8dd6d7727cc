"""What needs an extra is not collected where it is not installed."""

from importlib.util import find_spec

NEEDS = {
    # Their examples make dask arrays.
    "src/unaligned/distributed/aligning.py": "dask",
    "src/unaligned/distributed/savuc.py": "dask",
    "tests/kernels/tape.py": "torch",
}
collect_ignore = [path for path, extra in NEEDS.items() if not find_spec(extra)]
