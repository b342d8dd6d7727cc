"""Run the benchmarks and print a line per case: ``python -m benchmarks``."""

import time

from benchmarks.pavuc import Fit


def best_of(repeats, run, *arguments):
    """Shortest wall time of a few runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    """Compare whole fits with the straightforward version, in one run."""
    print("fit of 15 iterations, three views, k = 10 (k-means included in ours)")
    print(f"{'n':>8} {'plain NumPy s':>14} {'unaligned s':>12} {'ratio':>7} {'gap':>9}")
    for n in Fit.params:
        case = Fit()
        case.setup(n)
        plain = best_of(1 if n > 2000 else 3, case.time_straightforward, n)
        ours = best_of(3, case.time_unaligned, n)
        gap = case.track_objective_gap(n)
        print(f"{n:8d} {plain:14.2f} {ours:12.2f} {plain / ours:6.1f}x {gap:9.1e}")


if __name__ == "__main__":
    main()
