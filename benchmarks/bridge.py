"""Some pairs known: joint clusters, wrong pairs and time of the bridge.

``python -m benchmarks.bridge`` adds a JSON line per case to
``benchmarks/results/bridge.jsonl``, unless it is there. ``$UNALIGNED_DATA`` names the
folder with the files. ``python -m benchmarks.pages bridge`` writes the tables of
``docs/bridge.md``. That page has Figure 4, too, from ``unaligned bench figure4`` with
``--output benchmarks/results/figure4``.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.pages.bridge import BARS, LADDER, OTHERS, RESULTS, SHARES, SMALL, WRONG
from benchmarks.records import run_missing
from unaligned.benchmark.plain_bridge import plain_rows
from unaligned.datasets import load, unalign
from unaligned.known_pairs import KnownPairs
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.kmeans import kmeans
from unaligned.savuc.bridge import fit_bridge
from unaligned.savuc.bridge_clusters import cluster_linked
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import read_geometry
from unaligned.views import check_views

N_SHUFFLES = 3
N_ON_LADDER = 5
N_ROWS = 3000  # of a dataset, at most: cost


def views_of(name):
    """Load views and classes of a dataset."""
    dataset, _, chosen = name.partition(" ")
    data = load(dataset)
    Xs = [data.Xs[int(i)] for i in chosen.split(",")] if chosen else data.Xs
    return check_views(Xs, accept_sparse=True).arrays, np.asarray(data.y)


def cases():
    """List (kind, dataset, share known, share wrong, seed)."""
    seeds = range(N_SHUFFLES)
    found = [("time", "blobs", share, 0.0, 0) for share in (0.1, 0.5)]
    for name in BARS:
        found += [("joint", name, share, 0.0, s) for share in SHARES for s in seeds]
    for name in SMALL:
        found += [
            ("joint", name, share, 0.0, s)
            for share in LADDER
            for s in range(N_ON_LADDER)
        ]
    for name in SMALL:
        found += [("wrong", name, 0.5, wrong, s) for wrong in WRONG for s in seeds]
    for name in OTHERS:
        found += [("joint", name, share, 0.0, s) for share in SHARES for s in seeds]
    return found


def shuffle(name, share, wrong, seed, n_views=None):
    """Shuffled views with their bridge and classes; some of the pairs are wrong."""
    Xs, y = views_of(name)
    if len(y) > N_ROWS:
        drawn = np.random.RandomState(seed).choice(len(y), N_ROWS, replace=False)
        Xs, y = [X[drawn] for X in Xs], y[drawn]
    shuffled = unalign(Xs[:n_views], y, ratio=share, random_state=seed)
    n, p = len(y), max(1, shuffled.n_aligned) if share else 0
    known = np.where(np.arange(n) < p, np.arange(n), -1)
    other = known.copy()
    m = round(wrong * p)
    other[:m] = np.roll(known[:m], 1)
    rng = np.random.RandomState(seed)
    pairs = KnownPairs([known, *(other for _ in shuffled.Xs[1:])])
    geometries = [read_geometry(X, 50, rng) for X in shuffled.Xs]
    return shuffled, geometries, pairs, len(np.unique(y)), rng


def accuracy(ys, labels):
    """Percent of all rows of all views, with one naming."""
    found = clustering_accuracy(np.concatenate(ys), np.concatenate(labels))
    return round(100 * found, 2)


def run_joint(name, share, wrong, seed):
    """Cluster all rows of all views by the bridge, and side by side."""
    shuffled, geometries, pairs, k, rng = shuffle(name, share, wrong, seed)
    start = time.process_time()
    bridge = fit_bridge(geometries, pairs, Settings(), rng)
    labels = cluster_linked(bridge, shuffled.Xs, k, rng)
    seconds = time.process_time() - start
    result = {"bridge": accuracy(shuffled.ys, labels), "cpu": round(seconds, 2)}
    if share:
        rows = np.vstack(plain_rows(geometries, pairs))
        ends = np.cumsum([len(y) for y in shuffled.ys])[:-1]
        plain = np.split(kmeans(rows, k, rng, 10), ends)
        result["side by side"] = accuracy(shuffled.ys, plain)
        result["quality"] = round(float(bridge.quality[0, 1]), 3)
        result["trust"] = min(round(link.trust, 3) for link in bridge.links.values())
    return result


def run_wrong(name, share, wrong, seed):
    """Permute some of the pairs of the first two views, and look for them."""
    shuffled, geometries, pairs, k, rng = shuffle(name, share, wrong, seed, n_views=2)
    bridge = fit_bridge(geometries, pairs, Settings(), rng)
    link = bridge.links[0, 1]
    labels = cluster_linked(bridge, shuffled.Xs, k, rng)
    result = {"acc": accuracy(shuffled.ys, labels)}
    result["suspicion"] = round(float(link.suspicion.mean()), 3)
    if wrong:
        is_wrong = link.rows[0] != link.rows[1]
        result["auc"] = round(roc_auc_score(is_wrong, link.suspicion), 3)
    return result


def run_time(name, share, wrong, seed):
    """Fit and cluster 5,000 rows of three views in 60 columns."""
    rng = np.random.RandomState(seed)
    latent = (
        rng.normal(size=(10, 8))[np.arange(5000) % 10] + rng.normal(size=(5000, 8)) / 2
    )
    Xs = [np.tanh(latent @ rng.normal(size=(8, 60))) for _ in range(3)]
    geometries = [read_geometry(X, 50, rng) for X in Xs]
    known = np.where(np.arange(5000) < share * 5000, np.arange(5000), -1)
    start = time.process_time()
    bridge = fit_bridge(geometries, KnownPairs([known] * 3), Settings(), rng)
    fitted = time.process_time()
    cluster_linked(bridge, Xs, 10, rng)
    end = time.process_time()
    return {"fit": round(fitted - start, 2), "all": round(end - start, 2)}


RUN = {"joint": run_joint, "wrong": run_wrong, "time": run_time}


def run(case):
    """Run a case of any kind."""
    kind, *what = case
    return RUN[kind](*what)


def main():
    """Run what is missing."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    run_missing(RESULTS, cases(), run)


if __name__ == "__main__":
    main()
