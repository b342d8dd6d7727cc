"""PAVuC on a GPU: whether the answer is right, and how long it takes.

``python -m benchmarks.gpu`` prints a JSON line per result. A part that fails prints its
traceback, and the others go on. ``python -m benchmarks.gpu fits stages`` runs only the
parts named.
"""

import argparse
import json
import time
import traceback

import numpy as np
import torch
from sklearn.cluster import KMeans

from benchmarks.pavuc import fit_quietly
from benchmarks.problems import KINDS, problem
from benchmarks.sizes import SIZES, growing, make_views
from unaligned import PAVuC
from unaligned.kernels import matching_cuda
from unaligned.kernels.devices import Cores, Torch, on_host
from unaligned.kernels.kmeans import cluster_on_device
from unaligned.kernels.matching import match_greedy
from unaligned.kernels.nvrtc import CudaModule
from unaligned.known_pairs import check_aligned
from unaligned.pavuc import iteration
from unaligned.pavuc.iteration import init_state, one_iteration, pose
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
    start = time.perf_counter()
    for scalar in ("float32", "float64"):
        module = CudaModule(matching_cuda.source(), matching_cuda.definitions(scalar))
    took = time.perf_counter() - start
    tell(part="compile", shared_bytes=module.shared_bytes, seconds=round(took, 2))


@part
def small_matchings(n_problems=2000):
    """Compare with the CPU on problems of every kind."""
    rng, n_rows, different = np.random.default_rng(0), 0, 0
    for _ in range(n_problems):
        rows, columns, order = problem(rng, largest=300)
        found = matching_cuda.match_in_turn(on_gpu(rows[order]), on_gpu(columns))
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
            found = on_host(matching_cuda.match_in_turn(rows_there, columns_there))
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
            found = matching_cuda.match_in_turn(rows, columns)
            start = time.process_time()
            expected = match_greedy(on_host(rows), on_host(columns))
            cpu = time.process_time() - start
            gpu = seconds(lambda: matching_cuda.match_in_turn(rows, columns))  # noqa: B023
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
        launch = self.module.launcher(name, *arguments, **shape)

        def timed():
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            launch()
            events[1].record()
            self.events.append((name, *events))

        return timed


def time_per_kernel(rows, columns):
    """Count rounds, and milliseconds of either kernel in all of them."""
    timed = TimedModule(matching_cuda._compiled(str(rows.dtype)[6:]))
    matching_cuda.match_in_turn(rows, columns, timed)
    synchronise()
    spent = {"shortlist": 0.0, "resolve": 0.0}
    for name, start, end in timed.events:
        spent[name] += start.elapsed_time(end)
    rounds = len(timed.events) // 2
    return {"rounds": rounds, **{k: round(v, 2) for k, v in spent.items()}}


@part
def variants():
    """Try sizes of lists, blocks and warps; matching_cuda should have the best."""
    cases = [
        ("CIFAR-10", graphs_after("CIFAR-10", 10)[0]),
        ("Caltech-101", graphs_after("Caltech-101", 10)[0]),
    ]
    names = ("KEPT", "ROWS_PER_WARP", "BLOCK_ROWS", "WARPS")
    ours = [getattr(matching_cuda, name) for name in names]
    try:
        for values in (
            (64, 1, 512, 4),
            (128, 1, 1024, 4),
            (128, 2, 1024, 4),
            (128, 4, 1024, 4),
            (256, 1, 1024, 4),
            (256, 2, 1024, 4),
            (256, 1, 2048, 4),
            (256, 2, 2048, 4),
            (256, 4, 2048, 2),
            (128, 1, 1024, 8),
            (128, 1, 1024, 2),
            (256, 1, 1024, 2),
            (512, 1, 2048, 2),
        ):
            for name, value in zip(names, values, strict=True):
                setattr(matching_cuda, name, value)
            module = CudaModule(
                matching_cuda.source(), matching_cuda.definitions("float32")
            )
            timed = {}
            for case, (rows, columns) in cases:
                took = seconds(
                    lambda: matching_cuda.match_in_turn(rows, columns, module)  # noqa: B023
                )
                timed[case] = round(1e3 * took, 2)
            tell(part="variants", **dict(zip(names, values, strict=True)), **timed)
    finally:
        for name, value in zip(names, ours, strict=True):
            setattr(matching_cuda, name, value)


