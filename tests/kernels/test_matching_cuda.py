"""The kernels for GPUs give the literal answer, on a GPU and without one.

Without one, the very source of the kernels is run on the CPU (`cuda_on_cpu`).
"""

import numpy as np
import pytest
from cuda_on_cpu import ModuleOnCpu

from benchmarks.data.problems import KINDS, problem
from tests.conftest import no_gpu  # noqa: F401 - for `needs_gpu`
from unaligned.kernels import matching_cuda
from unaligned.kernels.devices import result_of
from unaligned.kernels.matching import extend_matching, match_greedy
from unaligned.kernels.nvrtc import CudaModule

pytestmark = pytest.mark.heavy
needs_gpu = pytest.mark.skipif("no_gpu()", reason="needs a GPU")

LAUNCHERS = """
#include "matching.cu"

double room[1 << 16];
int nexts[1 << 16], n_free[32];

extern "C" void launch_prepare(
    int blocks, int threads, const SCALAR *columns, const long long *order,
    SCALAR *packed, Flags *taken, int *names, Progress *progress, int n_columns,
    int n_packed, int m)
{
    cuda_on_cpu::launch(blocks, threads, [=] {
        prepare(columns, order, packed, taken, names, progress, n_columns, n_packed, m);
    });
}

extern "C" void launch_shortlist(
    int blocks, int threads, const SCALAR *rows, const SCALAR *columns,
    const SCALAR *largest, const int *firsts, const Flags *taken, const int *names,
    const int *positions, const Progress *progress, int *lists, int n_rows,
    int n_columns, int n_places, int m)
{
    cuda_on_cpu::launch(blocks, threads, [=] {
        shortlist(
            rows, columns, largest, firsts, taken, names, positions, progress, lists,
            n_rows, n_columns, n_places, m);
    });
}

extern "C" void launch_resolve(
    int blocks, int threads, const int *lists, Flags *taken, const int *names,
    Progress *progress, int *column_of_row, int n_rows, int n_flags_of_room)
{
    cuda_on_cpu::launch(blocks, threads, [=] {
        resolve(
            lists, taken, names, progress, column_of_row, n_rows, n_flags_of_room);
    });
}

extern "C" void launch_pack(
    int blocks, int threads, SCALAR *columns, SCALAR *largest, const Flags *taken,
    const Progress *progress, int n_columns, int n_places)
{
    cuda_on_cpu::launch(blocks, threads, [=] {
        pack(columns, largest, taken, progress, n_columns, n_places);
    });
}

extern "C" void launch_relabel(
    int blocks, int threads, int *names, int *positions, int *firsts, Flags *taken,
    Progress *progress, int n_columns)
{
    cuda_on_cpu::launch(blocks, threads, [=] {
        relabel(names, positions, firsts, taken, progress, n_columns);
    });
}
"""


@pytest.fixture(autouse=True)
def torch():
    return pytest.importorskip("torch")


def check(rows, columns, order, module=None, device="cpu"):
    import torch

    there = [torch.tensor(points, device=device) for points in (rows[order], columns)]
    found = result_of(matching_cuda.match_in_turn(*there, module)).cpu().numpy()
    np.testing.assert_array_equal(found, match_greedy(rows, columns, order)[order])


@pytest.fixture(scope="module")
def modules():
    """Modules that were compiled already: it takes two seconds each."""
    return {}


@pytest.fixture(
    params=[("float", 2, 48 * 1024), ("double", 1, 4 * 65 * 32 + 8)],
    ids=["float32", "float64 with little shared memory"],
)
def on_cpu(request, monkeypatch, modules, tmp_path):
    """Short lists for many rows, so that lists are used up often."""
    scalar, warps, shared_bytes = request.param
    monkeypatch.setattr(matching_cuda, "BLOCK_ROWS", 128)
    monkeypatch.setattr(matching_cuda, "WARPS", warps)
    monkeypatch.setattr(matching_cuda, "RESOLVING_THREADS", 64)
    monkeypatch.setattr(matching_cuda, "PACKING_THREADS", 64)
    monkeypatch.setattr(matching_cuda, "SPARE_ROUNDS", 0)
    if scalar not in modules:
        macros = {"SCALAR": scalar, **matching_cuda.definitions(1)}
        modules[scalar] = ModuleOnCpu(tmp_path, LAUNCHERS, macros, shared_bytes)
    modules[scalar].launches.clear()
    return np.dtype({"float": "f4", "double": "f8"}[scalar]), modules[scalar]


def test_the_source_gives_the_literal_answer(on_cpu):
    dtype, module = on_cpu
    rng = np.random.default_rng(0)
    for _ in range(8):
        rows, columns, order = problem(rng, largest=90)
        with np.errstate(under="ignore"):
            check(rows.astype(dtype), columns.astype(dtype), order, module)
    assert module.launches.count("resolve") > 8  # some problems took several


