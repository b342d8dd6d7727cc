"""Kernels written in CUDA C, compiled when they are first needed.

The compiler (NVRTC) is the one that comes with torch, so that a GPU and its driver are
all that has to be there: no CUDA toolkit, no C++ compiler.
"""

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

__all__ = ["CudaModule", "compiled"]

ORDINARY_SHARED_BYTES = 48 * 1024  # what a launch gets without asking for more
SCALARS = {"torch.float32": "float", "torch.float64": "double"}
SHARED_BYTES_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

_one_at_a_time = Lock()


class CudaModule:
    """Compiled CUDA C for the GPU that torch is using.

    Parameters
    ----------
    source : str
        CUDA C with ``extern "C" __global__`` functions.
    definitions : mapping
        Macros and their values.
    """

    def __init__(self, source: str, definitions: Mapping[str, Any]) -> None:
        import torch

        device = torch.cuda.get_device_properties(torch.cuda.current_device())
        options = [f"--gpu-architecture=sm_{device.major}{device.minor}", "--std=c++17"]
        options += [f"-D{name}={value}" for name, value in definitions.items()]
        self.shared_bytes: int = getattr(
            device, "shared_memory_per_block_optin", ORDINARY_SHARED_BYTES
        )
        # It keeps Python's lock: to launch a kernel takes less time than to get the
        # lock back from another thread.
        self._driver = _Library(_driver_names(), "cuGetErrorString", ctypes.PyDLL)
        binary = _compile(source, options, torch.version.cuda or "")
        torch.cuda.current_stream().synchronize()  # makes this thread's context current
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        self._driver.call("cuModuleLoadData", ctypes.byref(self._module), binary)

    def launcher(
        self,
        name: str,
        *arguments: Any,
        blocks: int,
        threads: int,
        shared_bytes: int = 0,
    ) -> Callable[[], None]:
        """Return what launches a kernel in the stream that is current now.

        Parameters
        ----------
        name : str
            The function's name in the source.
        *arguments : tensor or int
            Tensors become pointers, ints C's int. Whoever launches keeps the tensors.
        blocks, threads, shared_bytes : int
            Thread blocks, threads in each, and dynamic shared memory of each.
        """
        import torch

        function = self._function(name)
        values = [
            ctypes.c_int(argument)
            if isinstance(argument, int)
            else ctypes.c_void_p(argument.data_ptr())
            for argument in arguments
        ]
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.addressof(value) for value in values)
        )
        shape = [ctypes.c_uint(size) for size in (blocks, 1, 1, threads, 1, 1)]
        shared = ctypes.c_uint(shared_bytes)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

        def launch(_keep: Any = values) -> None:
            self._driver.call(
                "cuLaunchKernel", function, *shape, shared, stream, pointers, None
            )

        return launch

    def _function(self, name: str) -> ctypes.c_void_p:
        """Handle of a kernel, which may use all shared memory there is."""
        if name not in self._functions:
            function = ctypes.c_void_p()
            self._driver.call(
                "cuModuleGetFunction",
                ctypes.byref(function),
                self._module,
                name.encode(),
            )
            self._driver.call(
                "cuFuncSetAttribute",
                function,
                ctypes.c_int(SHARED_BYTES_ATTRIBUTE),
                ctypes.c_int(self.shared_bytes),
            )
            self._functions[name] = function
        return self._functions[name]


def compiled(name: str, dtype: str, **definitions: Any) -> CudaModule:
    """Return the kernels of a file of this package, compiled once in a process.

    Parameters
    ----------
    name : str
        Of the file.
    dtype : {"torch.float32", "torch.float64"}
        What its macro ``SCALAR`` stands for.
    **definitions
        Its other macros.
    """
    with _one_at_a_time:  # a view may have a thread of its own
        return _compiled(name, dtype, **definitions)


@lru_cache
def _compiled(name: str, dtype: str, **definitions: Any) -> CudaModule:
    return CudaModule(source_of(name), {"SCALAR": SCALARS[dtype], **definitions})


def source_of(name: str) -> str:
    """Return a file of this package in CUDA C."""
    return (files("unaligned.kernels") / name).read_text(encoding="utf-8")


class _Library:
    """A C library whose functions return 0 or an error."""

    def __init__(
        self,
        names: list[str],
        error_text: str,
        load: Callable[[str], ctypes.CDLL] = ctypes.CDLL,
    ) -> None:
        self._error_text = error_text
        for name in names:
            try:
                self._library = load(name)
            except OSError:
                continue
            return
        raise OSError(f"None of the libraries {', '.join(names)} could be loaded.")

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function, and complain in its own words if it fails."""
        status = getattr(self._library, function)(*arguments)
        if status != 0:
            raise RuntimeError(f"{function} failed: {self._explain(status)}")

    def _explain(self, status: int) -> str:
        if self._error_text.startswith("cu"):  # the driver writes to an argument
            text = ctypes.c_char_p()
            getattr(self._library, self._error_text)(status, ctypes.byref(text))
            return (text.value or b"unknown error").decode()
        explain = getattr(self._library, self._error_text)
        explain.restype = ctypes.c_char_p
        return str(explain(status).decode())


def _compile(source: str, options: list[str], cuda_version: str) -> bytes:
    """Machine code of a source, by NVRTC."""
    nvrtc = _Library(_nvrtc_names(cuda_version), "nvrtcGetErrorString")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.call(
        "nvrtcCreateProgram",
        ctypes.byref(program),
        source.encode(),
        b"unaligned.cu",
        ctypes.c_int(0),
        None,
        None,
    )
    encoded = [option.encode() for option in options]
    try:
        nvrtc.call(
            "nvrtcCompileProgram",
            program,
            ctypes.c_int(len(encoded)),
            (ctypes.c_char_p * len(encoded))(*encoded),
        )
    except RuntimeError as error:
        nvrtc.call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.call("nvrtcGetProgramLog", program, log)
        raise RuntimeError(f"{error}\n{log.value.decode()}") from None
    nvrtc.call("nvrtcGetCUBINSize", program, ctypes.byref(size))
    binary = ctypes.create_string_buffer(size.value)
    nvrtc.call("nvrtcGetCUBIN", program, binary)
    nvrtc.call("nvrtcDestroyProgram", ctypes.byref(program))
    return binary.raw


def _driver_names() -> list[str]:
    return ["nvcuda.dll"] if sys.platform == "win32" else ["libcuda.so.1"]


def _nvrtc_names(cuda_version: str) -> list[str]:
    """Where NVRTC may be found: known to the linker, or in one of torch's packages."""
    import torch

    major, home = cuda_version.partition(".")[0], Path(torch.__file__).parent
    if sys.platform == "win32":
        name = f"nvrtc64_{major}0_0.dll"
        return [name, str(home / "lib" / name)]
    name = f"libnvrtc.so.{major}"
    beside = sorted(map(str, home.parent.glob(f"nvidia/**/{name}")))
    return [name, *beside, str(home / "lib" / name), "libnvrtc.so"]
