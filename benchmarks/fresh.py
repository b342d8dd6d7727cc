"""Alignment of real tables that were not used to choose anything.

``python -m benchmarks.fresh`` does it.

Tables of `benchmarks.data.fresh_tables`, through `unaligned.prepare` and
`unaligned.align` with default options. Adds a JSON line per case to
``benchmarks/results/fresh.jsonl``, unless it is there; a table whose package is not
installed is skipped, and said so.

- ``split``: columns of one table dealt out at random to two files, rows shuffled;
- ``groups``: natural groups of columns, such as the bands of a spectrum;
- ``cross``: two tables, cut to the same number of rows;
- ``disjoint``: columns dealt out, and rows, too: no object in common;
- ``parts``: natural groups of columns, no object in common;
- ``columns``: columns dealt out, those of one file permuted one by one.

Where partners exist and views were refused, the search is started from the truth: from
the cross-correlation of the true pairs. It is refined and tested like any other, which
tells whether the search failed, or the test refused, or there is nothing to find.
"""

import argparse
import os
import time
from importlib.util import find_spec
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.data.fresh_tables import TABLES, load_table
from benchmarks.pages.fresh import RESULTS
from benchmarks.records import run_missing
from benchmarks.trust import NOWHERE
from unaligned import align, prepare
from unaligned.datasets import DataFileError
from unaligned.kernels.devices import Cores
from unaligned.savuc import growth
from unaligned.savuc.assign import match_views
from unaligned.savuc.config import Settings
from unaligned.savuc.rivals import fit_against_rivals
from unaligned.savuc.search import PairSearch, search_pair

ROWS_OF_SPLITS = 1500
ROWS_OF_NULLS = 800
SEEDS = range(3)
N_CROSS = 110
SPLIT = [name for name in TABLES if name != "documentation"]  # that has one column


def cases():
    """List cases as [kind, what, rows, seed], the same ones every time."""
    found = []
    for seed in SEEDS:
        found += [["split", [name], ROWS_OF_SPLITS, seed] for name in SPLIT]
        for kind, rows in (("groups", ROWS_OF_SPLITS), ("parts", ROWS_OF_NULLS)):
            for name, table in TABLES.items():
                found += [[kind, [name, what], rows, seed] for what in table.groups]
        for kind in ("disjoint", "columns"):
            found += [[kind, [name], ROWS_OF_NULLS, seed] for name in SPLIT]
    rng = np.random.RandomState(0)
    while sum(case[0] == "cross" for case in found) < N_CROSS:
        one, other = (SPLIT[at] for at in rng.choice(len(SPLIT), 2, replace=False))
        if TABLES[one].package != TABLES[other].package or rng.rand() < 0.5:
            found.append(["cross", [one, other], ROWS_OF_NULLS, len(found)])
    return found


def take(X, columns=None, rows=None):
    """Take columns or rows of a data frame or an array."""
    if columns is not None:
        X = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
    if rows is not None:
        X = X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]
    return X


def deal_out(X, rng):
    """Deal columns out to two files at random."""
    columns = rng.permutation(X.shape[1])
    half = (len(columns) + 1) // 2
    return take(X, columns[:half]), take(X, columns[half:])


def permute_columns(X, rng):
    """Permute every column on its own."""
    X = X.copy()
    for j in range(X.shape[1]):
        order = rng.permutation(len(X))
        if hasattr(X, "iloc"):
            X[X.columns[j]] = X.iloc[order, j].to_numpy()
        else:
            X[:, j] = X[order, j]
    return X


