"""A fit for which there is not enough memory is refused before it takes any."""

import os
import re
import subprocess
import sys
import tracemalloc
from importlib import import_module

import numpy as np
import pytest
import victims
from scipy import sparse

from tests.conftest import make_blobs
from unaligned import SAVuC, align
from unaligned.estimators import ESTIMATORS
from unaligned.kernels import memory
from unaligned.views import check_views

on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits what a process may take"
)
QUADRATIC = ("SCOT", "UPMGCSM")  # tables of all rows by all rows


def estimator(name, k=3):
    model = ESTIMATORS[name](k, random_state=0)
    model.n_clusters_ = k
    return model


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_asks_before_it_computes(name, monkeypatch):
    Xs, _ = make_blobs()
    model, free = estimator(name), 5000.0
    monkeypatch.setattr(memory, "available_bytes", lambda: free)

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(type(model), "_iterate", never)
    with pytest.raises(MemoryError) as caught:
        model.fit(Xs, aligned=20)
    needed = model._memory_need(check_views(Xs))
    assert str(caught.value).startswith(
        f"{name} needs about {memory.in_bytes(needed)} for 3 views of 60 rows, beside "
        "the views themselves, and 0.005 MB are free. "
    )
    assert re.search("sample of the rows", str(caught.value))
    free = needed
    with pytest.raises(AssertionError):  # it goes on
        model.fit(Xs, aligned=20)


def test_the_alignment_alone_asks_too(monkeypatch):
    Xs, _ = make_blobs()
    needed = estimator("SAVuC")._memory_need(check_views(Xs))
    free = needed - 1
    monkeypatch.setattr(memory, "available_bytes", lambda: free)

    def reached(*_):
        raise AssertionError

    module = import_module("unaligned.savuc.growth")
    monkeypatch.setattr(module, "read_geometry", reached)
    with pytest.raises(MemoryError) as caught:
        align(Xs)
    amount = memory.in_bytes(needed)
    assert str(caught.value) == (
        f"unaligned.align needs about {amount} for 3 views of 60 rows, beside the "
        f"views themselves, and {amount} are free. Take a sample of the rows, or "
        "reduce wide views first, e.g. with sklearn.decomposition.TruncatedSVD."
    )
    free = needed
    with pytest.raises(AssertionError):  # it goes on
        align(Xs)


@pytest.mark.parametrize("name", [*ESTIMATORS])
def test_what_is_asked_for_grows_with_the_rows(name):
    def need(n):
        rng = np.random.default_rng(0)
        return estimator(name)._memory_need(check_views([rng.random((n, 9))] * 2))

    growth = (need(40_000) - need(20_000)) / (need(20_000) - need(10_000))
    assert growth == pytest.approx(4 if name in QUADRATIC else 2, rel=0.01)


