"""The greedy matching on a GPU: the literal answer, as on the CPU.

`matching.cu` explains how; here is who launches what, and when.
"""

from typing import Any

from unaligned.kernels.devices import Steps
from unaligned.kernels.nvrtc import CudaModule, compiled
from unaligned.kernels.recording import holds, is_recording

__all__ = ["match_in_turn"]

BLOCK_ROWS = 1024  # that get their lists before one of them chooses
WARPS = 8  # that look for the best columns of a row; each finds 32 of them
# From so many coordinates on, fewer rows of a block want the same columns, and half as
# many warps will do: lists of rows that were simulated were used up no more often.
MANY_COORDINATES = 64
RESOLVING_THREADS = 512
PREPARING_THREADS = 128
PACKING_THREADS = 1024
SPARE_ROUNDS = 3  # cost little where all rows have chosen
# Launched before others get their turn: where a thousand launches wait, the next one
# blocks, and matchings of other views would begin when this one ends.
ROUNDS_AT_ONCE = 128
WORTH_PACKING = 0.5  # share of the columns that may be taken, and are passed over


def match_in_turn(
    rows: Any, columns: Any, module: CudaModule | None = None
) -> Steps[Any]:
    """Give each row, as they come, the free column with the largest inner product.

    Yields when some rounds are launched, for others to launch theirs.

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
    if module is None:
        macros = definitions(rows.shape[1])
        module = compiled("matching.cu", str(rows.dtype), **macros)
    matching, done = _Matching(rows, columns, module), 0
    while done < len(rows):
        yield from matching.launch_rounds(done)
        yield
        if holds(matching.progress[0] == len(rows)):
            break
        before, done = done, int(matching.progress[0])
        if done == before:
            raise ValueError("rows and columns and their products must be finite.")
    return matching.column_of_row.long()


class _Matching:
    """What the kernels of one matching work on, and how they are launched."""

    def __init__(self, rows: Any, columns: Any, module: CudaModule) -> None:
        import torch

        (self.n_rows, m), self.n_columns = rows.shape, len(columns)
        warps = definitions(m)["WARPS"]
        n_packed = -(-self.n_columns // 32) * 32
        n_places = -(-n_packed // 32 // warps) * warps
        integers = {"dtype": torch.int32, "device": rows.device}
        self.progress = torch.empty(2, **integers)
        self.names, self.positions = torch.empty((2, n_packed), **integers)
        self.firsts = torch.empty(n_places, **integers)
        self.taken = torch.empty(n_packed // 32 + 1, **integers)  # a bit per column
        self.lists = torch.empty((BLOCK_ROWS, 32 * warps), **integers)
        # A recording goes on with what is there, be the matching done or not.
        self.column_of_row = torch.zeros(self.n_rows, **integers)
        self.rows, columns = rows.contiguous(), columns.contiguous()
        self.packed = columns.new_empty((m, n_packed))
        self.largest = columns.new_empty((m, n_places))
        order = _like_by_like(columns, warps)
        module.launcher(
            "prepare",
            *(columns, order, self.packed, self.taken, self.names, self.progress),
            *(self.n_columns, n_packed, m),
            blocks=n_packed // PREPARING_THREADS + 1,
            threads=PREPARING_THREADS,
        )()

        self.shortlist = module.launcher(
            "shortlist",
            *(self.rows, self.packed, self.largest, self.firsts, self.taken),
            *(self.names, self.positions, self.progress, self.lists),
            *(self.n_rows, n_packed, n_places, m),
            blocks=BLOCK_ROWS,
            threads=32 * warps,
            shared_bytes=12 * (m + 64 * warps) + 4,
        )
        ahead = 4 * 65 * 32  # bytes of what `resolve` looks ahead
        room = max(0, min(4 * len(self.taken), module.shared_bytes - ahead))
        self.resolve = module.launcher(
            "resolve",
            *(self.lists, self.taken, self.names, self.progress, self.column_of_row),
            *(self.n_rows, room // 4),
            blocks=1,
            threads=RESOLVING_THREADS,
            shared_bytes=ahead + room,
        )
        packing = {"threads": PACKING_THREADS, "shared_bytes": PACKING_THREADS // 8}
        self.pack = module.launcher(
            "pack",
            *(self.packed, self.largest, self.taken, self.progress),
            *(n_packed, n_places),
            blocks=m,
            **packing,
        )
        self.relabel = module.launcher(
            "relabel",
            *(self.names, self.positions, self.firsts, self.taken, self.progress),
            n_packed,
            blocks=1,
            **packing,
        )
        self.pack()
        self.relabel()

    def launch_rounds(self, done: int) -> Steps[None]:
        """Launch as many rounds as the other rows need, and some for used-up lists.

        While they are recorded, nobody can launch more later: twice as many. At sizes
        of the paper's sets, up to 1.5 times as many were needed.
        """
        since_packed = 0
        last = self.n_rows * (2 if is_recording() else 1) + SPARE_ROUNDS * BLOCK_ROWS
        for n_launched, start in enumerate(range(done, last, BLOCK_ROWS), start=1):
            self.shortlist()
            self.resolve()
            since_packed += BLOCK_ROWS
            if since_packed > WORTH_PACKING * (self.n_columns - start) > 0:
                self.pack()
                self.relabel()
                since_packed = 0
            if n_launched % ROUNDS_AT_ONCE == 0:
                yield


def _like_by_like(columns: Any, warps: int) -> Any:
    """Return an order of the columns: by their largest coordinate, falling in it.

    Any order gives the same answer. In this one, a run of columns promises little more
    than it holds. Like columns are dealt out to the warps in turn, so that the best do
    not all fall to the same one, which keeps but 32.
    """
    import torch

    top, where = columns.max(dim=1)
    order = (where - top / (2 * top.abs().max())).argsort(stable=True)
    dealt = len(order) // (32 * warps) * 32 * warps
    hands = order[:dealt].reshape(-1, 32, warps).mT.reshape(-1)
    return torch.cat([hands, order[dealt:]])


def definitions(m: int) -> dict[str, int]:
    """Return the macros that the kernels are compiled with, for m coordinates."""
    warps = WARPS if m < MANY_COORDINATES else WARPS // 2
    return {"WARPS": warps, "BLOCK_ROWS": BLOCK_ROWS}
