"""Whether a time limit holds, whatever the number of views and what is known of them.

``python -m benchmarks.time_limit`` fits and aligns 200 views of five columns, and a few
large ones, and prints how long each took beside its limit.
"""

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np

from unaligned import SAVuC, align

N_VIEWS, N_COLUMNS = 200, 5
# What is fitted: rows, views, columns, and what is known.
CASES: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "nothing known": (300, N_VIEWS, N_COLUMNS, {}),
    "1,000 rows": (1000, N_VIEWS, N_COLUMNS, {}),
    "a quarter known": (300, N_VIEWS, N_COLUMNS, {"aligned": 75}),
    "all known": (300, N_VIEWS, N_COLUMNS, {"aligned": "all"}),
    "auto": (300, N_VIEWS, N_COLUMNS, {"n_clusters": "auto"}),
    "align alone": (300, N_VIEWS, N_COLUMNS, {}),
    "three large views": (20_000, 3, 50, {}),
    "large, auto": (20_000, 3, 50, {"n_clusters": "auto"}),
}


def make_views(n_rows: int, n_views: int, n_columns: int, shuffled: bool) -> list[Any]:
    """Noisy linear measurements of the same objects."""
    rng = np.random.RandomState(0)
    objects = rng.normal(size=(n_rows, 8)) + 6 * rng.randint(3, size=(n_rows, 1))
    views = []
    for _ in range(n_views):
        X = objects @ rng.normal(size=(8, n_columns))
        X += 0.1 * rng.normal(size=X.shape)
        views.append(X[rng.permutation(n_rows)] if shuffled else X)
    return views


def run(case: str, limit: float) -> tuple[float, float, Counter[str]]:
    """Seconds that a fit took, those of processor time, and the verdicts."""
    *sizes, known = CASES[case]
    Xs = make_views(*sizes, shuffled="aligned" not in known)
    aligned, k = known.get("aligned"), known.get("n_clusters", 3)
    start, begun = time.perf_counter(), time.process_time()
    if case == "align alone":
        found = align(Xs, time_limit=limit, random_state=0)
    else:
        model = SAVuC(k, time_limit=limit, random_state=0).fit(Xs, aligned=aligned)
        found = model.alignment_
    seconds, cpu = time.perf_counter() - start, time.process_time() - begun
    if case != "align alone":  # what was found can be used
        assert all(len(model.predict(X, i)) == len(X) for i, X in enumerate(Xs))
    return seconds, cpu, Counter(found.verdict)


def main() -> None:
    """Print a line for every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    allowed = max(1.2 * options.limit, options.limit + 2)
    warm_up = make_views(60, 2, 12, shuffled=True)
    SAVuC(2, effort="quick", random_state=0).fit(warm_up)  # compiles what is compiled
    for case in options.cases or CASES:
        seconds, cpu, verdicts = run(case, options.limit)
        held = "held" if seconds <= allowed else "NOT HELD"
        print(
            f"{case:18} limit {options.limit:g} s, took {seconds:5.1f} s "
            f"({cpu:.1f} s of processor time): {held}, {dict(verdicts)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
