"""How much two narrow tables need in common: ``python -m benchmarks.overlap``.

Two files of equally many rows, of which a share is in both. Simulated ones are linear
maps of six Gaussian factors with noise, as in `benchmarks.trust`; real ones are tables
of scikit-learn, whose columns are dealt out to two files at random. `unaligned.align`
searches with default options. Adds a JSON line for each to ``results/overlap.jsonl``,
unless it is there.
"""

import argparse
import os
import time
from itertools import product

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.first_hour import TABLES, deal_out
from benchmarks.records import FOLDER, run_missing
from unaligned import align

RESULTS = FOLDER / "overlap.jsonl"
OVERLAPS = (1.0, 0.8, 0.5, 0.3)
ROWS = (200, 400, 800)
COLUMNS = ((12, 9), (20, 12))
NOISES = (0.1, 0.3)
REAL = ("breast cancer", "digits", "wine")
N_FACTORS = 6
SEEDS = range(3)


def cases():
    """List cases as (kind, what, rows, overlap, seed)."""
    for columns, noise, n in product(COLUMNS, NOISES, ROWS):
        for overlap, seed in product(OVERLAPS, SEEDS):
            yield ["simulated", [*columns, noise], n, overlap, seed]
    for name, overlap, seed in product(REAL, OVERLAPS, SEEDS):
        yield ["real", [name], len(TABLES[name]().data), overlap, seed]


def make(case):
    """Two tables, and the objects of their rows."""
    kind, what, n, overlap, seed = case
    rng = np.random.RandomState(seed)
    if kind == "simulated":
        d, e, noise = what
        n_objects = round(n * (2 - overlap))
        factors = rng.randn(n_objects, N_FACTORS)
        Xs = [
            factors @ rng.randn(N_FACTORS, width) + noise * rng.randn(n_objects, width)
            for width in (d, e)
        ]
    else:
        Xs = deal_out(TABLES[what[0]]().data, rng)
        n_objects, n = n, int(n / (2 - overlap))
    objects = rng.permutation(n_objects)
    one, other = objects[:n], rng.permutation(objects[n_objects - n :])
    return Xs[0][one], Xs[1][other], one, other


def run(case):
    """Align two tables, and compare with the truth."""
    X, Y, one, other = make(case)
    start = time.process_time()
    found = align([X, Y], random_state=case[-1])
    seconds = time.process_time() - start
    view = 1 - found.template
    trusted = found.verdict[view] == "objects"
    pairs = found.pairs(0, 1) if trusted else np.empty((0, 2), dtype=int)
    right = int(np.sum(one[pairs[:, 0]] == other[pairs[:, 1]]))
    return {
        "rows": [len(X), len(Y)],
        "columns": [X.shape[1], Y.shape[1]],
        "common": len(np.intersect1d(one, other)),
        "trust": round(float(found.trust[view]), 4),
        "trusted": trusted,
        "matches": len(pairs),
        "right": right,
        "CPU s": round(seconds, 1),
    }


def main():
    """Search the cases that were not searched yet."""
    argparse.ArgumentParser(description=__doc__.split("\n\n")[0]).parse_args()
    run_missing(RESULTS, [*cases()], run)


if __name__ == "__main__":
    main()