@part
def fits(names=tuple(SIZES)):
    """Time whole fits."""
    for name in names:
        size = SIZES.get(name) or growing(int(name))
        Xs = make_views(size)
        iterations = 60 if name in SIZES else 10
        model = PAVuC(
            size.k,
            n_anchors=size.m,
            max_iter=iterations,
            tol=0,
            random_state=0,
            device="cuda",
        )
        warm = [X[:3000] for X in Xs]
        fit_quietly(PAVuC(size.k, n_anchors=size.m, max_iter=3, device="cuda"), warm)
        times = []
        for _ in range(2 if name in SIZES else 1):
            start = time.perf_counter()
            fit_quietly(model, Xs)
            times.append(round(time.perf_counter() - start, 2))
        tell(
            part="fits",
            size=name,
            iterations=iterations,
            seconds=times,
            memory_gb=round(torch.cuda.max_memory_allocated() / 1e9, 2),
            nonzeros_per_row=[
                round(float(np.count_nonzero(G) / len(G)), 2)
                for G in model.anchor_graphs_
            ],
        )


@part
def million():
    """Time 10 iterations on a million rows."""
    fits(["1000000"])


@part
def same_as_on_the_cpu(iterations=3):
    """Check that graphs differ by rounding, and equal ones are matched equally."""
    for name, size in SIZES.items():
        Xs = make_views(size)
        gpu, cpu = begin(Xs, size, Torch()), begin(Xs, size, Cores())
        for i in range(1, iterations + 1):
            gpu, cpu = ((one[0], iterate(*one, 1)) for one in (gpu, cpu))
            there, here = gpu[1], cpu[1]
            t = there.template
            matched_again = [
                match_greedy(on_host(G)[on_host(order)], on_host(there.graphs[t]))
                for G, order in zip(there.graphs, gpu[0].orders, strict=True)
            ]
            unlike = 0
            for k, (rows, order) in enumerate(
                zip(matched_again, gpu[0].orders, strict=True)
            ):
                if k != t:
                    expected = np.empty_like(rows)
                    expected[rows] = on_host(order)
                    found = on_host(there.permutations[k])
                    unlike += int(np.count_nonzero(found != expected))
            gaps = [
                float(np.abs(on_host(G) - H).max())
                for G, H in zip(there.graphs, here.graphs, strict=True)
            ]
            same = [
                float(np.mean(on_host(p) == q))
                for p, q in zip(there.permutations, here.permutations, strict=True)
            ]
            tell(
                part="same as on the CPU",
                size=name,
                iteration=i,
                objective_gap=abs(there.objective / here.objective - 1),
                largest_graph_gap=max(gaps),
                rows_matched_the_same=[round(share, 5) for share in same],
                rows_unlike_the_cpu_on_the_same_graphs=unlike,
                template=[int(there.template), int(here.template)],
            )


@part
def stages():
    """Tell where the time of an iteration goes."""
    names = (
        "update_anchors",
        "partner_rows",
        "sweep_side_by_side",
        "update_permutations",
        "objective",
        "view_errors",
    )
    originals = {name: getattr(iteration, name) for name in names}
    for size_name, size in SIZES.items():
        spent = dict.fromkeys((*names, "update_projection"), 0.0)

        def timed(name, function, spent=spent):
            def run(*arguments):
                synchronise()
                start = time.perf_counter()
                result = function(*arguments)
                synchronise()
                spent[name] += time.perf_counter() - start
                return result

            return run

        start = time.perf_counter()
        posed, state = begin(make_views(size), size, Torch())
        set_up = time.perf_counter() - start
        state = iterate(posed, state, 3)
        start = time.perf_counter()
        iterate(posed, state, 10)
        synchronise()
        whole = time.perf_counter() - start
        try:
            for name, function in originals.items():
                setattr(iteration, name, timed(name, function))
            iterate(posed, state, 10)
        finally:
            for name, function in originals.items():
                setattr(iteration, name, function)
        project = timed(
            "update_projection",
            lambda posed=posed, state=state: posed.device.map(
                iteration.update_projection,
                state.moments,
                [state.anchors] * len(state.moments),
            ),
        )
        for _ in range(10):
            with posed.device.busy():
                project()
        tell(
            part="stages",
            size=size_name,
            milliseconds_per_iteration=round(100 * whole, 2),
            set_up_seconds_with_making_the_data=round(set_up, 2),
            **{name: round(100 * value, 2) for name, value in spent.items()},
        )


