"""Examples that need an extra are not run where it is not installed."""

from importlib.util import find_spec

collect_ignore = (
    []
    if find_spec("dask")
    else [
        f"src/unaligned/distributed/{name}.py"
        for name in ("aligning", "savuc")  # their examples make dask arrays
    ]
)
