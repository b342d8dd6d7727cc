"""Clusters of fresh tables: ``python -m benchmarks.fresh_clusters``.

Two views of every labelled table of `benchmarks.data.fresh_tables`: natural groups of
its columns, or columns dealt out at random. Adds a JSON line per case to
``benchmarks/results/fresh_clusters.jsonl``, unless it is there:

- ``unknown``: no pair is known. Accuracy of SAVuC's labels of its ``best_view_``, given
  the number of classes, and of the best single view by labels (k-means and spectral
  clustering on two scales); and the number of clusters chosen without labels;
- ``half``: half of the pairs are known. Accuracy of one naming over all rows of both
  views, of SAVuC and of the plain bridge, and the floor of random names.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.data.fresh_tables import TABLES, load_table
from benchmarks.fresh import deal_out, installed, prepared, take
from benchmarks.pages.fresh import CLUSTERS
from benchmarks.records import run_missing
from benchmarks.savuc import oracle_single
from unaligned import SAVuC
from unaligned.benchmark.plain_bridge import PlainBridge
from unaligned.datasets import unalign
from unaligned.metrics import clustering_accuracy, joint_scores
from unaligned.selection import select_n_clusters

ROWS = 1000
DEALT_OUT = "dealt out"


def cases():
    """List cases as [kind, [table, views], seed]."""
    found = []
    for kind in ("unknown", "half"):
        for name, table in TABLES.items():
            dealt_out = [] if name == "documentation" else [DEALT_OUT]
            views = [*table.groups, *dealt_out]
            found += [[kind, [name, what], 0] for what in views]
    return found


def make(case):
    """Two prepared views of the same rows, and their classes."""
    _, (name, what), seed = case
    loaded, rng = load_table(name), np.random.RandomState(seed)
    views = deal_out(loaded.X, rng) if what == DEALT_OUT else loaded.groups[what]
    rows = rng.permutation(len(loaded.X))[:ROWS]
    Xs = [prepared(take(view, rows=rows)) for view in views]
    return Xs, np.unique(loaded.y[rows], return_inverse=True)[1]


def percent(y, labels):
    """Accuracy of labels."""
    return round(100 * float(clustering_accuracy(y, labels)), 1)


def run(case):
    """Cluster two views of one table."""
    Xs, y = make(case)
    kind, _, seed = case
    k = int(y.max()) + 1
    shuffled = unalign(Xs, y, ratio=0.5 if kind == "half" else 0, random_state=seed)
    known = {"aligned": shuffled.n_aligned} if kind == "half" else {}
    start = time.process_time()
    model = SAVuC(k, random_state=seed).fit(shuffled.Xs, **known)
    record = {
        "rows": len(y),
        "columns": [X.shape[1] for X in Xs],
        "k": k,
        "verdict": [str(verdict) for verdict in model.alignment_.verdict],
        "CPU s": round(time.process_time() - start, 1),
    }
    if kind == "half":
        plain = PlainBridge(k, random_state=seed).fit(shuffled.Xs, **known)
        scores = joint_scores(shuffled.ys, model.view_labels_)
        bridged = joint_scores(shuffled.ys, plain.view_labels_)
        return record | {
            "joint": round(100 * scores["acc"], 1),
            "floor": round(100 * scores["floor_acc"], 1),
            "plain bridge": round(100 * bridged["acc"], 1),
        }
    best = model.best_view_
    chosen = select_n_clusters(shuffled.Xs, random_state=seed)
    labels = model.view_labels_
    return record | {
        "best view": int(best),
        "accuracy": [
            percent(of, found) for of, found in zip(shuffled.ys, labels, strict=True)
        ],
        "oracle": oracle_single(shuffled.Xs, shuffled.ys, k),
        "chosen k": int(chosen.n_clusters),
        "interval": [int(end) for end in chosen.interval],
        "flat": bool(chosen.flat),
    }


def main():
    """Run the cases that were not run yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", help="only these kinds, separated by commas")
    arguments = parser.parse_args()
    kinds = (arguments.kinds or "unknown,half").split(",")
    wanted = installed([case for case in cases() if case[0] in kinds])
    labelled = [case for case in wanted if load_table(case[1][0]).y is not None]
    run_missing(CLUSTERS, labelled, run)


if __name__ == "__main__":
    main()
