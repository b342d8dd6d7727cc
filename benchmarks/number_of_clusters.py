"""The number of clusters without labels: ``python -m benchmarks.number_of_clusters``.

At most 1,000 rows of every view of every labelled dataset are clustered into every
number of clusters that `unaligned.selection` tries, by all recipes on both scales (kept
in a folder, see `benchmarks.data.pools`). A JSON line per dataset goes to
``benchmarks/results/number_of_clusters.jsonl``: for every view and number the accuracy
of the partition that SAVuC would take, its predictability, by which SAVuC takes a view,
and the score of every criterion; and the CPU seconds that the library's two take. What
is there is not run again. A criterion chooses the number with the largest score, in the
mean over views.
"""

import argparse
import time

import numpy as np

from benchmarks.data.pools import DATASETS, kept
from benchmarks.number_criteria import CRITERIA, Partitions
from benchmarks.records import FOLDER, run_missing
from unaligned.datasets import load
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.scores import draw_halves, predictability
from unaligned.savuc.consensus import consensus
from unaligned.savuc.recipes import make_partitions, view_spaces
from unaligned.selection.n_clusters import N_ROWS, numbers_to_try, score_numbers

RESULTS = FOLDER / "number_of_clusters.jsonl"
USED = "modularity", "agreement"  # by `unaligned.selection`


def view_partitions(dataset):
    """Make or read the partitions of every view of a dataset."""

    def make():
        data, found = load(dataset), []
        for i, X in enumerate(data.Xs):
            y = np.asarray(data.y if data.ys is None else data.ys[i])
            rows = np.sort(np.random.RandomState(0).permutation(len(y))[:N_ROWS])
            classes = np.unique(y[rows], return_inverse=True)[1]
            features, rng = view_features(X[rows]), np.random.RandomState(0)
            spaces = view_spaces(features)
            numbers = {*numbers_to_try(len(rows)).tolist(), int(classes.max()) + 1}
            by_number = {
                k: make_partitions(spaces, k, rng)
                for k in sorted(numbers, reverse=True)
            }
            chosen = {
                k: consensus(np.column_stack(pool), k, rng)
                for k, pool in by_number.items()
            }
            found.append(Partitions(classes, features, by_number, chosen))
        return found

    return kept(f"numbers-{dataset}", make)


def run(dataset):
    """Scores and accuracies of every number of clusters, for every view."""
    views = view_partitions(dataset)
    tried = [set(numbers_to_try(len(view.classes)).tolist()) for view in views]
    ks = sorted(set.intersection(*tried))
    classes = int(views[0].classes.max()) + 1
    halves = [draw_halves(len(v.classes), np.random.RandomState(0)) for v in views]

    def rounded(of_view):
        return [[round(float(value), 4) for value in row] for row in of_view]

    def accuracies(numbers):
        return rounded(
            [clustering_accuracy(v.classes, v.chosen[k]) for k in numbers]
            for v in views
        )

    def qualities(numbers):
        return rounded(
            [predictability(v.features, v.chosen[k], k, half) for k in numbers]
            for v, half in zip(views, halves, strict=True)
        )

    start, library = time.process_time(), []
    for view in views:
        rng = np.random.RandomState(0)
        library.append(score_numbers(view.features, np.array(ks), rng))
    seconds = time.process_time() - start
    scores = dict(zip(USED, np.swapaxes(library, 0, 1), strict=True))
    scores |= {
        name: [criterion(view, ks) for view in views]
        for name, criterion in CRITERIA.items()
    }
    return {
        "classes": classes,
        "candidates": ks,
        "CPU seconds per view": round(seconds / len(views), 2),
        "accuracy": accuracies(ks),
        "quality": qualities(ks),
        "accuracy with the classes": accuracies([classes]),
        "quality with the classes": qualities([classes]),
        "scores": {name: rounded(of_views) for name, of_views in scores.items()},
    }


def main():
    """Run the datasets that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    run_missing(RESULTS, parser.parse_args().datasets, run, key="dataset")


if __name__ == "__main__":
    main()
