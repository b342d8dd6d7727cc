"""What the benchmarks on a GPU are made of: parts, a stopwatch, and fits to stop in."""

import json
import time

import numpy as np
import torch

from unaligned.known_pairs import check_aligned
from unaligned.pavuc.iteration import init_state, one_iteration
from unaligned.pavuc.problem import pose
from unaligned.views import check_views

PARTS = {}


def part(function):
    """Make a function one of the parts."""
    PARTS[function.__name__] = function
    return function


def tell(**result):
    """Print a line."""
    print(json.dumps(result), flush=True)


def synchronise():
    """Wait for all that was launched."""
    torch.cuda.synchronize()


def seconds(function, repeats=3):
    """Shortest time of a few runs, the first of which is not counted."""
    times = []
    for _ in range(repeats + 1):
        synchronise()
        start = time.perf_counter()
        function()
        synchronise()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def begin(Xs, size, device):
    """Problem and state before the first iteration, the same on every device."""
    views = check_views(Xs)
    rng = np.random.RandomState(0)
    anchors = rng.uniform(size=(size.m, size.k)).astype(np.float32)
    graph = rng.uniform(size=(size.n, size.m)).astype(np.float32)
    pairs = check_aligned(None, views)
    settings = {"mu": 0.1, "alpha": 1.5, "matching": "greedy", "align": True}
    with device.busy():
        posed = pose(views.arrays, pairs, **settings, device=device)
        return posed, init_state(posed, anchors, graph)


def iterate(posed, state, n):
    """Go on for some iterations."""
    for _ in range(n):
        with posed.device.busy():
            state = one_iteration(posed, state)
    return state


def on_gpu(points):
    """Copy an array to the GPU."""
    return torch.tensor(np.ascontiguousarray(points), device="cuda")
