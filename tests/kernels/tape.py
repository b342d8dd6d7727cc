"""CUDA graphs without a GPU: calls of torch, written down and made again.

As on a GPU, what is recorded goes on with the very tensors it was recorded with, and
looking at a result, or bringing one from the host, is an error.
"""

from types import SimpleNamespace

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

LOOKING = {
    getattr(torch.Tensor, name)
    for name in ("item", "tolist", "numpy", "cpu", "nonzero", "masked_select")
} | {getattr(torch.Tensor, f"__{name}__") for name in ("bool", "int", "float")}
FROM_HOST = {torch.tensor, torch.asarray, torch.as_tensor, torch.from_numpy}
BY_INDEX = {torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_}
IN_USE = []


class NoWaiting(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in LOOKING | FROM_HOST:
            raise RuntimeError(f"not permitted while recording: {function}")
        return function(*args, **(kwargs or {}))


class Tape(TorchDispatchMode):
    """Stands in for `torch.cuda.CUDAGraph`."""

    def __init__(self):
        super().__init__()
        self.calls, self.no_waiting = [], NoWaiting()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        schema = function._schema
        is_new = not any(value.alias_info for value in schema.returns)
        if function.overloadpacket in BY_INDEX and any(
            i is not None and i.dtype == torch.bool for i in args[1]
        ):
            raise RuntimeError("not permitted while recording: a mask as an index")

        def again():
            found = function(*args, **kwargs)
            if is_new:
                pairs = [(result, found)] if torch.is_tensor(found) else []
                if isinstance(found, (list, tuple)):
                    pairs = zip(result, found, strict=True)
                for mine, new in pairs:
                    mine.copy_(new)

        self.calls.append(again)
        return result

    def __enter__(self):
        IN_USE.append(self)
        self.no_waiting.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.no_waiting.__exit__(*error)
        IN_USE.remove(self)

    def replay(self):
        for call in self.calls:
            call()


class Noted:
    """A module of kernels whose launches go on the tape."""

    def __init__(self, module):
        self.module, self.shared_bytes = module, module.shared_bytes

    def launcher(self, *arguments, **shape):
        launch = self.module.launcher(*arguments, **shape)

        def noted():
            for tape in IN_USE:
                tape.calls.append(launch)
            launch()

        return noted


def stand_in():
    """What `Recording` needs of `torch.cuda`."""
    tapes = []

    def new():
        tapes.append(Tape())
        return tapes[-1]

    return SimpleNamespace(
        CUDAGraph=new,
        graph=lambda tape, **options: tape,
        graph_pool_handle=object,
        tapes=tapes,
    )
