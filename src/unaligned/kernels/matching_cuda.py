"""The greedy matching on a GPU: the literal answer, as on the CPU.

`matching.cu` explains how; here is who launches what, and when.
"""

from typing import Any

from unaligned.kernels.nvrtc import CudaModule, compiled

__all__ = ["match_in_turn"]

BLOCK_ROWS = 1024  # that get their lists before one of them chooses
WARPS = 8  # that look for the best columns of a row; each finds 32 of them
RESOLVING_THREADS = 512
WORTH_PACKING = 16_384  # columns; with fewer it takes longer than to pass over some


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
    integers = {"dtype": torch.int32, "device": rows.device}
    n_done = torch.zeros(1, **integers)
    lists = torch.empty((BLOCK_ROWS, 32 * WARPS), **integers)
    column_of_row = torch.empty(n_rows, **integers)
    rows = rows.contiguous()
    done, names = 0, torch.arange(n_columns, **integers)
    while done < n_rows:
        packed = _pack(columns if done == 0 else columns[names])
        taken = torch.ones(packed.shape[1] + 4, dtype=torch.uint8, device=rows.device)
        taken[: len(names)] = 0
        shortlist = module.launcher(
            "shortlist",
            *(rows, packed, taken, n_done, lists),
            *(n_rows, packed.shape[1], m),
            blocks=BLOCK_ROWS,
            threads=32 * WARPS,
            shared_bytes=12 * (m + 64 * WARPS) + 4,
        )
        ahead = 4 * 65 * 32  # bytes of what `resolve` looks ahead
        fits = ahead + len(taken) <= module.shared_bytes
        n_copied = len(taken) if fits else 0
        resolve = module.launcher(
            "resolve",
            *(lists, taken, n_done, column_of_row),
            *(n_rows, packed.shape[1], n_copied // 4),
            blocks=1,
            threads=RESOLVING_THREADS,
            shared_bytes=ahead + n_copied,
        )
        # Until half of what is packed is taken. As many rounds as that needs at least
        # are launched without waiting to see how far each of them gets.
        goal = n_rows
        if len(names) > WORTH_PACKING:
            goal = min(n_rows, done + (len(names) + 1) // 2)
        packed_when = done
        while done < goal:
            for _ in range(0, goal - done, BLOCK_ROWS):
                shortlist()
                resolve()
            before, done = done, int(n_done)
            if done == before:
                raise ValueError("rows and columns and their products must be finite.")
        since = column_of_row[packed_when:done]
        since[:] = names[since]
        if done < n_rows:
            names = names[taken[: len(names)] == 0]
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
