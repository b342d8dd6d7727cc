"""The choice of a view and of its partition: ``python -m benchmarks.clusters``.

Every view of every labelled dataset is clustered by all recipes on both scales (kept in
a folder, see `benchmarks.data.pools`). A rule picks a partition in every view, or makes
one of all (their consensus), and then picks a view. A JSON line per dataset goes to
``benchmarks/results/clusters.jsonl``: accuracy by rule, the mean over all views and
partitions ("random choice"), and the best over views, scales, k-means and spectral
clustering by labels ("oracle"). What is there is not run again.
"""

import argparse

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import pairwise_distances, silhouette_score

from benchmarks.data.pools import (
    DATASETS,
    SCALES,
    Case,
    agreement,
    cluster_spaces,
    load_views,
    view_pools,
)
from benchmarks.records import FOLDER, run_missing
from benchmarks.savuc import oracle_single
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.scores import (
    draw_halves,
    information,
    modularity,
    predictability,
)
from unaligned.savuc.consensus import consensus
from unaligned.savuc.recipes import view_spaces

RESULTS = FOLDER / "clusters.jsonl"
N_FEW = 500  # rows for scores that compare all rows


def candidates(pool):
    """Partitions of a view, their consensus the last."""
    partitions = [*pool.partitions.values()]
    rng = np.random.RandomState(0)
    return [*partitions, consensus(np.column_stack(partitions), pool.n_clusters, rng)]


def picked_by(scores, name):
    """Which of the candidates a score picks; the consensus is picked by name only."""
    return -1 if name == CONSENSUS else int(np.argmax(scores[name][:-1]))


def score_partitions(X, pool, partitions):
    """Label-free scores of every candidate of one view: name to array."""
    (features,), k, rng = pool.features, pool.n_clusters, np.random.RandomState(0)
    n = len(pool.classes)
    half, few = draw_halves(n, rng), rng.permutation(n)[:N_FEW]
    return {
        "agreement": np.append(agreement(partitions[:-1], k), -np.inf),
        "predictability": each(
            partitions, lambda p: predictability(features, p, k, half)
        ),
        "modularity": each(
            partitions,
            lambda p: np.mean([modularity(s.neighbors, p, k) for s in features]),
        ),
        "silhouette": each(
            partitions,
            lambda p: np.mean([silhouette(s.points[few], p[few]) for s in features]),
        ),
        "density": each(
            partitions,
            lambda p: np.mean([density(s.points[few], p[few]) for s in features]),
        ),
        "stability": stability(X, pool, rng),
    }


def each(partitions, score):
    """Score every partition."""
    return np.array([score(labels) for labels in partitions])


def silhouette(points, labels):
    """Mean silhouette; −1 for a single cluster."""
    n_names = len(np.unique(labels))
    return silhouette_score(points, labels) if 1 < n_names < len(labels) else -1.0


def density(points, labels, n_near=15):
    """Density-based validity (Moulavi et al., 2014), on mutual reachability.

    Of every cluster, how much farther the nearest other cluster is than the longest
    edge of its own minimum spanning tree; the mean over rows.
    """
    distances = pairwise_distances(points).astype(np.float64)
    core = np.sort(distances, axis=1)[:, min(n_near, len(points) - 1)]
    reach = np.maximum(np.maximum(distances, core), core[:, None])
    total = 0.0
    for name in np.unique(labels):
        inside = labels == name
        if inside.all() or inside.sum() < 2:
            continue
        longest = minimum_spanning_tree(reach[np.ix_(inside, inside)]).max()
        apart = reach[np.ix_(inside, ~inside)].min()
        total += inside.sum() * (apart - longest) / max(apart, longest, 1e-12)
    return total / len(labels)


def stability(X, pool, rng):
    """Information between partitions of all rows and of four rows in five."""
    n, k = len(pool.classes), pool.n_clusters
    rows = np.sort(rng.permutation(n)[: max(k, int(0.8 * n))])
    spaces = dict(zip(SCALES, view_spaces(view_features(X[rows])), strict=True))
    again = cluster_spaces(spaces, k, rng)
    return np.array(
        [information(pool.partitions[name][rows], p, k) for name, p in again.items()]
        + [-np.inf]
    )


CONSENSUS = "consensus"
PICKS = CONSENSUS, "agreement", "predictability", "modularity", "silhouette"
# What picks a partition in a view, and the score that picks the view.
RULES = {
    "consensus, predictability": (CONSENSUS, "predictability"),
    "consensus, modularity": (CONSENSUS, "modularity"),
    "agreement, predictability": ("agreement", "predictability"),
    "agreement": ("agreement", "agreement"),
    "predictability": ("predictability", "predictability"),
    "modularity": ("modularity", "modularity"),
    "agreement, modularity": ("agreement", "modularity"),
    "stability": ("stability", "stability"),
    "agreement, stability": ("agreement", "stability"),
    "silhouette": ("silhouette", "silhouette"),
    "density": ("density", "density"),
}


def run(dataset):
    """Accuracy of every rule on one dataset, with its floors."""
    Xs, ys = load_views(Case(dataset))
    pools = view_pools(dataset)
    partitions = [candidates(pool) for pool in pools]
    scores = list(map(score_partitions, Xs, pools, partitions))
    accuracy = list(map(accuracies, pools, partitions))
    found = {}
    for rule, (pick, quality) in RULES.items():
        picked = [picked_by(of_view, pick) for of_view in scores]
        values = [s[quality][i] for s, i in zip(scores, picked, strict=True)]
        view = int(np.argmax(values))
        found[rule] = accuracy[view][picked[view]]
    found["random choice"] = np.mean([of_view[:-1].mean() for of_view in accuracy])
    found["random view"] = np.mean([of_view[-1] for of_view in accuracy])
    oracle = oracle_single(Xs, ys, pools[0].n_clusters)
    found["oracle"] = max(oracle)
    rounded = {name: round(float(value), 1) for name, value in found.items()}
    return rounded | {"all views": score_all_views(accuracy, scores, oracle)}


def accuracies(pool, partitions):
    """Percentages of rows in the right cluster, for every partition of a view."""
    return each(partitions, lambda p: 100 * clustering_accuracy(pool.classes, p))


def score_all_views(accuracy, scores, oracle):
    """Mean over views of the accuracy of what each score picks, less the oracle's."""
    found = {}
    for pick in PICKS:
        picked = [picked_by(of_view, pick) for of_view in scores]
        gains = [a[i] - o for a, i, o in zip(accuracy, picked, oracle, strict=True)]
        found[pick] = round(float(np.mean(gains)), 1)
    return found


def main():
    """Run the datasets that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    run_missing(RESULTS, parser.parse_args().datasets, run, key="dataset")


if __name__ == "__main__":
    main()
