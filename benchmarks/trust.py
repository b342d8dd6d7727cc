"""Is trust right? Right, wrong and unrelated pairs of views, searched and tested.

``python -m benchmarks.trust`` searches many pairs of views and adds a JSON line for
each to ``benchmarks/results/trust.jsonl``, unless it is there:

- ``true``: views of one dataset, each shuffled on its own;
- ``shuffles``: the same of CCV, many times, at up to all of its rows;
- ``cross``: views of two datasets of one side of the split;
- ``columns``: views of one dataset, every column of one of them permuted on its own;
- ``disjoint``: views of different objects of one dataset;
- ``generated``: two draws of one kind of data (`benchmarks.data.unrelated`);
- ``related``: linear maps of common factors, with noise.

``--calibrate`` then fits the turning point and the sharpness of trust by logistic
regression on development sets and generated pairs, and prints what holds on the
checking sets. ``$UNALIGNED_DATA`` names the folder with the files; ``--jobs`` spreads
the pairs over processes.
"""

import argparse
import os
import time
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path

# Before NumPy is loaded: processes side by side need one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

from benchmarks.data.split import CHECKING, DEVELOPMENT, side_of
from benchmarks.data.unrelated import KINDS, related_views, unrelated_views
from benchmarks.pages.trust import (
    SIDES,
    counts,
    describe_error,
    describe_fit,
    distinct,
    errors_of,
    grouped,
    is_right,
    kind_of,
    of_side,
    summary,
)
from benchmarks.pages.trust import side_of as side_of_record
from benchmarks.records import FOLDER, run_missing
from unaligned.datasets import load
from unaligned.json_lines import read_records
from unaligned.kernels.devices import Cores
from unaligned.savuc.assign import match_views
from unaligned.savuc.config import EFFORTS, settings_of
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.search import search_pair
from unaligned.savuc.starts import prepare_view

RESULTS = FOLDER / "trust.jsonl"
MOST_PAIRS = 6  # pairs of views of one dataset
ROWS = 250, 600, 2000
NOWHERE = 10**9  # added to the numbers of objects that are in one view only


@lru_cache(maxsize=4)
def dataset(name):
    """Load views and labels of a dataset."""
    data = load(name)
    return data.Xs, np.asarray(data.y)


def cases():
    """List cases as (kind, side, what, rows, seed), the same ones every time."""
    rng = np.random.RandomState(0)
    found = []
    for names in (DEVELOPMENT, CHECKING):
        views = []
        for name in names:
            n_views = len(dataset(name)[0])
            views += [(name, i) for i in range(n_views)]
            pairs = list(combinations(range(n_views), 2))
            for at in rng.permutation(len(pairs))[:MOST_PAIRS]:
                what = [name, *pairs[at]]
                found += [("true", side_of(name), what, n, 0) for n in ROWS]
                found += [("true", side_of(name), what, ROWS[-1], 1)]
            for kind in ("columns", "disjoint"):
                what = [name, *pairs[rng.randint(len(pairs))]]
                found += [(kind, side_of(name), what, n, 2) for n in ROWS[:2]]
        for seed in range(40):
            a, b = (views[at] for at in rng.choice(len(views), 2, replace=False))
            if a[0] != b[0]:
                n = int(rng.choice([200, 400, 800]))
                found.append(("cross", side_of(a[0]), [*a, *b], n, seed))
    for i, j in combinations(range(3), 2):  # curved shapes that are easily overlaid
        for n in (2000, 5000, 6773):
            what = ["CCV", i, j]
            found += [("shuffles", side_of("CCV"), what, n, seed) for seed in range(10)]
    for kind in KINDS:
        for seed in range(18):
            n = int(rng.choice([150, 300, 500, 1000, 1500]))
            columns = rng.choice([2, 3, 5, 9, 20], size=2).tolist()
            found.append(("generated", "generated", [kind, *columns], n, seed))
        for seed in (18, 19):  # a test that is fooled by many rows is a trap
            found.append(("generated", "generated", [kind, 9, 9], 5000, seed))
    for n in (200, 400, 800, 1500, 5000):
        for columns in ((5, 5), (12, 9), (20, 12), (50, 40)):
            for noise in (0.1, 0.3, 0.6):
                what = [*columns, min(6, *columns), noise]
                found += [("related", "related", what, n, seed) for seed in range(3)]
    return found


