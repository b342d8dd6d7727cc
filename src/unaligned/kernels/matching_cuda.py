"""The greedy matching on a GPU: the literal answer, as on the CPU.

`matching.cu` explains how; here is who launches what, and when.
"""

from functools import lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any

from unaligned.kernels.nvrtc import CudaModule

__all__ = ["match_in_turn"]

BLOCK_ROWS = 1024  # that get their lists before one of them chooses
WARPS = 4  # that look for the best columns of a row; each finds 32 of them
BATCH = 16  # lists in shared memory at a time, from which rows choose
WORTH_PACKING = 4096  # columns; with fewer, leaving out the taken ones takes longer
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
    taken = torch.zeros(n_words + 1, **integers)
    taken[n_words:] = -1  # all bits: `nobody` is taken
    nobody = 32 * n_words
    n_done = torch.zeros(1, **integers)
    lists = torch.empty((BLOCK_ROWS, 32 * WARPS), **integers)
    column_of_row = torch.empty(n_rows, **integers)
    rows = rows.contiguous()
    batches = 8 * BATCH * 32 * WARPS  # bytes of two
    fits = batches + 4 * len(taken) <= module.shared_bytes
    n_copied = len(taken) if fits else 0
    resolve = module.launcher(
        "resolve",
        *(lists, taken, n_done, column_of_row, n_rows, n_copied),
        blocks=1,
        threads=RESOLVING_THREADS,
        shared_bytes=batches + 4 * n_copied,
    )
    done, names = 0, torch.arange(n_columns, **integers)
    while done < n_rows:
        packed = columns[names.long()].T.contiguous()
        shortlist = module.launcher(
            "shortlist",
            *(rows, packed, names, taken, n_done, lists),
            *(n_rows, len(names), m, nobody),
            blocks=BLOCK_ROWS,
            threads=32 * WARPS,
            shared_bytes=12 * (m + 64 * WARPS) + 4,
        )
        # Until half of what is packed is taken. As many rounds as that needs at least
        # are launched without waiting to see how far each of them gets.
        goal = n_rows
        if len(names) > WORTH_PACKING:
            goal = min(n_rows, done + (len(names) + 1) // 2)
        while done < goal:
            for _ in range(0, goal - done, BLOCK_ROWS):
                shortlist()
                resolve()
            before, done = done, int(n_done)
            if done == before:
                raise ValueError("rows and columns and their products must be finite.")
        names = names[(taken[(names >> 5).long()] >> (names & 31)) & 1 == 0]
    return column_of_row.long()


def source() -> str:
    """Return the kernels in CUDA C."""
    return (files("unaligned.kernels") / "matching.cu").read_text(encoding="utf-8")


def definitions(scalar: str) -> dict[str, Any]:
    """Return the macros that the kernels are compiled with."""
    return {
        "SCALAR": {"float32": "float", "float64": "double"}[scalar],
        "WARPS": WARPS,
        "BLOCK_ROWS": BLOCK_ROWS,
        "BATCH": BATCH,
    }


def _compiled(scalar: str) -> CudaModule:
    with _one_at_a_time:  # a view may have a thread of its own
        return _compiled_once(scalar)


@lru_cache
def _compiled_once(scalar: str) -> CudaModule:
    return CudaModule(source(), definitions(scalar))
