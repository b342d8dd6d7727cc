"""Where to compute: threads that change nothing, and devices of torch."""

import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from tests.conftest import no_gpu
from unaligned.kernels import devices
from unaligned.kernels.blocks import row_blocks
from unaligned.kernels.devices import Cores, on_host
from unaligned.kernels.gpu import HostRows, SparseRows, Torch


def blas_threads(kind="blas"):
    libraries = threadpool_info()
    return {lib["num_threads"] for lib in libraries if lib["user_api"] == kind}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_map_keeps_the_order(n_threads):
    assert Cores(n_threads).map(pow, range(50), [2] * 50) == [i * i for i in range(50)]


def test_pieces_run_side_by_side():
    meeting = threading.Barrier(3, timeout=30)
    assert sorted(Cores(3).map(lambda _: meeting.wait(), range(3))) == [0, 1, 2]


def test_as_many_threads_as_blas_may_take():
    with threadpool_limits(limits=1, user_api="blas"):
        assert Cores().n_threads == 1
    assert Cores().n_threads == max(blas_threads())


def test_without_blas_there_is_one_thread(monkeypatch):
    class NoLibrary:
        def select(self, user_api):
            return self

        def info(self):
            return []

        def limit(self, limits):
            raise NotImplementedError

    monkeypatch.setattr(devices, "ThreadpoolController", NoLibrary)
    assert Cores().n_threads == 1


def test_blas_is_held_to_a_thread_while_busy():
    with threadpool_limits(limits=2, user_api="blas"):
        before, cores = blas_threads(), Cores()
        with cores.busy():
            assert cores.map(lambda _: blas_threads(), range(2)) == [{1}, {1}]
        assert blas_threads() == before


def test_openmp_is_held_to_a_thread_in_every_thread():
    with threadpool_limits(limits=2):
        before, cores = blas_threads("openmp"), Cores(2)
        meeting = threading.Barrier(2, timeout=30)  # or one might take both pieces

        def seen(_):
            meeting.wait()
            return blas_threads("openmp")

        with cores.busy():
            assert blas_threads("openmp") == {1}
            assert cores.map(seen, range(2)) == [{1}, {1}]
        assert blas_threads("openmp") == before


def test_errors_come_through():
    def fail(_):
        raise ValueError("this one")

    for n_threads in (1, 2):
        with pytest.raises(ValueError, match="this one"):
            Cores(n_threads).map(fail, range(2))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_check_can_end_all_pieces(n_threads):
    done = []

    def check():
        if done:
            raise TimeoutError

    cores = Cores(n_threads, check)
    with pytest.raises(TimeoutError):
        cores.map(done.append, range(50))
    assert len(done) <= n_threads


def test_numpy_stays_as_it_is():
    X = np.ones((3, 2))
    assert Cores().put(X) is Cores().put_view(X) is on_host(X) is X


def test_without_torch_there_is_a_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"needs torch.*unaligned\[gpu\]"):
        Torch()