@pytest.mark.parametrize("shape", [(6000, (12, 8)), (800, (300, 200))])
@pytest.mark.parametrize("name", ["CAMVC", "CMVNMF", "FDAGF", "FMVACC", "FPMVSCAG"])
def test_what_is_asked_for_is_what_is_taken(name, shape):
    """By what NumPy takes; ``python -m benchmarks.memory`` asks the system, for all."""
    n, widths = shape
    rng = np.random.default_rng(0)
    Xs = [rng.random((n, d), dtype=np.float32) for d in widths]
    model = estimator(name).set_params(max_iter=2, tol=0, n_init=1)
    model.fit([X[:20] for X in Xs])  # imports what there is to import
    tracemalloc.start()
    model.fit(Xs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / 2 < model._memory_need(check_views(Xs)) < 2 * peak


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_wide_views_ask_for_no_table_of_their_columns(kind):
    rng = np.random.default_rng(0)
    Xs = [rng.random((60, 8_000)) for _ in range(2)]
    Xs = [kind(np.where(X > 0.99, X, 0)) for X in Xs]
    model = SAVuC(3, effort="quick", random_state=0)
    model.fit([X[:, :10] for X in Xs])
    tracemalloc.start()
    model.fit(Xs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / 2 < model._memory_need(check_views(Xs)) < 2 * peak


def test_float64_is_told_to_be_float32(monkeypatch):
    Xs, _ = make_blobs()
    monkeypatch.setattr(memory, "available_bytes", lambda: 0.0)
    with pytest.raises(MemoryError, match=r"pass float32 views.*distributed\.PAVuC"):
        estimator("PAVuC").fit(Xs)
    with pytest.raises(MemoryError, match=r"^(?!.*float32)"):
        estimator("PAVuC").fit([X.astype(np.float32) for X in Xs])


# --- Where the system sets a limit -------------------------------------------------


def fit_with_little(*question):
    receiver, sender = victims.forkserver().Pipe(duplex=False)
    process = victims.start(victims.fit_with_little, *question, sender)
    sender.close()
    answer = receiver.recv()
    process.join()
    assert process.exitcode == 0
    return answer


@on_linux
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("PAVuC", [(200_000, 2)] * 3),
        ("LMVSC", [(50_000, 100)] * 2),
        ("UPMGCSM", [(4_000, 5)] * 2),
    ],
)
def test_a_real_limit_is_seen(name, shapes):
    error, told = fit_with_little(name, shapes, 60, False)
    assert error == "MemoryError"
    needed, free = re.search(r"about (\S+) MB .* and (\S+) MB are free", told).groups()
    assert 0 < float(free) <= 60 < float(needed)
    few = [(n // 100, d) for n, d in shapes]
    assert fit_with_little(name, few, 60, False) == (None, few[0][0])


@on_linux
def test_without_asking_it_would_have_failed_on_the_way():
    error, told = fit_with_little("UPMGCSM", [(4_000, 5)] * 2, 60, True)
    assert error is not None
    assert "are free" not in told  # it is NumPy that complains, in the midst of things


LIMITED = """
import resource, sys
import unaligned.cli._command, unaligned.estimators, unaligned.selection  # big ones
from unaligned.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 10**6,) * 2)
main(sys.argv[1:])
"""


@on_linux
def test_the_command_says_so_in_a_sentence(tmp_path):
    X = np.random.default_rng(0).random((4000, 4), dtype=np.float32)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", X)
    files = [tmp_path / "a.npy", tmp_path / "b.npy"]
    arguments = ["cluster", *files, "--method", "UPMGCSM", "-k", 3, "-q", "-o"]
    found = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, [*arguments, tmp_path / "out"])],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 1
    assert found.stderr.startswith("Error: UPMGCSM needs about 768 MB for 2 views of ")
    assert found.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_limits_of_the_process(monkeypatch):
    resource = pytest.importorskip("resource")
    unlimited = resource.RLIM_INFINITY
    limits = {resource.RLIMIT_AS: 9 * 4096, resource.RLIMIT_DATA: unlimited}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[kind], unlimited))
    monkeypatch.setattr(memory.os, "sysconf", lambda _: 4096)
    statm = {"/proc/self/statm": ["7 5 3 1 0 4 0"]}
    monkeypatch.setattr(memory, "_lines", lambda path: statm.get(str(path), []))
    assert memory._limit_bytes() == [2 * 4096]
    limits[resource.RLIMIT_DATA] = 3 * 4096
    assert memory._limit_bytes() == [2 * 4096, 0]
    limits |= dict.fromkeys(limits, unlimited)
    assert memory._limit_bytes() == []


LIMITED_FROM_THE_START = """
import resource, sys
limit = int(float(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from unaligned.cli import main
main(sys.argv[2:])
"""


@on_linux
@pytest.mark.parametrize(
    ("command", "limit"),
    [("align", 1.9e8), ("audit", 5e8), ("translate", 6e8), ("align", 8.5e8)],
)
def test_a_command_that_finds_no_room_says_so(command, limit, tmp_path):
    """Whatever fails: an import, the linker, or LLVM, which would end the process."""
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.random.RandomState(0).normal(size=(60, 6)))
    arguments = ["a.npy", "b.npy", *(["-o", "out"] if command != "audit" else [])]
    run = subprocess.run(
        [sys.executable, "-c", LIMITED_FROM_THE_START, str(limit), command, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 1
    told = f"this process may take {limit / 1e6:,.0f} MB (ulimit -v)"
    assert run.stderr.splitlines()[-1].startswith("Error: There is not enough memory")
    assert told in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "out").exists()
