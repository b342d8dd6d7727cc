"""The methods of `unaligned.kernels.devices.Cores` on a GPU, with torch.

Independent pieces of work run side by side in a stream each.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from unaligned.kernels.devices import Cores, Steps
from unaligned.kernels.recording import Recordings

__all__ = ["HostRows", "SparseRows", "Torch"]

Result = TypeVar("Result")

SHARE_FOR_VIEWS = 0.75  # of a GPU's free memory; what is computed needs some, too


class Torch(Cores):
    """A GPU, with torch.

    Parameters
    ----------
    name : {"cuda", "cpu"}, default="cuda"
        ``"cpu"`` does the same without a GPU, for tests.
    record : bool, default=True
        Whether a GPU records what it is to do again and again (`repeat`).

    Raises
    ------
    ImportError
        If torch is not installed.
    RuntimeError
        If torch finds no GPU.
    """

    def __init__(self, name: str = "cuda", record: bool = True) -> None:
        self._torch = _import_torch()
        self._on_gpu = name != "cpu"
        if self._on_gpu and not self._torch.cuda.is_available():
            raise RuntimeError(
                f'device="{name}" needs a GPU, and torch {self._torch.__version__} '
                "finds none. Leave device=None to compute on the CPU. If there is a "
                "GPU, its driver is missing or this torch was built without CUDA."
            )
        super().__init__()
        self.device = self._torch.device(name)
        self._room = SHARE_FOR_VIEWS * self._free_bytes()
        self._streams: list[Any] = []
        self._recordings = (
            Recordings(self._torch.cuda) if record and self._on_gpu else None
        )

    def put(self, array: Any) -> Any:
        """Copy a NumPy array to the device."""
        array = np.ascontiguousarray(array)
        return self._torch.asarray(array, device=self.device, copy=True)

    def put_view(self, X: Any) -> Any:
        """Copy a matrix to the device if it fits; otherwise its blocks, when needed."""
        taken = _stored_bytes(X)
        if taken > self._room:
            return HostRows(X, self)
        self._room -= taken
        return SparseRows(X, self) if sparse.issparse(X) else self.put(X)

    def each(
        self, function: Callable[..., Result], *arguments: Sequence[Any]
    ) -> list[Result]:
        """Do what the built-in ``map`` does.

        One thread launches the kernels of all pieces faster than several that take
        turns.
        """
        if not self._on_gpu:
            return super().each(function, *arguments)
        return list(map(function, *arguments))

    def interleave(
        self, function: Callable[..., Steps[Result]], *arguments: Sequence[Any]
    ) -> list[Result]:
        """Do what `each` does, each piece in a stream of its own.

        While one of them waits for the device, the others take their next step.
        """
        if not self._on_gpu:
            return super().interleave(function, *arguments)
        cuda = self._torch.cuda
        while len(self._streams) < len(arguments[0]):
            self._streams.append(cuda.Stream())
        main = cuda.current_stream()
        results: dict[int, Result] = {}
        pieces = [*zip(self._streams, map(function, *arguments), strict=False)]
        # What a stream frees, it may use again before the others are done with it.
        # They are: it waits for them here, and they for it below.
        for stream, _ in pieces:
            stream.wait_stream(main)
        while len(results) < len(pieces):
            for i, (stream, steps) in enumerate(pieces):
                if i not in results:
                    with cuda.stream(stream):
                        try:
                            next(steps)
                        except StopIteration as end:
                            results[i] = end.value
        for stream, _ in pieces:
            main.wait_stream(stream)
        return [results[i] for i in range(len(pieces))]

    def repeat(
        self, name: Hashable, function: Callable[..., Result], *arguments: Any
    ) -> Result:
        """Call a function; if they are recorded, launch all later ones as a whole."""
        if self._recordings is None:
            return super().repeat(name, function, *arguments)
        result: Result = self._recordings.call(name, function, *arguments)
        return result

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hold BLAS to one thread, and explain when the GPU has run out of memory.

        Raises
        ------
        MemoryError
            With figures and a way out.
        """
        try:
            with super().busy():
                yield
        except self._torch.cuda.OutOfMemoryError as error:
            total = self._torch.cuda.get_device_properties(self.device).total_memory
            raise MemoryError(
                f"The GPU has {total / 1e9:,.1f} GB, of which "
                f"{self._free_bytes() / 1e9:,.1f} GB are free, and that is too little: "
                f"{str(error).partition('. GPU')[0]}. Lower n_anchors, pass float32 "
                "views, end other programs on the GPU, or leave device=None to compute "
                "on the CPU. Views that do not fit are no reason: they stay on the "
                "host and are copied block by block."
            ) from error

    def _free_bytes(self) -> float:
        if not self._on_gpu:
            return np.inf
        cuda = self._torch.cuda
        # What torch holds in reserve looks taken from outside, but can be used again.
        reserve = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        return float(cuda.mem_get_info(self.device)[0] + reserve)


class HostRows:
    """A matrix that stays on the host; what is asked of it comes to the device."""

    def __init__(self, X: Any, device: Torch) -> None:
        self.shape, self.device = X.shape, device.device
        self.dtype = device.put(np.empty(0, X.dtype)).dtype
        self._matrix, self._put = X, device.put

    def __getitem__(self, rows: slice) -> Any:
        """Dense rows on the device."""
        block = self._matrix[rows]
        return self._put(block.toarray() if sparse.issparse(block) else block)


class SparseRows:
    """A CSR matrix on the device; what is asked of it becomes dense.

    GPUs are so much better at dense matrices that a block is filled with its zeros
    sooner than multiplied without them. The whole matrix stays sparse.
    """

    def __init__(self, X: Any, device: Torch) -> None:
        self.shape, self.device = X.shape, device.device
        self._starts = X.indptr
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        self._rows = device.put(rows.astype(np.int64))
        self._columns = device.put(X.indices.astype(np.int64))
        self._values = device.put(X.data)
        self.dtype = self._values.dtype

    def __getitem__(self, rows: slice) -> Any:
        """Dense rows on the device."""
        stored = slice(int(self._starts[rows.start]), int(self._starts[rows.stop]))
        block = self._values.new_zeros((rows.stop - rows.start, self.shape[1]))
        at = self._rows[stored] - rows.start, self._columns[stored]
        return block.index_put_(at, self._values[stored], accumulate=True)


def _stored_bytes(X: Any) -> int:
    """Memory that a matrix takes on the device."""
    if sparse.issparse(X):
        return int(X.nnz * (X.dtype.itemsize + 16))
    return int(X.nbytes)


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(
            'device="cuda" needs torch. Install it with `pip install unaligned[gpu]`, '
            "or leave device=None to compute on the CPU."
        ) from None
    return torch
