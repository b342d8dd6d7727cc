"""Matched views or one of the others: ``python -m benchmarks.best_view``.

Some views of a dataset are taken for matched, with their rows in their true pairs, and
are clustered together; every view is clustered alone as well. A JSON line per dataset
and draw of rows goes to ``benchmarks/results/best_view.jsonl``: the accuracy of every
partition and how well views predict it. What is there is not run again. A rule gives
matched views a number, which competes with the predictability of the other views.
"""

import argparse
from itertools import combinations

import numpy as np

from benchmarks.data.pools import (
    DATASETS,
    LEFT_OUT,
    SCALES,
    Case,
    cluster_spaces,
    load_views,
    neighbors_for,
)
from benchmarks.latent_classes import choose_consensus, latent_classes
from benchmarks.records import FOLDER, run_missing
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.scores import (
    draw_halves,
    joint_predictability,
    predictability,
)
from unaligned.savuc.config import NORMAL
from unaligned.savuc.consensus import N_BEST, consensus
from unaligned.savuc.recipes import joint_spaces, view_spaces

RESULTS = FOLDER / "best_view.jsonl"
CASES = {
    case.name: case
    for seed in range(3)
    for case in (Case(name, seed=seed, most_rows=1000) for name in DATASETS[:-3])
}
N_PAIRS, N_TRIPLES = 10, 5  # of a dataset, at most: cost
SIMPLE = ", k-means", ", diffusion"  # recipes of the oracle


def groups_of(n_views):
    """List pairs and triples of views that are taken for matched."""
    rng, found = np.random.RandomState(0), []
    for size, most in ((2, N_PAIRS), (3, N_TRIPLES)):
        every = [*combinations(range(n_views), size)]
        found += [every[i] for i in sorted(rng.permutation(len(every))[:most])]
    return found


def run(name):
    """Cluster every view and every group of a case, and score the partitions."""
    case = CASES[name]
    Xs, (y, *_) = load_views(case)
    k, rng = int(y.max()) + 1, np.random.RandomState(case.seed)
    features = [view_features(X, neighbors_for(y)) for X in Xs]
    half, views = draw_halves(len(y), rng), range(len(Xs))

    def accuracy(labels):
        return round(100 * float(clustering_accuracy(y, labels)), 1)

    def alone(labels, members):
        return [predictability(features[i], labels, k, half) for i in members]

    def together(labels, members):
        return joint_predictability([features[i] for i in members], labels, k, half)

    pools, own, oracle = [], [], []
    for of_view in features:
        spaces = dict(zip(SCALES, view_spaces(of_view), strict=True))
        found = cluster_spaces(spaces, k, rng)
        pools.append([*found.values()])
        own.append(consensus(np.column_stack(pools[-1]), k, rng))
        found |= cluster_spaces(spaces, k, rng, LEFT_OUT)
        simple = [labels for name, labels in found.items() if name.endswith(SIMPLE)]
        oracle.append(max(map(accuracy, simple)))
    told = [[alone(labels, views) for labels in pool] for pool in pools]
    groups = []
    for members in groups_of(len(Xs)):
        chosen = [features[i] for i in members]
        spaces = dict(enumerate(joint_spaces(chosen, NORMAL.ridge)))
        pool = [*cluster_spaces(spaces, k, rng).values()]
        q = [alone(labels, members) for labels in pool]
        for i in members:
            pool += pools[i]
            q += [[of_labels[j] for j in members] for of_labels in told[i]]
        best = np.argsort(np.log(q).mean(axis=1))[-N_BEST:]
        top = np.column_stack([pool[b] for b in best])
        fused, classes = consensus(top, k, rng), latent_classes(top, k)
        either = choose_consensus(chosen, (fused, classes), k, half)
        groups.append(
            {
                "views": list(members),
                "accuracy": accuracy(fused),
                "latent classes": accuracy(classes),
                "chosen consensus": accuracy(either),
                "each": rounded(alone(fused, members)),
                "together": round(together(fused, members), 4),
                "own, together": rounded(together(own[i], members) for i in members),
            }
        )
    return {
        "evenness": evenness(y),
        "accuracy": [accuracy(labels) for labels in own],
        "oracle": oracle,
        "each": [rounded(alone(labels, views)) for labels in own],
        "groups": groups,
    }


def evenness(classes):
    """Entropy of the classes over the log of their number."""
    shares = np.bincount(classes) / len(classes)
    return round(float(-shares @ np.log(shares) / np.log(len(shares))), 3)


def rounded(values):
    """Numbers for a record."""
    return [round(float(value), 4) for value in values]


def main():
    """Run the cases that have no result yet."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    run_missing(RESULTS, [*CASES], run)


if __name__ == "__main__":
    main()