@pytest.mark.heavy
class TestTorch:
    """The same on tensors, here on the CPU."""

    @pytest.fixture
    def device(self):
        pytest.importorskip("torch")
        return Torch("cpu")

    def test_without_gpu_there_is_a_way_out(self):
        pytest.importorskip("torch")
        if not no_gpu():
            pytest.skip("there is a GPU")
        with pytest.raises(RuntimeError, match=r"finds none\. Leave device=None"):
            Torch()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.intp, np.bool_])
    def test_there_and_back(self, device, dtype):
        X = np.arange(6).reshape(2, 3).astype(dtype)
        there = device.put(X)
        X[0, 0] = 1  # a copy has gone there
        assert on_host(there).dtype == dtype
        np.testing.assert_array_equal(on_host(there).ravel()[1:], X.ravel()[1:])
        assert on_host(there)[0, 0] == 0
        np.testing.assert_array_equal(on_host(device.put(X.T[::-1])), X.T[::-1])

    @pytest.mark.parametrize("kind", ["dense", "sparse", "duplicates"])
    @pytest.mark.parametrize("fits", [True, False])
    def test_views_come_block_by_block(self, device, kind, fits):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 900)).astype(np.float32)
        X *= rng.random(X.shape) < 0.1
        given = X if kind == "dense" else sparse.csr_array(X)
        if kind == "duplicates":  # an entry that is stored twice counts twice
            entries = np.ones(3, np.float32), np.array([5, 5, 0])
            starts = np.array([0, 2, *[3] * 499])
            given = sparse.csr_array((*entries, starts), shape=X.shape)
        expected = X if kind == "dense" else given.toarray()
        device._room = np.inf if fits else 0.0
        view = device.put_view(given)
        if not fits:
            assert isinstance(view, HostRows)
        elif kind != "dense":
            assert isinstance(view, SparseRows)
        assert tuple(view.shape) == X.shape
        assert view.dtype.itemsize == 4
        blocks = [on_host(view[rows]) for rows in row_blocks(view)]
        assert len(blocks) > 1
        np.testing.assert_array_equal(np.vstack(blocks), expected)

    def test_room_is_used_up(self, device):
        X = np.ones((10, 4))
        device._room = 1.5 * X.nbytes
        kinds = [type(device.put_view(X)) for _ in range(2)]
        assert kinds[0] is not HostRows
        assert kinds[1] is HostRows

    def test_memory_that_torch_keeps_in_reserve_is_free(self, device, monkeypatch):
        torch = pytest.importorskip("torch")
        told = {"mem_get_info": (5, 24), "memory_reserved": 4, "memory_allocated": 1}
        for name, value in told.items():
            monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
        monkeypatch.setattr(device, "_on_gpu", True)
        assert device._free_bytes() == 5 + 4 - 1

    def test_out_of_memory_comes_with_figures(self, device, monkeypatch):
        torch = pytest.importorskip("torch")

        class Properties:
            total_memory = 24e9

        monkeypatch.setattr(
            torch.cuda, "get_device_properties", lambda device: Properties
        )
        monkeypatch.setattr(device, "_free_bytes", lambda: 1.5e9)
        message = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a lot"
        with pytest.raises(MemoryError) as caught, device.busy():
            raise torch.OutOfMemoryError(message)
        for words in ("24.0 GB", "1.5 GB are free", "2.00 GiB", "device=None"):
            assert words in str(caught.value)
        assert "GPU 0" not in str(caught.value)


@pytest.mark.heavy
def test_pieces_take_turns_each_in_its_stream_and_streams_wait_for_each_other():
    pytest.importorskip("torch")
    made, waits, entered = [], [], []

    class Stream:
        def wait_stream(self, other):
            waits.append((self, other))

    def new_stream():
        made.append(Stream())
        return made[-1]

    def enter(stream):
        entered.append(stream)
        return nullcontext()

    main, gpu = Stream(), Torch("cpu")
    gpu._on_gpu = True
    gpu._torch = SimpleNamespace(
        cuda=SimpleNamespace(
            Stream=new_stream, current_stream=lambda: main, stream=enter
        )
    )

    def work(name, n_steps):
        for step in range(n_steps):
            taken.append((name, step))
            yield
        return name

    taken = []
    assert gpu.interleave(work, "ab", [1, 3]) == ["a", "b"]
    assert taken == [("a", 0), ("b", 0), ("b", 1), ("b", 2)]
    assert entered == [made[i] for i in (0, 1, 0, 1, 1, 1)]
    assert waits[:2] == [(stream, main) for stream in made]
    assert waits[2:] == [(main, stream) for stream in made]
    assert gpu.interleave(work, "c", [0]) == ["c"]
    assert len(made) == 2  # streams are used again


def test_cores_take_all_steps_of_each_piece():
    def work(number):
        yield
        return number**2

    assert Cores(2).interleave(work, range(5)) == [0, 1, 4, 9, 16]
