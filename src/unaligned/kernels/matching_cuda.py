"""The greedy matching on a GPU: the literal answer, as on the CPU.

`matching.cu` explains how; here is who launches what, and when.
"""

from typing import Any

from unaligned.kernels.nvrtc import CudaModule, compiled

__all__ = ["match_in_turn"]

BLOCK_ROWS = 1024  # that get their lists before one of them chooses
WARPS = 8  # that look for the best columns of a row; each finds 32 of them
RESOLVING_THREADS = 512
PACKING_THREADS = 1024
WORTH_PACKING = 0.5  # share of the columns that may be taken, and are passed over


def match_in_turn(rows: Any, columns: Any, module: CudaModule | None = None) -> Any:
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
    module = module or compiled("matching.cu", str(rows.dtype), **definitions())
    rows, packed = rows.contiguous(), _pack(columns)
    n_packed = packed.shape[1]
    integers = {"dtype": torch.int32, "device": rows.device}
    progress = torch.zeros(2, **integers)
    progress[1] = n_packed
    names = torch.arange(n_packed, **integers)
    taken = torch.ones(n_packed + 4, dtype=torch.uint8, device=rows.device)
    taken[:n_columns] = 0
    lists = torch.empty((BLOCK_ROWS, 32 * WARPS), **integers)
    column_of_row = torch.empty(n_rows, **integers)

    shortlist = module.launcher(
        "shortlist",
        *(rows, packed, taken, progress, lists),
        *(n_rows, n_packed, m),
        blocks=BLOCK_ROWS,
        threads=32 * WARPS,
        shared_bytes=12 * (m + 64 * WARPS) + 4,
    )
    ahead = 4 * 65 * 32  # bytes of what `resolve` looks ahead
    room = max(0, min(len(taken), module.shared_bytes - ahead))
    resolve = module.launcher(
        "resolve",
        *(lists, taken, names, progress, column_of_row),
        *(n_rows, room // 4),
        blocks=1,
        threads=RESOLVING_THREADS,
        shared_bytes=ahead + room,
    )
    packing = {"threads": PACKING_THREADS, "shared_bytes": PACKING_THREADS // 8}
    pack = module.launcher(
        "pack", *(packed, taken, progress, n_packed), blocks=m, **packing
    )
    relabel = module.launcher("relabel", *(names, taken, progress), blocks=1, **packing)

    # As many rounds as are needed at least are launched without waiting to see how far
    # each of them gets.
    done = 0
    while done < n_rows:
        since = 0
        for start in range(done, n_rows, BLOCK_ROWS):
            shortlist()
            resolve()
            since += BLOCK_ROWS
            if since > WORTH_PACKING * (n_columns - start):
                pack()
                relabel()
                since = 0
        before, done = done, int(progress[0])
        if done == before:
            raise ValueError("rows and columns and their products must be finite.")
    return column_of_row.long()


def _pack(columns: Any) -> Any:
    """Columns side by side, (m, n), and zeros to a number that is a multiple of 32."""
    n, m = columns.shape
    packed = columns.new_zeros((m, -(-n // 32) * 32))
    packed[:, :n] = columns.T
    return packed


def definitions() -> dict[str, Any]:
    """Return the macros that the kernels are compiled with."""
    return {"WARPS": WARPS, "BLOCK_ROWS": BLOCK_ROWS}