@pytest.mark.parametrize("kind", ["one hot", "duplicates", "dirichlet"])
def test_lists_that_are_used_up(on_cpu, kind):
    dtype, module = on_cpu
    rng = np.random.default_rng(1)
    rows, columns = (KINDS[kind](rng, 120, 3).astype(dtype) for _ in range(2))
    check(rows, columns, np.arange(120), module)
    # One round would do if lists were long enough.
    assert module.launches.count("resolve") > 1
    assert module.launches.count("pack") > 1


@pytest.mark.parametrize("kind", ["mixed", "eighths", "dirichlet", "mostly nothing"])
def test_more_columns_than_a_warp_sees_at_once(on_cpu, kind):
    dtype, module = on_cpu
    rng = np.random.default_rng(6)
    rows, columns = (KINDS[kind](rng, n, 4).astype(dtype) for n in (40, 2500))
    check(rows, columns, rng.permutation(40), module)


def test_runs_that_promise_too_little_are_not_looked_into(torch, on_cpu, monkeypatch):
    dtype, module = on_cpu
    rows = torch.eye(2, dtype=getattr(torch, dtype.name))[[0] * 20]
    columns = rows.new_zeros((2048, 2))
    columns[::2, 0], columns[1::2, 1] = 1, 1
    launch_rounds = matching_cuda._Matching.launch_rounds

    def launch(self, done):
        # Columns with nothing in common with the rows would be the best, if scored.
        self.packed[0][self.packed[1] == 1] = 9
        return launch_rounds(self, done)

    monkeypatch.setattr(matching_cuda._Matching, "launch_rounds", launch)
    found = result_of(matching_cuda.match_in_turn(rows, columns, module))
    assert found.tolist() == [*range(0, 40, 2)]


def test_rounds_to_spare_do_no_harm(on_cpu, monkeypatch):
    dtype, module = on_cpu
    monkeypatch.setattr(matching_cuda, "SPARE_ROUNDS", 4)
    rng = np.random.default_rng(5)
    rows, columns = (KINDS["dirichlet"](rng, 70, 4).astype(dtype) for _ in range(2))
    check(rows, columns, np.arange(70), module)


def test_others_get_their_turn(torch, on_cpu, monkeypatch):
    dtype, module = on_cpu
    monkeypatch.setattr(matching_cuda, "SPARE_ROUNDS", 4)
    monkeypatch.setattr(matching_cuda, "ROUNDS_AT_ONCE", 2)
    points = torch.eye(5, dtype=getattr(torch, dtype.name))
    launched = []
    for _ in matching_cuda.match_in_turn(points, points, module):
        launched.append(module.launches.count("resolve"))
    assert launched == [2, 4, 5]


def test_nan_is_no_endless_loop(torch, on_cpu):
    dtype, module = on_cpu
    points = torch.full((4, 2), float("nan"), dtype=getattr(torch, dtype.name))
    with pytest.raises(ValueError, match="finite"):
        result_of(matching_cuda.match_in_turn(points, points, module))


@needs_gpu
def test_small_problems_on_the_gpu():
    rng = np.random.default_rng(2)
    for _ in range(300):
        check(*problem(rng, largest=300), device="cuda")


@needs_gpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_larger_problems_on_the_gpu(kind, dtype):
    rng = np.random.default_rng(3)
    for n, m in ((5000, 10), (3000, 102)):
        with np.errstate(under="ignore"):
            rows = KINDS[kind](rng, n, m).astype(dtype)
            columns = KINDS[kind](rng, n + 100, m).astype(dtype)
        check(rows, columns, rng.permutation(n), device="cuda")


@needs_gpu
def test_known_pairs_on_the_gpu(torch):
    rng = np.random.default_rng(4)
    rows, columns = KINDS["mixed"](rng, 2000, 8), KINDS["mixed"](rng, 2000, 8)
    known = rng.permutation(2000)[:300], rng.permutation(2000)[:300]
    order = rng.permutation(2000)
    expected = extend_matching(rows, columns, known, method="greedy", order=order)
    there = [torch.tensor(array, device="cuda") for array in (rows, columns, order)]
    pairs = tuple(torch.tensor(array, device="cuda") for array in known)
    found = extend_matching(*there[:2], pairs, method="greedy", order=there[2])
    np.testing.assert_array_equal(found.cpu().numpy(), expected)


@needs_gpu
def test_a_kernel_that_does_not_compile_says_why():
    with pytest.raises(RuntimeError, match="nonsense"):
        CudaModule("nonsense", {})
