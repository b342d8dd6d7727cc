"""The choice of a view and of its partition: ``python -m benchmarks.clusters``.

Every view of every labelled dataset is clustered by all recipes on both scales (kept in
a folder, see `benchmarks.pools`). A rule picks a partition in every view, or makes one
of all (their consensus), and then picks a view. A JSON line per dataset goes to
``benchmarks/results/clusters.jsonl``: accuracy by
rule, the mean over all views and partitions ("random choice"), and the best over views,
scales, k-means and spectral clustering by labels ("oracle"). What is there is not run
again. ``--table`` prints the table of the documentation. Rules are compared by leaving
datasets out one at a time: the rule that is best on the others is scored on the one.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import pairwise_distances, silhouette_score

from benchmarks.pools import (
    DATASETS,
    SCALES,
    Case,
    agreement,
    cluster_spaces,
    load_views,
    view_pools,
)
from benchmarks.savuc import oracle_single
from unaligned.json_lines import append_record, read_records
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

RESULTS = Path(__file__).parent / "results" / "clusters.jsonl"
EARLIER = "before: sum of three scores"  # measured once, by the rule that was replaced
N_FEW = 500  # rows for scores that compare all rows


def candidates(pool):
    """Partitions of a view, their consensus the last."""
    partitions = [*pool.partitions.values()]
    rng = np.random.RandomState(0)
    return [*partitions, consensus(np.column_stack(partitions), pool.n_clusters, rng)]


def picked_by(scores, name):
    """Which of the candidates a score picks; the consensus is picked by name only."""
    return -1 if name == CONSENSUS else int(np.argmax(scores[name][:-1]))


def score_partitions(X, pool):
    """Label-free scores of every candidate of one view: name to array."""
    (features,), k = pool.features, pool.n_clusters
    partitions, rng = candidates(pool), np.random.RandomState(0)
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
    scores = [score_partitions(X, pool) for X, pool in zip(Xs, pools, strict=True)]
    accuracy = [accuracies(pool) for pool in pools]
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
    return rounded | {"all views": score_all_views(pools, scores, oracle)}


def accuracies(pool):
    """Percentages of rows in the right cluster, for every candidate."""
    return np.array(
        [100 * clustering_accuracy(pool.classes, labels) for labels in candidates(pool)]
    )


def score_all_views(pools, scores, oracle):
    """Mean over views of the accuracy of what each score picks, less the oracle's."""
    accuracy = [accuracies(pool) for pool in pools]
    found = {}
    for pick in PICKS:
        picked = [picked_by(of_view, pick) for of_view in scores]
        gains = [a[i] - o for a, i, o in zip(accuracy, picked, oracle, strict=True)]
        found[pick] = round(float(np.mean(gains)), 1)
    return found


def leave_one_out(differences):
    """Score on each dataset the rule that is best on the others: mean, and worst."""
    table = np.array([differences[rule] for rule in RULES])
    found = [
        table[np.delete(table, i, axis=1).mean(axis=1).argmax(), i]
        for i in range(table.shape[1])
    ]
    return np.array(found)


def table(records):
    """Markdown: every rule against the oracle, in points of accuracy."""
    names = [*RULES, EARLIER, "random view", "random choice"]
    differences = {
        name: np.array([r[name] - r["oracle"] for r in records if name in r])
        for name in names
    }
    lines = [f"| rule ({len(records)} datasets) | mean | standard error | worst |"]
    lines.append("| --- | --- | --- | --- |")
    differences["best rule on the other datasets"] = leave_one_out(differences)
    for name, found in differences.items():
        if len(found) == 0:
            continue
        error = found.std(ddof=1) / np.sqrt(len(found))
        lines.append(
            f"| {name} | {found.mean():+.1f} | {error:.1f} | {found.min():+.1f} |"
        )
    return "\n".join(lines)


def table_of_picks(records):
    """Markdown: what scores pick in all views, against the oracle of each view."""
    lines = ["| score | mean | standard error |", "| --- | --- | --- |"]
    for pick in PICKS:
        found = np.array([record["all views"][pick] for record in records])
        error = found.std(ddof=1) / np.sqrt(len(found))
        lines.append(f"| {pick} | {found.mean():+.1f} | {error:.1f} |")
    return "\n".join(lines)


def main():
    """Run the datasets that have no result yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--table", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    there = {record["dataset"] for record in read_records(RESULTS)}
    for name in [] if arguments.table else arguments.datasets:
        if name not in there:
            record = {"dataset": name} | run(name)
            append_record(RESULTS, record)
            print(record, flush=True)
    records = [*read_records(RESULTS)]
    print(table(records), table_of_picks(records), sep="\n\n")


if __name__ == "__main__":
    main()
