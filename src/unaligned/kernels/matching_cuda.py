"""The greedy matching on a GPU: the literal answer, as on the CPU.

`matching.cu` explains how; here is who launches what, and when.
"""

from functools import lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any

from unaligned.kernels.nvrtc import CudaModule

__all__ = ["match_in_turn"]

# The best on an H200. Longer lists last for more rows, but take longer to keep sorted.
BLOCK_ROWS = 1024
KEPT = 128
ROWS_PER_WARP = 1
WARPS = 8
RESOLVING_THREADS = 256

_one_at_a_time = Lock()


def match_in_turn(rows: Any, columns: Any, module: Any = None) -> Any:
    """Give each row, as they come, the free column with the largest inner product.

    Parameters
    ----------
    rows, columns : tensor of shape (n, m) and (n_columns, m), n_columns ≥ n
        On one GPU, of the same dtype, float32 or float64; finite.
    module : object, optional
        What launches the kernels: a `CudaModule`, or a stand-in for tests.

    Returns
    -------
    tensor of shape (n,)
        The column of each row; among equal ones the smallest, as on the CPU.
    """
    import torch

    (n_rows, m), n_columns = rows.shape, len(columns)
    module = module or _compiled(str(rows.dtype).removeprefix("torch."))
    integers = {"dtype": torch.int32, "device": rows.device}
    n_words = (n_columns + 31) // 32
    taken = torch.zeros(n_words, **integers)
    n_done = torch.zeros(1, **integers)
    lists = torch.empty((BLOCK_ROWS, KEPT), **integers)
    column_of_row = torch.empty(n_rows, **integers)
    rows = rows.contiguous()
    copied = n_words if 4 * n_words <= module.shared_bytes else 0
    resolve = module.launcher(
        "resolve",
        *(lists, taken, n_done, column_of_row, n_rows, n_words, copied),
        blocks=1,
        threads=RESOLVING_THREADS,
        shared_bytes=4 * copied,
    )
    done, names = 0, torch.arange(n_columns, **integers)
    while done < n_rows:
        packed = columns[names.long()].T.contiguous()
        shortlist = module.launcher(
            "shortlist",
            *(rows, packed, names, taken, n_done, lists, n_rows, len(names), m),
            blocks=BLOCK_ROWS // (WARPS * ROWS_PER_WARP),
            threads=32 * WARPS,
            shared_bytes=WARPS * _bytes_per_warp(m),
        )
        # Until a third of what is packed is taken. As many rounds as that needs at
        # least are launched without waiting to see how far each of them gets.
        goal = min(n_rows, done + (len(names) + 2) // 3)
        while done < goal:
            for _ in range(0, goal - done, BLOCK_ROWS):
                shortlist()
                resolve()
            before, done = done, int(n_done)
            if done == before:
                raise ValueError("rows and columns and their products must be finite.")
        names = names[(taken[(names >> 5).long()] >> (names & 31)) & 1 == 0]
    return column_of_row.long()


def _bytes_per_warp(m: int) -> int:
    """Shared memory of a warp of ``shortlist``."""
    doubles, integers = ROWS_PER_WARP * (2 * KEPT + m), ROWS_PER_WARP * 2 * KEPT + m
    return 8 * doubles + 4 * integers


def source() -> str:
    """Return the kernels in CUDA C."""
    return (files("unaligned.kernels") / "matching.cu").read_text(encoding="utf-8")


def definitions(scalar: str) -> dict[str, Any]:
    """Return the macros that the kernels are compiled with."""
    return {
        "SCALAR": {"float32": "float", "float64": "double"}[scalar],
        "KEPT": KEPT,
        "WARPS": WARPS,
        "ROWS_PER_WARP": ROWS_PER_WARP,
        "BLOCK_ROWS": BLOCK_ROWS,
    }


def _compiled(scalar: str) -> CudaModule:
    with _one_at_a_time:  # a view may have a thread of its own
        return _compiled_once(scalar)


@lru_cache
def _compiled_once(scalar: str) -> CudaModule:
    return CudaModule(source(), definitions(scalar))
