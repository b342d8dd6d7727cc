"""Kernels of PAVuC on a GPU: whether they are right, and how long they take.

Parts of ``python -m benchmarks.gpu``.
"""

import time
from collections import defaultdict

import numpy as np
import torch
from sklearn.cluster import KMeans

from benchmarks.data.problems import KINDS, problem
from benchmarks.data.sizes import SIZES, growing, make_views
from benchmarks.gpu.tools import (
    begin,
    iterate,
    on_gpu,
    part,
    seconds,
    synchronise,
    tell,
)
from unaligned.kernels import matching_cuda
from unaligned.kernels.devices import Cores, on_host, result_of
from unaligned.kernels.gpu import Torch
from unaligned.kernels.kmeans import cluster_on_device
from unaligned.kernels.matching import match_greedy
from unaligned.kernels.nvrtc import compiled
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.simplex import project_simplex


def match_in_turn(*arguments):
    """All steps of a matching."""
    return result_of(matching_cuda.match_in_turn(*arguments))


@part
def environment():
    """Tell about the machine, and compile the kernels."""
    gpu = torch.cuda.get_device_properties(0)
    tell(
        part="environment",
        gpu=gpu.name,
        memory_gb=round(gpu.total_memory / 1e9),
        torch=torch.__version__,
        threads=Cores().n_threads,
    )
    for dtype in ("torch.float32", "torch.float64"):
        for name, macros in (
            ("matching.cu", matching_cuda.definitions(10)),
            ("matching.cu", matching_cuda.definitions(102)),
            ("simplex.cu", {}),
        ):
            start = time.perf_counter()
            module = compiled(name, dtype, **macros)
            tell(
                part="compile",
                name=name,
                dtype=dtype,
                shared_bytes=module.shared_bytes,
                seconds=round(time.perf_counter() - start, 2),
            )


@part
def small_matchings(n_problems=2000):
    """Compare with the CPU on problems of every kind."""
    rng, n_rows, different = np.random.default_rng(0), 0, 0
    for _ in range(n_problems):
        rows, columns, order = problem(rng, largest=300)
        found = match_in_turn(on_gpu(rows[order]), on_gpu(columns))
        expected = match_greedy(rows, columns, order)[order]
        n_rows += len(rows)
        different += int(np.count_nonzero(on_host(found) != expected))
    tell(part="small matchings", problems=n_problems, rows=n_rows, different=different)


@part
def large_matchings():
    """Compare with the CPU on larger problems, kind by kind."""
    rng = np.random.default_rng(1)
    for kind, make in KINDS.items():
        for n, m in ((10_000, 10), (5_000, 102)):
            dtype = np.float64 if n == 5000 else np.float32
            with np.errstate(under="ignore"):
                rows, columns = (make(rng, n, m).astype(dtype) for _ in range(2))
            rows_there, columns_there = on_gpu(rows), on_gpu(columns)
            start = time.perf_counter()
            found = on_host(match_in_turn(rows_there, columns_there))
            took = time.perf_counter() - start
            different = int(np.count_nonzero(found != match_greedy(rows, columns)))
            tell(
                part="large matchings",
                kind=kind,
                n=n,
                m=m,
                different=different,
                milliseconds=round(1e3 * took, 2),
            )


def graphs_after(name, iterations):
    """Rows in their order and columns of two matchings in the middle of a fit."""
    size = SIZES.get(name) or growing(int(name))
    posed, state = begin(make_views(size), size, Torch())
    state = iterate(posed, state, iterations)
    t = state.template
    others = [i for i in range(len(state.graphs)) if i != t][:2]
    return [
        (state.graphs[i][posed.orders[i]].contiguous(), state.graphs[t]) for i in others
    ]


@part
def matching_times():
    """Time matchings from the middle of fits, and compare them with the CPU."""
    for name, iterations in (
        ("CIFAR-10", 1),
        ("CIFAR-10", 10),
        ("Caltech-101", 10),
        ("200000", 5),
    ):
        for rows, columns in graphs_after(name, iterations):
            found = match_in_turn(rows, columns)
            start = time.process_time()
            expected = match_greedy(on_host(rows), on_host(columns))
            cpu = time.process_time() - start
            gpu = seconds(lambda: match_in_turn(rows, columns))  # noqa: B023
            tell(
                part="matching times",
                graphs=f"{name} after {iterations} iterations",
                n=len(rows),
                nonzeros_per_row=round(float((rows != 0).sum() / len(rows)), 2),
                different=int(np.count_nonzero(on_host(found) != expected)),
                gpu_milliseconds=round(1e3 * gpu, 2),
                cpu_milliseconds=round(1e3 * cpu, 2),
                **time_per_kernel(rows, columns),
            )


class TimedModule:
    """A module that times every launch."""

    def __init__(self, module):
        self.module, self.shared_bytes, self.events = module, module.shared_bytes, []

    def launcher(self, name, *arguments, **shape):
        """Give what launches a kernel and times it."""
        launch = self.module.launcher(name, *arguments, **shape)

        def timed():
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            launch()
            events[1].record()
            self.events.append((name, *events))

        return timed


