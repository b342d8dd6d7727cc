"""Kernels for GPUs, compiled as C++ and run thread by thread (`cuda_on_cpu.hpp`)."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from unaligned.kernels import nvrtc


class ModuleOnCpu:
    """Stands in for a `CudaModule`.

    ``launchers`` is C++ with a function ``launch_NAME(blocks, threads, ...)`` for each
    kernel.
    """

    def __init__(self, folder, launchers, definitions, shared_bytes=0):
        compiler = shutil.which("c++")
        if compiler is None:
            pytest.skip("needs a C++ compiler")
        self.shared_bytes, self.launches = shared_bytes, []
        source = '#include "cuda_on_cpu.hpp"\n' + launchers
        (folder / "launchers.cpp").write_text(source)
        subprocess.run(
            [
                *(compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-w"),
                *(f"-D{name}={value}" for name, value in definitions.items()),
                f"-I{Path(__file__).parent}",
                f"-I{Path(nvrtc.__file__).parent}",
                *("-o", folder / "launchers.so", folder / "launchers.cpp"),
            ],
            check=True,
        )
        self._library = ctypes.CDLL(str(folder / "launchers.so"))

    def launcher(self, name, *arguments, blocks, threads, shared_bytes=0):
        values = [
            value if isinstance(value, int) else ctypes.c_void_p(value.data_ptr())
            for value in arguments
        ]

        def launch():
            self.launches.append(name)
            self._library[f"launch_{name}"](blocks, threads, *values)

        return launch