def make(case):
    """Two views, the objects of their rows, and the classes of objects."""
    kind, _, what, n, seed = case
    rng = np.random.RandomState(seed)
    if kind == "generated":
        name, d, e = what
        one, other = unrelated_views(name, ((n, d), (n, e)), seed)
        return one, other, np.arange(n), NOWHERE + np.arange(n), None
    if kind == "related":
        d, e, n_factors, noise = what
        shapes = (n, d), (int(0.8 * n), e)
        one, other, rows = related_views(shapes, n_factors, noise, seed)
        return one, other, np.arange(n), rows, None
    if kind == "cross":
        (name, i, other_name, j) = what
        X, Y = dataset(name)[0][i], dataset(other_name)[0][j]
        a, b = (rng.permutation(view.shape[0])[:n] for view in (X, Y))
        return X[a], Y[b], a, NOWHERE + b, None
    name, i, j = what
    Xs, y = dataset(name)
    rows = rng.permutation(Xs[i].shape[0])
    if kind == "disjoint":
        n = min(n, len(rows) // 2)
        a, b = rows[:n], rows[n : 2 * n]
    else:
        a, b = rows[:n], rng.permutation(rows[:n])
    X, Y = Xs[i][a], Xs[j][b]
    if kind == "columns":
        Y = Y.toarray() if sparse.issparse(Y) else np.asarray(Y)
        Y = np.column_stack([rng.permutation(column) for column in Y.T])
        b = b + NOWHERE
    return X, Y, a, b, y


def search(X, Y, settings, seed, cores):
    """Prepare two views, and search their correspondence."""
    rng = np.random.RandomState(seed)
    views = [
        prepare_view(read_geometry(view, settings.n_directions, rng), settings, rng)
        for view in (X, Y)
    ]
    return views, search_pair(*views, settings, rng, cores)


def run(case, effort="normal"):
    """Search one pair of views, and tell how right it is."""
    kind, *_, seed = case
    X, Y, a, b, y = make(case)
    settings, cores = settings_of(effort), Cores(1)
    start = time.process_time()
    with cores.busy():
        views, fit = search(X, Y, settings, seed, cores)
        seconds = time.process_time() - start
        partner = match_views(fit.cross, *views, settings).partner
    matched = np.flatnonzero(partner >= 0)
    pairs = a[matched], b[partner[matched]]
    n_common = max(1, len(np.intersect1d(a, b)))
    record = {
        "n": [len(a), len(b)],
        "score": fit.score,
        "evidence": fit.evidence.mean,
        "error": min(fit.evidence.error, 1.0),
        "rivals": [list(rival) for rival in fit.rivals],
        "excess": max(fit.excess, -1.0),
        "exact": float(np.sum(pairs[0] == pairs[1]) / n_common),
        "seconds": round(seconds, 2),
    }
    if y is not None and kind != "columns":
        shares = np.bincount(y[a]) / len(a)
        record["same_class"] = float(np.mean(y[pairs[0]] == y[pairs[1]]))
        record["chance"] = float(shares @ shares)
    return record


def calibrate(records):
    """Print what trust should turn at, and how right it is with today's settings."""
    print(f"{len(records)} pairs. {describe_fit(records)}")
    for side in SIDES:
        wrong = [r["excess"] for r in of_side(records, side) if not is_right(r)]
        if wrong:
            print(
                f"{side}: largest excess of {len(wrong)} wrong pairs {max(wrong):.3f}"
            )
    print("\nkind, side: wrong pairs, trusted of them; objects found, missed of them")
    for (kind, side), these in grouped(records, kind_of, side_of_record).items():
        print("{}, {}: {}, {}; {}, {}".format(kind, side, *counts(these)))
    print()
    for line in summary(of_side(records, "checking")):
        print(line)
    errors = errors_of(records)
    print(f"\n{len(errors)} errors")
    for record in errors:
        print(describe_error(record))


def main():
    """Search the pairs that were not searched yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--kinds", help="only these kinds, separated by commas")
    parser.add_argument("--effort", choices=EFFORTS, default="normal")
    parser.add_argument(
        "--calibrate", action="store_true", help="fit trust to what was searched"
    )
    arguments = parser.parse_args()
    if arguments.calibrate:
        calibrate(distinct(read_records(arguments.results)))
        return
    kinds = arguments.kinds and arguments.kinds.split(",")
    wanted = [case for case in cases() if not kinds or case[0] in kinds]
    searched = partial(run, effort=arguments.effort)
    run_missing(arguments.results, wanted, searched, arguments.jobs)


if __name__ == "__main__":
    main()
