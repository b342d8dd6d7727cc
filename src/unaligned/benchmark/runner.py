"""Running cells: each in a process of its own, several at a time.

A process of its own makes peak memory the cell's own, and lets a cell that takes too
long or too much be ended without harm. Processes are forked from a server that has
imported everything beforehand, so starting one costs milliseconds.
"""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any

from threadpoolctl import threadpool_limits

from unaligned.benchmark.cells import Cell
from unaligned.benchmark.memory import bound_memory

__all__ = ["Limits", "Measure", "Running", "run_cells"]

Measure = Callable[[Cell], dict[str, Any]]
POLL = 0.2  # seconds between two looks at the clock
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
           "NUMBA_NUM_THREADS")  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What one cell may take."""

    seconds: float = 600.0
    memory: int | None = None
    """Bytes; None: no bound but the machine's."""
    threads: int = 1


@dataclass
class Running:
    """A cell in flight."""

    cell: Cell
    process: Any
    answer: Connection
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Time since its start."""
        return time.monotonic() - self.started


def run_cells(
    cells: Iterable[Cell],
    measure: Measure,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),  # noqa: B008  frozen
    watch: Callable[[list[Running]], None] = lambda running: None,
) -> Iterator[dict[str, Any]]:
    """Run cells and yield their records, in the order they end.

    Parameters
    ----------
    cells : iterable of Cell
    measure : function of a Cell that returns a dict
        Called in the worker; must be importable there.
    jobs : int, default=1
        Workers at a time.
    limits : Limits
    watch : function of a list of Running, optional
        Called several times a second with the cells in flight.

    Yields
    ------
    dict
        The cell and its ``status``: ``"done"`` with what was measured; or ``"failed"``,
        ``"time-out"`` or ``"out of memory"`` with a ``reason``. Closing the generator,
        or an exception such as Ctrl-C, ends all workers.
    """
    with threads_of_workers(limits.threads):
        context = server_context()
        waiting, running = iter(cells), list[Running]()
        try:
            while True:
                # A cell is asked for when there is room: what ended so far may decide.
                for cell in islice(waiting, jobs - len(running)):
                    running.append(start(context, cell, measure, limits))
                if not running:
                    return
                watch(running)
                ended = wait([one.answer for one in running], timeout=POLL)
                for one in list(running):
                    if one.answer in ended:
                        record = one.cell.record() | read_answer(one)
                    elif one.seconds > limits.seconds:
                        record = one.cell.record() | time_out(one, limits)
                    else:
                        continue
                    running.remove(one)
                    yield record | {"wall": round(one.seconds, 2)}
        finally:
            for one in running:
                end(one)


def server_context() -> Any:
    """Context whose processes are forked from a server, or spawned without one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["unaligned.benchmark.preload"])
    return context


@contextmanager
def threads_of_workers(n_threads: int) -> Iterator[None]:
    """Set how many threads libraries use in processes that start from now on."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, str(n_threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def start(context: Any, cell: Cell, measure: Measure, limits: Limits) -> Running:
    """Start a worker for one cell."""
    answer, question = context.Pipe(duplex=False)
    process = context.Process(
        target=work, args=(question, cell, measure, limits), daemon=True
    )
    process.start()
    question.close()  # the worker's end is now its own, so its death is heard
    return Running(cell, process, answer)


def work(question: Connection, cell: Cell, measure: Measure, limits: Limits) -> None:
    """Measure one cell and send the answer: the whole life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to hear
    Thread(target=die_with_parent, daemon=True).start()
    if limits.memory is not None:
        bound_memory(limits.memory)
    try:
        with threadpool_limits(limits.threads):
            answer = {"status": "done"} | measure(cell)
    except MemoryError as error:
        answer = {"status": "out of memory", "reason": first_line(error)}
    except Exception as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        answer = {"status": "failed", "reason": reason, "where": where}
    question.send(answer | {"worker_cpu_seconds": round(time.process_time(), 3)})


def die_with_parent() -> None:
    """End this process when its parent is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def first_line(error: BaseException) -> str:
    """First line of an error's message."""
    return (str(error).splitlines() or [""])[0]


def read_answer(one: Running) -> dict[str, Any]:
    """Answer of a worker, or what its silence means."""
    try:
        answer: dict[str, Any] = one.answer.recv()
    except EOFError:
        one.process.join()
        code = one.process.exitcode
        answer = {"status": "failed", "reason": f"the worker ended with code {code}"}
        if code == -getattr(signal, "SIGKILL", 9):
            # Nobody but the system kills a worker that is within its limits.
            reason = "the worker was killed, as systems do when memory runs out"
            answer = {"status": "out of memory", "reason": reason}
    end(one)
    return answer


def time_out(one: Running, limits: Limits) -> dict[str, Any]:
    """End a worker that takes too long."""
    end(one)
    reason = f"not done after {limits.seconds:g} s"
    return {"status": "time-out", "limit": limits.seconds, "reason": reason}


def end(one: Running) -> None:
    """Make sure that a worker is gone."""
    one.process.kill()
    one.process.join()
    one.process.close()
    one.answer.close()
