"""Run the benchmarks and print a line per case: ``python -m benchmarks``.

Times are CPU seconds of all threads, the shortest of a few runs: what others do on the
machine shows little in them. Whole fits run in a process of their own and tell their
wall time and memory, too. ``--large`` adds the sizes of the paper, and growth to a
million rows; ``python -m benchmarks.gpu`` has all of the GPU.
"""

import argparse
import time

import numpy as np

from benchmarks import kernels, matching, pavuc
from benchmarks.data.sizes import SIZES

HEADING = f"{'wall s':>9} {'CPU s':>9} {'peak over input':>16}"


def timed(run, repeats=1):
    """Shortest CPU time of a few runs, and the result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        times.append(time.process_time() - start)
    return min(times), result


def compare(title, make, parameters, yardstick, difference, repeats=1):
    """Print a line for each parameter: yardstick, ours, ratio, and how they differ."""
    print(f"\n{title}")
    print(f"{'':>8} {yardstick:>16} {'unaligned':>10} {'ratio':>8} {difference:>16}")
    for parameter in parameters:
        ours, plain, gap = make(parameter)
        ours()  # compile first
        seconds, found = timed(ours, 3)
        plain_seconds, expected = timed(plain, repeats)
        print(
            f"{parameter:8d} {plain_seconds:16.3f} {seconds:10.3f} "
            f"{plain_seconds / seconds:7.1f}x {gap(found, expected):16.2g}",
            flush=True,
        )


def compare_optimal(n=2000):
    """Print what the largest total score costs, with SciPy and with POT."""
    print("\noptimal matchings of graphs of a fit, and the greedy one")
    ways, total = matching.optimal(n)
    found = {name: timed(way) for name, way in ways.items()}
    least = found["greedy"][0]
    listed = ", ".join(
        f"{name} {seconds:.3f} s ({seconds / least:.0f}x)"
        for name, (seconds, _) in found.items()
    )
    share = total(found["greedy"][1]) / total(found["scipy"][1])
    print(f"{n:8d} {listed}; greedy reaches {share:.3f} of the optimum", flush=True)


def tell_full_size():
    """Print wall time and memory of fits at the sizes of the paper."""
    print(f"\nfits of 60 iterations, float32\n{'':>12} {HEADING}")
    for name in SIZES:
        tell_one(pavuc.measure_apart(name, 60))


def tell_growth(rows):
    """Print wall time and memory of fits, and how they grow with the rows."""
    print(f"\nfits of 10 iterations, three views of 64 features\n{'':>12} {HEADING}")
    found = []
    for n in rows:
        found.append(pavuc.measure_apart(n, 10))
        tell_one(found[-1])
    for measured in ("seconds", "cpu_seconds"):
        logs = np.log([one[measured] for one in found])
        slope = np.polyfit(np.log(rows), logs, 1)[0]
        print(f"{measured} grow as n to the {slope:.2f}")


def tell_one(one):
    """Print a line for one fit."""
    print(
        f"{one['size']:>12} {one['seconds']:9.1f} {one['cpu_seconds']:9.1f} "
        f"{one['peak_over_input']:16.2f}",
        flush=True,
    )


def main():
    """Compare kernels, matchings and fits, in one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="whole fits at full size")
    large = parser.parse_args().large
    plain = "straightforward"
    compare("simplex projection", kernels.simplex, [10, 100], plain, "gap", 3)
    compare("a pass over a view", kernels.one_pass, [512, 2048], plain, "gap", 3)
    sizes = [10_000, 50_000]
    compare("greedy matching, m = 10", matching.greedy, sizes, "literal", "differences")
    compare_optimal()
    compare("15 iterations", pavuc.short_fit, [1000, 5000], plain, "objective gap")
    tell_growth((10_000, 100_000, 1_000_000) if large else (10_000, 30_000, 100_000))
    if large:
        tell_full_size()


if __name__ == "__main__":
    main()