@part
def small_factorisations():
    """Time what a polar factor of a d × m matrix may be made of."""
    generator = np.random.default_rng(0)
    for d, m in ((2048, 10), (1984, 102), (102, 102)):
        here = generator.normal(size=(d, m))
        there, gram = on_gpu(here), on_gpu(here.T @ here)
        choices = {
            "host svd with copies": lambda: on_gpu(
                np.linalg.svd(on_host(there), full_matrices=False)[0]  # noqa: B023
            ),
            "host svd": lambda: np.linalg.svd(here, full_matrices=False),  # noqa: B023
            "host svd of the small side": lambda: np.linalg.svd(here[:m]),  # noqa: B023
            "host eigh": lambda: np.linalg.eigh(here[:m] + here[:m].T),  # noqa: B023
            "svd gesvd": lambda: torch.linalg.svd(
                there,  # noqa: B023
                full_matrices=False,
                driver="gesvd",
            ),
            "svd gesvdj": lambda: torch.linalg.svd(
                there,  # noqa: B023
                full_matrices=False,
                driver="gesvdj",
            ),
            "svd gesvda": lambda: torch.linalg.svd(
                there,  # noqa: B023
                full_matrices=False,
                driver="gesvda",
            ),
            "qr": lambda: torch.linalg.qr(there),  # noqa: B023
            "eigh": lambda: torch.linalg.eigh(gram),  # noqa: B023
            "inverse": lambda: torch.linalg.inv(gram),  # noqa: B023
            "cholesky": lambda: torch.linalg.cholesky_ex(gram),  # noqa: B023
        }
        with Cores().busy():
            for name, choice in choices.items():
                try:
                    took = round(1e3 * seconds(choice, repeats=5), 3)
                except Exception as error:  # a driver that cannot do this shape
                    took = repr(error)[:100]
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


@part
def views_that_do_not_fit():
    """Fit views that stay on the host, and run out of memory."""
    size = SIZES["CIFAR-10"]
    Xs = make_views(size)
    for room in ("all", "none"):
        device = Torch()
        if room == "none":
            device._room = 0.0
        posed, state = begin(Xs, size, device)
        start = time.perf_counter()
        state = iterate(posed, state, 3)
        synchronise()
        tell(
            part="views on the GPU",
            which=room,
            seconds_per_iteration=round((time.perf_counter() - start) / 3, 4),
            objective=state.objective,
        )
        del posed, state
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.002)
    try:
        model = PAVuC(10, n_anchors=200, max_iter=2, n_init=1, device="cuda")
        fit_quietly(model, make_views(growing(200_000)))
        tell(part="out of memory", message="there was enough")
    except MemoryError as error:
        tell(part="out of memory", message=str(error))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@part
def tensors_in():
    """Fit tensors that are on the GPU, and fit twice."""
    size = growing(20_000)
    Xs = make_views(size)
    options = {"max_iter": 5, "n_init": 3, "random_state": 0, "device": "cuda"}
    one = fit_quietly(PAVuC(10, **options), Xs)
    other = fit_quietly(PAVuC(10, **options), [on_gpu(X) for X in Xs])
    again = fit_quietly(PAVuC(10, **options), Xs)
    tell(
        part="tensors in",
        same_labels=bool((one.labels_ == other.labels_).all()),
        same_bits_again=bool((one.objective_ == again.objective_).all()),
        out=type(one.anchor_graphs_[0]).__name__,
    )


def main():
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    for name in parser.parse_args().parts or PARTS:
        start = time.perf_counter()
        try:
            PARTS[name]()
        except Exception:
            traceback.print_exc()
            tell(part=name, failed=traceback.format_exc(limit=-1).splitlines()[-1])
        tell(part=name, took_seconds=round(time.perf_counter() - start, 1))


if __name__ == "__main__":
    main()
