"""What needs an extra is neither imported nor run where that is not installed."""

from importlib.util import find_spec

collect_ignore = []
if not find_spec("dask"):  # examples that make dask arrays
    collect_ignore += [
        f"src/unaligned/distributed/{name}.py" for name in ("aligning", "savuc")
    ]
if not find_spec("torch"):
    collect_ignore += ["tests/kernels/tape.py"]