def time_per_kernel(rows, columns):
    """Count rounds, and milliseconds of each kernel in all of them."""
    macros = matching_cuda.definitions(rows.shape[1])
    timed = TimedModule(compiled("matching.cu", str(rows.dtype), **macros))
    match_in_turn(rows, columns, timed)
    synchronise()
    spent = defaultdict(float)
    for name, start, end in timed.events:
        spent[name] += start.elapsed_time(end)
    rounds = sum(name == "resolve" for name, *_ in timed.events)
    return {"rounds": rounds, **{k: round(v, 2) for k, v in spent.items()}}


@part
def variants():
    """Try numbers of warps and of rows; matching_cuda should have the best."""
    cases = [
        ("CIFAR-10", graphs_after("CIFAR-10", 10)[0]),
        ("Caltech-101", graphs_after("Caltech-101", 10)[0]),
    ]
    names = ("WARPS", "BLOCK_ROWS", "WORTH_PACKING")
    ours = [getattr(matching_cuda, name) for name in names]
    try:
        for choice in (
            ours,
            (4, 512, 0.1),
            (4, 1024, 0.1),
            (8, 512, 0.1),
            (8, 1024, 0.05),
            (8, 1024, 0.2),
            (8, 1024, 1.0),
        ):
            for name, value in zip(names, choice, strict=True):
                setattr(matching_cuda, name, value)
            timed = {}
            for case, (rows, columns) in cases:
                took = seconds(
                    lambda: match_in_turn(rows, columns)  # noqa: B023
                )
                timed[case] = round(1e3 * took, 2)
            tell(part="variants", **dict(zip(names, choice, strict=True)), **timed)
    finally:
        for name, value in zip(names, ours, strict=True):
            setattr(matching_cuda, name, value)


@part
def projections():
    """Compare projections onto the simplex with the CPU, and time them."""
    rng = np.random.default_rng(0)
    for n, m in ((50_000, 10), (9144, 102), (1000, 3000)):
        for dtype in (np.float32, np.float64):
            points = rng.normal(size=(n, m)).astype(dtype)
            points[::7, 0] = -np.inf
            there = on_gpu(points)
            gap = np.abs(on_host(project_simplex(there)) - project_simplex(points))
            took = seconds(lambda: project_simplex(there), repeats=10)  # noqa: B023
            tell(
                part="projections",
                n=n,
                m=m,
                dtype=np.dtype(dtype).name,
                largest_gap=float(gap.max()),
                milliseconds=round(1e3 * took, 3),
            )


@part
def small_factorisations():
    """Time polar factors of d × m matrices, and what they may be made of."""
    generator = np.random.default_rng(0)
    for d, m in ((2048, 10), (1984, 102), (102, 102)):
        good = generator.normal(size=(d, m))
        bad = good * np.geomspace(1, 1e-5, m)
        well, ill, gram = on_gpu(good), on_gpu(bad), on_gpu(good.T @ good)
        choices = {
            "polar factor": lambda: polar_factor(well),  # noqa: B023
            "polar factor, ill-conditioned": lambda: polar_factor(ill),  # noqa: B023
            "host svd": lambda: np.linalg.svd(good, full_matrices=False),  # noqa: B023
            "host eigh": lambda: np.linalg.eigh(good[:m] + good[:m].T),  # noqa: B023
            "svd": lambda: torch.linalg.svd(well, full_matrices=False),  # noqa: B023
            "qr": lambda: torch.linalg.qr(well),  # noqa: B023
            "eigh": lambda: torch.linalg.eigh(gram),  # noqa: B023
        }
        with Cores().busy():
            for name, choice in choices.items():
                took = round(1e3 * seconds(choice, repeats=5), 3)
                tell(part="factorisations", d=d, m=m, how=name, milliseconds=took)


@part
def clusterings():
    """Time k-means, and compare how good it is."""
    for n, k in ((50_000, 10), (9144, 102)):
        rng = np.random.default_rng(0)
        points = rng.standard_normal((n, k), dtype=np.float32)
        points[np.arange(n), rng.integers(k, size=n)] += 4
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        there = on_gpu(points)
        options = {"n_init": 20, "max_iter": 200}
        labels, centers = cluster_on_device(there, k, **options, seed=0)
        inertia = float(((there - centers[labels]) ** 2).sum())
        gpu = seconds(lambda: cluster_on_device(there, k, **options, seed=0), 2)  # noqa: B023
        start = time.perf_counter()
        model = KMeans(k, **options, random_state=0).fit(points)
        tell(
            part="k-means",
            n=n,
            k=k,
            gpu_seconds=round(gpu, 3),
            sklearn_seconds=round(time.perf_counter() - start, 3),
            inertia_over_sklearn=round(inertia / float(model.inertia_), 6),
        )