def make(case):
    """Two tables, and the objects of their rows."""
    kind, what, most, seed = case
    rng = np.random.RandomState(seed)
    loaded = load_table(what[0])
    n = len(loaded.X)
    if kind == "cross":
        X, Y = loaded.X, load_table(what[1]).X
        size = min(len(X), len(Y), most)
        a, b = (rng.permutation(len(side))[:size] for side in (X, Y))
        return take(X, rows=a), take(Y, rows=b), a, NOWHERE + b
    of_groups = kind in ("groups", "parts")
    X, Y = loaded.groups[what[1]] if of_groups else deal_out(loaded.X, rng)
    rows = rng.permutation(n)
    if kind in ("disjoint", "parts"):
        size = min(most, n // 2)
        a, b = rows[:size], rows[size : 2 * size]
    else:
        a, b = rows[:most], rng.permutation(rows[:most])
    X, Y = take(X, rows=a), take(Y, rows=b)
    if kind == "columns":
        Y, b = permute_columns(Y, rng), NOWHERE + b
    return X, Y, a, b


def run(case):
    """Align two tables, compare with the truth, and start from it where refused."""
    X, Y, a, b = make(case)
    views = [prepared(side) for side in (X, Y)]
    searched = []

    def search(one, other, *rest):
        fit = search_pair(one, other, *rest)
        searched.append((one, other, fit))
        return fit

    start = time.process_time()
    with patch.object(growth, "search_pair", search):
        found = align(views, random_state=case[-1])
    seconds = time.process_time() - start
    one, other, fit = searched[0]
    pairs = found.pairs(0, 1)
    trusted = len(pairs) > 0
    n_common = len(np.intersect1d(a, b))
    record = {
        "rows": [len(a), len(b)],
        "columns": [view.shape[1] for view in views],
        "trusted": trusted,
        "trust": round(fit.trust, 4),
        "excess": rounded(fit.excess),
        "evidence": rounded(fit.evidence.mean),
        "error": rounded(fit.evidence.error),
        "rivals": [rounded(rival.mean) for rival in fit.rivals],
        "score": rounded(fit.score),
        "few factors": PairSearch(one, other, Settings(), Cores(1)).few_factors,
        "CPU s": round(seconds, 1),
    }
    if n_common:
        if not trusted:
            record["truth"] = from_truth(one, other, a, b, case[-1])
            pairs = all_pairs(fit.cross, one, other)
        record["exact"] = share_right(pairs, a, b)
    if (y := load_table(case[1][0]).y) is not None and case[0] in ("disjoint", "parts"):
        record["same class"] = float(np.mean(y[a[pairs[:, 0]]] == y[b[pairs[:, 1]]]))
    return record


def installed(cases):
    """Leave out the cases of packages that are not installed, and say so."""
    packages = {table.package for table in TABLES.values()}
    missing = {package for package in packages if find_spec(package) is None}
    if missing:
        print(f"not installed: {', '.join(sorted(missing))}")

    def is_there(case):
        names = case[1] if case[0] == "cross" else case[1][:1]
        return missing.isdisjoint(TABLES[name].package for name in names)

    return [*filter(is_there, cases)]


def prepared(table):
    """Prepare a table; number its rows where ids are asked for and have gaps."""
    try:
        return prepare(table).X
    except DataFileError:  # it says what to do
        return prepare(table, id_column=False).X


def rounded(value):
    """Four digits for a record, within bounds that JSON can hold."""
    return round(float(np.clip(value, -1, 1000)), 4)


def all_pairs(cross, one, other):
    """Match all rows by a cross-correlation, trusted or not."""
    with Cores(1).busy():
        partner = match_views(cross, one, other, Settings()).partner
    matched = np.flatnonzero(partner >= 0)
    return np.column_stack([matched, partner[matched]])


def share_right(pairs, a, b):
    """Share of the common objects that were matched with themselves."""
    right = np.sum(a[pairs[:, 0]] == b[pairs[:, 1]])
    return float(right / len(np.intersect1d(a, b)))


def from_truth(one, other, a, b, seed):
    """Refine and test the true matching as the search would."""
    cores, settings = Cores(1), Settings()
    rng = np.random.RandomState(seed)
    _, at_one, at_other = np.intersect1d(a, b, return_indices=True)
    cross = one.whitened[at_one].T @ other.whitened[at_other] / len(at_one)
    started = share_right(all_pairs(cross, one, other), a, b)
    with cores.busy():
        search = PairSearch(one, other, settings, cores)
        fit = fit_against_rivals(search, search.refine(cross, rng), [], [], rng)
    return {
        "started": started,
        "exact": share_right(all_pairs(fit.cross, one, other), a, b),
        "score": rounded(fit.score),
        "evidence": rounded(fit.evidence.mean),
        "error": rounded(fit.evidence.error),
        "excess": rounded(fit.excess),
        "trust": round(fit.trust, 4),
        "rivals": [rounded(rival.mean) for rival in fit.rivals],
    }


def main():
    """Run the cases that were not run yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", help="only these kinds, separated by commas")
    parser.add_argument("--seeds", type=int, help="only so many seeds of each")
    arguments = parser.parse_args()
    kinds = arguments.kinds and arguments.kinds.split(",")
    seeds = SEEDS if arguments.seeds is None else range(arguments.seeds)
    wanted = [
        case
        for case in cases()
        if (not kinds or case[0] in kinds) and (case[0] == "cross" or case[-1] in seeds)
    ]
    run_missing(RESULTS, installed(wanted), run)


if __name__ == "__main__":
    main()
