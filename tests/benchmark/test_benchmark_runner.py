"""Workers that behave, and workers that do not."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from unaligned.benchmark.cells import Cell
from unaligned.benchmark.runner import Limits, run_cells


def behave(cell):
    """Do what the name of the method says."""
    if cell.method == "fail":
        raise ValueError("what is wrong\nand more of it")
    if cell.method == "sleep":
        time.sleep(60)
    if cell.method == "eat":
        np.ones(10**10)
    if cell.method == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if cell.method == "leave":
        os._exit(7)
    threads = [pool["num_threads"] for pool in threadpool_info()]
    return {"acc": 1.0, "pid": os.getpid(), "threads": max(threads, default=1)}


def run(*names, **options):
    cells = [Cell("data", name, shuffle=i) for i, name in enumerate(names)]
    found = list(run_cells(cells, behave, **options))
    return {record["method"]: record for record in found}


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_cell_has_a_process_of_its_own_with_the_threads_it_is_given():
    cells = [Cell("data", "well", shuffle=i) for i in range(4)]
    records = list(run_cells(cells, behave, jobs=2, limits=Limits(threads=1)))
    assert sorted(record["shuffle"] for record in records) == [0, 1, 2, 3]
    assert len({record["pid"] for record in records} | {os.getpid()}) == 5
    assert {record["threads"] for record in records} == {1}
    assert all(record["status"] == "done" and record["wall"] > 0 for record in records)
    assert all(record["worker_cpu_seconds"] > 0 for record in records)


def test_what_goes_wrong_is_a_result():
    limits = Limits(seconds=120, memory=3 * 10**9)
    found = run("fail", "eat", "die", "leave", "well", limits=limits)
    assert {name: one["status"] for name, one in found.items()} == {
        "fail": "failed",
        "eat": "out of memory",
        "die": "out of memory",
        "leave": "failed",
        "well": "done",
    }
    assert found["fail"]["reason"] == "ValueError: what is wrong"
    assert found["fail"]["where"].startswith("test_benchmark_runner.py:")
    assert "code 7" in found["leave"]["reason"]


def test_who_takes_too_long_is_ended_and_the_others_go_on():
    seen = set()

    def watch(running):
        seen.update(one.cell.method for one in running)

    found = run("sleep", "well", jobs=2, limits=Limits(seconds=5), watch=watch)
    assert found["sleep"]["status"] == "time-out"
    assert found["sleep"]["limit"] == 5
    assert "well" in found
    assert "sleep" in seen


@pytest.mark.skipif(os.name == "nt", reason="asks the system for processes")
def test_no_worker_outlives_a_run_that_is_stopped():
    pids = []

    def stop(running):
        pids.extend(one.process.pid for one in running)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("sleep", "sleep", jobs=2, watch=stop)
    assert len(pids) == 2
    assert not any(map(is_alive, pids))


LONELY = """
import os, time
from unaligned.benchmark.cells import Cell
from unaligned.benchmark.runner import run_cells

def stay(cell):
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    list(run_cells([Cell("data", "stay")], stay))
"""


@pytest.mark.skipif(os.name == "nt", reason="asks the system for processes")
def test_no_worker_outlives_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "lonely.py"
    script.write_text(LONELY)
    parent = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True
    )
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 60
    while is_alive(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_cell_is_asked_for_only_when_there_is_room():
    asked, ended = [], []

    def cells():
        for i in range(3):
            asked.append((i, len(ended)))
            yield Cell("data", "well", shuffle=i)

    for record in run_cells(cells(), behave, jobs=1):
        ended.append(record)
    assert asked == [(0, 0), (1, 1), (2, 2)]


def test_the_environment_is_as_it_was(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    run("well")
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ
