"""What a fit costs beside other programs: no thread may spin while it waits.

``python -m benchmarks.busy`` fits each method in a process of its own, first as the
machine is, then beside as many busy processes as there are cores. Processor time must
stay the same: more of it is threads that wait for each other. A fit that shares its
cores with as many others may take up to twice as long, and no longer.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unaligned import PAVuC, SAVuC
from unaligned.baselines import LMVSC, UPMGCSM, VuCG
from unaligned.datasets import load_digits_views, unalign

FITS: dict[str, tuple[Any, int, Any]] = {
    "SAVuC": (SAVuC(10, effort="quick", random_state=0), 600, None),
    "SAVuC, known pairs": (SAVuC(10, effort="quick", random_state=0), 600, 60),
    "PAVuC": (PAVuC(10, max_iter=15, tol=0, random_state=0), 1797, None),
    "LMVSC": (LMVSC(10, random_state=0), 1797, None),
    "UPMGCSM": (UPMGCSM(10, random_state=0), 600, None),
    "VuCG": (VuCG(10, max_iter=10, random_state=0), 1797, None),
}
# Figures that say how many threads to take: a user has mostly set none.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def measure(name: str) -> None:
    """Fit twice, and print the seconds of the second: what is compiled is there."""
    model, n_rows, aligned = FITS[name]
    digits = load_digits_views()
    data = unalign([X[:n_rows] for X in digits.Xs], random_state=0)
    for _ in range(2):
        start, begun = time.perf_counter(), time.process_time()
        model.fit(data.Xs, aligned=aligned)
        wall, cpu = time.perf_counter() - start, time.process_time() - begun
    print(json.dumps({"wall": wall, "cpu": cpu}))


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


@contextmanager
def busy_cores(n_processes: int) -> Iterator[None]:
    """Keep so many cores busy for a while."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spin, daemon=True) for _ in range(n_processes)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def run(name: str) -> dict[str, float]:
    """Seconds of a fit in a process of its own."""
    environment = {key: x for key, x in os.environ.items() if key not in THREADS}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.busy", "--fit", name]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print a line for every fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", choices=FITS, help=argparse.SUPPRESS)
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    if options.fit:
        return measure(options.fit)
    print(f"{options.busy} busy processes, {os.cpu_count()} cores")
    print(f"{'':20} {'alone':>16} {'beside them':>16}  {'ratio':>11}")
    for name in FITS:
        alone = run(name)
        with busy_cores(options.busy):
            beside = run(name)
        ratios = [beside[clock] / alone[clock] for clock in ("cpu", "wall")]
        figures = [f"{s['cpu']:5.1f} of {s['wall']:5.1f} s" for s in (alone, beside)]
        print(
            f"{name:20} {figures[0]:>16} {figures[1]:>16}  "
            f"cpu {ratios[0]:.2f}, wall {ratios[1]:.2f}",
            flush=True,
        )
    return None


if __name__ == "__main__":
    main()
