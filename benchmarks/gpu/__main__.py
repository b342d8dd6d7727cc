"""PAVuC on a GPU: whether the answer is right, and how long it takes.

``python -m benchmarks.gpu`` prints a JSON line per result. A part that fails prints its
traceback, and the others go on. ``python -m benchmarks.gpu fits stages`` runs only the
parts named.
"""

import argparse
import time
import traceback
from functools import partial
from unittest.mock import patch

import numpy as np
import torch

from benchmarks.data.sizes import SIZES, growing, make_views
from benchmarks.gpu import kernels  # noqa: F401 - more parts
from benchmarks.gpu.tools import (
    PARTS,
    begin,
    iterate,
    on_gpu,
    part,
    synchronise,
    tell,
)
from benchmarks.pavuc import fit_quietly
from unaligned import PAVuC
from unaligned.kernels.devices import Cores, on_host
from unaligned.kernels.gpu import Torch
from unaligned.kernels.matching import match_greedy
from unaligned.pavuc import estimator, iteration


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
        start = time.perf_counter()
        few = [X[:3000] for X in Xs]
        fit_quietly(PAVuC(size.k, n_anchors=size.m, max_iter=3, device="cuda"), few)
        first = round(time.perf_counter() - start, 2)
        torch.cuda.reset_peak_memory_stats()
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
            seconds_of_a_small_fit_before=first,  # compiles, where it is the first
            memory_gb=round(torch.cuda.max_memory_allocated() / 1e9, 2),
            nonzeros_per_row=[
                round(float(np.count_nonzero(G) / len(G)), 2)
                for G in model.anchor_graphs_
            ],
        )


@part
def recorded(iterations=20):
    """Compare iterations that are recorded with those that Python launches."""
    for name, size in SIZES.items():
        Xs = make_views(size)
        reached, spent = [], []
        for record in (False, True):
            posed, state = begin(Xs, size, Torch(record=record))
            state = iterate(posed, state, 5)  # they are recorded after the first
            synchronise()
            start = time.perf_counter()
            state = iterate(posed, state, iterations)
            synchronise()
            spent.append(1000 * (time.perf_counter() - start) / iterations)
            reached.append(state)
            fit = whole_fit(Xs, size, record)
            tell(part="recorded", size=name, record=record, fit_seconds=fit)
        plain, replayed = reached
        tell(
            part="recorded",
            size=name,
            milliseconds_per_iteration=[round(one, 2) for one in spent],
            same_template=plain.template == replayed.template,
            objective_gap=abs(plain.objective / replayed.objective - 1),
            largest_graph_gap=max(
                float((G - H).abs().max())
                for G, H in zip(plain.graphs, replayed.graphs, strict=True)
            ),
            rows_matched_otherwise=sum(
                int((p != q).sum())
                for p, q in zip(plain.permutations, replayed.permutations, strict=True)
            ),
        )


def whole_fit(Xs, size, record):
    """Seconds of two fits of 60 iterations, k-means included."""
    parameters = {"n_anchors": size.m, "tol": 0, "random_state": 0, "device": "cuda"}
    model = PAVuC(size.k, max_iter=60, **parameters)
    times = []
    with patch.object(estimator, "Torch", partial(Torch, record=record)):
        for _ in range(2):
            start = time.perf_counter()
            fit_quietly(model, Xs)
            times.append(round(time.perf_counter() - start, 2))
    return times


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
        "update_projections",
        "update_anchors",
        "partner_rows",
        "sweep_side_by_side",
        "update_permutations",
        "objective",
        "view_errors",
    )
    originals = {name: getattr(iteration, name) for name in names}
    for size_name, size in SIZES.items():
        spent = dict.fromkeys(names, 0.0)

        def timed(name, function, spent=spent):
            def run(*arguments):
                synchronise()
                start = time.perf_counter()
                result = function(*arguments)
                synchronise()
                spent[name] += time.perf_counter() - start
                return result

            return run

        Xs = make_views(size)
        start = time.perf_counter()
        posed, state = begin(Xs, size, Torch())
        synchronise()
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
        tell(
            part="stages",
            size=size_name,
            milliseconds_per_iteration=round(100 * whole, 2),
            set_up_seconds=round(set_up, 2),
            **{name: round(100 * value, 2) for name, value in spent.items()},
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
