"""Where trust turns: gains of right, wrong and unrelated pairs of views.

``python -m benchmarks.trust`` aligns many pairs of views and adds a JSON line for each
to ``benchmarks/results/trust.jsonl``, unless it is there: views of one dataset with
their rows shuffled (true), views of two datasets (cross), views with every column
permuted on its own (columns), and views of different objects of one dataset (disjoint).
``$UNALIGNED_DATA`` names the folder with the files; ``--jobs`` spreads the pairs over
processes.
"""

import argparse
import json
import os
from functools import cache
from multiprocessing import Pool
from pathlib import Path

# Before NumPy is loaded: processes side by side need one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

from unaligned.datasets import load
from unaligned.json_lines import append_record, read_records
from unaligned.kernels.devices import Cores
from unaligned.metrics import category_alignment_chance
from unaligned.savuc.align import EFFORTS
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.joint import Search, try_pair
from unaligned.savuc.row_matching import match_rows
from unaligned.savuc.trust import trust_in

RESULTS = Path(__file__).parent / "results" / "trust.jsonl"
SIZES = (100, 450), (450, 1000), (1000, 5000)  # rows
N_VIEWS = {
    "Handwritten": 6,
    "Reuters-1200": 5,
    "ORL": 4,
    "MSRC-v1": 5,
    "BBCSport": 2,
    "100Leaves": 3,
    "Caltech101-20-recon": 6,
    "CIFAR10-10k-recon": 3,
    "ProteinFold": 12,
    "Wiki": 2,
    "scGEM": 2,
    "sciCAR-A549": 2,
}
RELATED = [  # views known to share their geometry
    ("Handwritten", 0, 4),
    ("Handwritten", 0, 2),
    ("Handwritten", 2, 4),
    ("Reuters-1200", 0, 1),
    ("Reuters-1200", 2, 3),
    ("CIFAR10-10k-recon", 0, 2),
    ("CIFAR10-10k-recon", 0, 1),
    ("Caltech101-20-recon", 3, 4),
    ("Caltech101-20-recon", 3, 5),
    ("MSRC-v1", 3, 4),
    ("MSRC-v1", 1, 2),
    ("ORL", 1, 3),
    ("BBCSport", 0, 1),
]


def cases():
    """List (kind, view, view, rows, seed), small ones first."""
    rng = np.random.RandomState(0)
    views = [(name, i) for name, count in N_VIEWS.items() for i in range(count)]
    found = []
    for seed in range(60):
        a, b = (views[at] for at in rng.choice(len(views), 2, replace=False))
        if a[0] != b[0]:
            found.append(("cross", a, b, int(rng.choice([200, 400, 700, 1200])), seed))
    for name, i, j in RELATED:
        a, b = (name, i), (name, j)
        found += [("true", a, b, n, seed) for n in (300, 1200, 2000) for seed in (0,)]
        found += [(k, a, b, n, 2) for k in ("columns", "disjoint") for n in (300, 1200)]
    for seed in range(6):
        i, j = (int(at) for at in rng.choice(12, 2, replace=False))
        found.append(("true", ("ProteinFold", i), ("ProteinFold", j), 700, seed))
    # Hardly related, and yet searches find more than in any unrelated pair.
    for i, j in ((6, 7), (7, 8), (8, 9)):
        a, b = ("ProteinFold", i), ("ProteinFold", j)
        found += [("true", a, b, 700, seed) for seed in range(10, 16)]
    once = {name_of(case): case for case in found}
    return sorted(once.values(), key=lambda case: case[3])


def name_of(case):
    """Name a case by what makes it, and by how many rows it really has."""
    kind, a, b, most, seed = case
    share = 2 if kind == "disjoint" else 1
    n = min(most, n_objects(a[0]) // share, n_objects(b[0]) // share)
    return json.dumps([kind, a, b, n, seed])


@cache
def n_objects(name):
    """Count the objects of a dataset."""
    return len(load(name).y)


def identity(result):
    """Name of the case that a result is of."""
    return json.dumps([result[k] for k in ("kind", "one", "other", "rows", "seed")])


def run(case):
    """Align one pair of views."""
    kind, (name_a, i), (name_b, j), most, seed = case
    rng = np.random.RandomState(seed)
    a, b = load(name_a), load(name_b)
    rows_a, rows_b = rng.permutation(len(a.y)), rng.permutation(len(b.y))
    if kind != "cross":
        half = len(rows_a) // 2
        rows_b = rng.permutation(rows_a[:most])
        if kind == "disjoint":
            rows_a, rows_b = rows_a[:half], rows_a[half : 2 * half]
    n = min(most, len(rows_a), len(rows_b))
    rows_a, rows_b = rows_a[:n], rows_b[:n]
    X, Z = (dense(v.Xs[at][rows]) for v, at, rows in ((a, i, rows_a), (b, j, rows_b)))
    if kind == "columns":
        Z = np.column_stack([rng.permutation(column) for column in Z.T])
    one, other = read_geometry(X, rng), read_geometry(Z, rng)
    search = Search(*EFFORTS["normal"], np.inf, Cores(1), lambda *_: None)
    found = try_pair(one, other, search, rng)
    result = {"kind": kind, "one": [name_a, i], "other": [name_b, j], "rows": n}
    result |= {"seed": seed, "gain": round(found.best.gain, 4)}
    result["confirmed"] = found.confirmed
    if kind != "cross":
        partner = match_rows(found.best.cross, one.fine, other.fine).partner
        y_a, y_b = a.y[rows_a], b.y[rows_b]
        result["same class"] = round(float(np.mean(y_a == y_b[partner])), 3)
        result["chance"] = round(category_alignment_chance(y_a, y_b), 3)
        result["same object"] = round(float(np.mean(rows_a == rows_b[partner])), 3)
    return result


def dense(X):
    """Rows of a view as float64."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def main():
    """Run all cases and print the largest and smallest gains of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    there = set(map(identity, read_records(RESULTS)))
    missing = [case for case in cases() if name_of(case) not in there]
    with Pool(arguments.jobs) as pool:
        for result in pool.imap(run, missing):
            append_record(RESULTS, result)
            print(json.dumps(result), flush=True)
    summarise([*read_records(RESULTS)])


def summarise(results):
    """Print the range of gains and the number trusted, for each kind and size."""
    for kind in ("cross", "columns", "disjoint", "true, wrong", "true, right"):
        for low, high in SIZES:
            these = of_kind(results, kind, low, high)
            if these:
                gains = sorted(r["gain"] for r in these)
                trusted = sum(trust_of(r) >= 0.5 for r in these)
                print(
                    f"{kind:12} {low:5}–{high:<5} {len(these):3} pairs, "
                    f"{trusted:3} trusted, gain {gains[0]:.3f} to {gains[-1]:.3f}"
                )


def trust_of(result):
    """Trust in a recorded pair."""
    return trust_in(result["gain"], result["rows"], result["confirmed"])


def of_kind(results, kind, low, high):
    """Results of one kind, by their number of rows."""
    return [r for r in results if kind_of(r) == kind and low <= r["rows"] < high]


def kind_of(result):
    """Kind of a result; a true pair is right if aligned 3 times better than chance."""
    if result["kind"] != "true":
        return result["kind"]
    right = result["same class"] >= 3 * result["chance"]
    return "true, right" if right else "true, wrong"


if __name__ == "__main__":
    main()
