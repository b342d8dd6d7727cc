"""Fits of PAVuC: against the straightforward version, at full size, and growing.

``python -m benchmarks.pavuc CIFAR-10`` times one size in a process of its own,
``python -m benchmarks.pavuc 1000000 --iterations 10`` that many rows of three views.
Each prints a JSON line.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.data.sizes import SIZES, growing, make_views
from unaligned import PAVuC
from unaligned.benchmark import straightforward
from unaligned.benchmark.memory import forget_peak, memory_bytes, peak_bytes


def fit_quietly(model, Xs):
    """Fit without a word about convergence: all iterations are wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(Xs)


def short_fit(n):
    """15 iterations on three views of clustered rows, k = 10; objectives compared."""
    k, options = 10, {"mu": 0.1, "alpha": 1.5}
    rng = np.random.RandomState(0)
    y = rng.randint(k, size=n)
    Xs = [rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)) for d in (64, 128, 32)]
    start = rng.uniform(size=(k, k)), rng.uniform(size=(k, n))
    model = PAVuC(k, **options, init=start, max_iter=15, tol=0, random_state=0)
    return (
        lambda: fit_quietly(model, Xs).objective_,
        lambda: straightforward.objective_trace(Xs, *start, **options, n_iter=15),
        lambda found, expected: float(np.max(np.abs(found / expected - 1))),
    )


def measure(name, iterations, device=None):
    """Fit views of a size, and tell what that took."""
    size = SIZES.get(name) or growing(int(name))
    parameters = {"n_anchors": size.m, "tol": 0, "random_state": 0, "device": device}
    warm_up = make_views(size._replace(n=5000))
    fit_quietly(PAVuC(size.k, max_iter=2, n_init=1, **parameters), warm_up)
    Xs = make_views(size)
    n_bytes = sum(X.nbytes for X in Xs)
    forget_peak()
    before, wall, cpu = memory_bytes(), time.perf_counter(), time.process_time()
    model = fit_quietly(PAVuC(size.k, max_iter=iterations, **parameters), Xs)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_bytes()
    return {
        "size": name,
        "rows": size.n,
        "iterations": model.n_iter_,
        "device": device or "cpu",
        "seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2),
        # Without what Python and its libraries take before any view is there.
        "peak_over_input": round((peak - before) / n_bytes + 1, 3) if peak else None,
        "nonzeros_per_row": [
            round(float(np.count_nonzero(G) / len(G)), 2) for G in model.anchor_graphs_
        ],
    }


def measure_apart(name, iterations, device=None):
    """Do the same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.pavuc", str(name)]
    command += ["--iterations", str(iterations)]
    command += ["--device", device] if device else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", help=f"{', '.join(SIZES)}, or a number of rows")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.size, arguments.iterations, arguments.device)))
