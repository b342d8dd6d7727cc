"""The number of clusters without labels: ``python -m benchmarks.number_of_clusters``.

At most 1,000 rows of every view of every labelled dataset are clustered into every
number of clusters that `unaligned.selection` tries, by all recipes on both scales (kept
in a folder, see `benchmarks.pools`). A JSON line per dataset goes to
``benchmarks/results/number_of_clusters.jsonl``: for every view and number the accuracy
of the partition that SAVuC would take, its predictability, by which SAVuC takes a view,
and the score of every criterion; and the CPU seconds that the library's two take. What
is there is not run again. ``--table`` prints the tables of the documentation.

A criterion chooses the number with the largest score, in the mean over views. Criteria
are compared by leaving datasets out one at a time: the criterion that is best on the
others is scored on the one, and so is the width of the interval.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.number_criteria import CRITERIA, Partitions
from benchmarks.pools import DATASETS, kept
from unaligned.datasets import load
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.scores import draw_halves, predictability
from unaligned.savuc.consensus import consensus
from unaligned.savuc.recipes import make_partitions, view_spaces
from unaligned.selection.evidence import weigh
from unaligned.selection.n_clusters import N_ROWS, numbers_to_try, score_numbers

RESULTS = Path(__file__).parent / "results" / "number_of_clusters.jsonl"
SHARES = (0.98, 0.95, 0.9, 0.85, 0.8, 0.7)  # of the best score, for the interval
USED = "modularity", "agreement"  # by `unaligned.selection`
COMPARED = *USED, *CRITERIA
COVERED = 0.8  # share of datasets whose number of classes an interval should hold


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


def accuracy_of(record, at):
    """Accuracy of the view that SAVuC would take, with a number of clusters."""
    view = int(np.argmax(np.array(record["quality"])[:, at]))
    return record["accuracy"][view][at]


def accuracy_with_classes(record):
    """Accuracy of the view that SAVuC would take, with the number of classes."""
    view = int(np.argmax(np.array(record["quality with the classes"])[:, 0]))
    return record["accuracy with the classes"][view][0]


def chosen_by(record, criterion):
    """Give the position of the number that a criterion chooses."""
    return int(np.argmax(np.mean(record["scores"][criterion], axis=0)))


def evidence_of(record, **near):
    """Weigh modularity and agreement as the library does."""
    scores = [np.array(record["scores"][name]) for name in USED]
    return weigh(np.array(record["candidates"]), *scores, **near)


def table(records):
    """Markdown: the share of the accuracy with the true number, for every criterion."""
    truth = np.array([accuracy_with_classes(record) for record in records])
    found = {
        name: np.array([accuracy_of(r, chosen_by(r, name)) for r in records])
        for name in COMPARED
    }
    found["ten clusters"] = np.array(
        [accuracy_of(r, int(np.argmin(np.abs(np.array(r["candidates"]) - 10))))
         for r in records]
    )  # fmt: skip
    known = np.array([found[name] for name in COMPARED])
    rest = [np.delete(known, i, axis=1).mean(axis=1) for i in range(len(records))]
    best = [int(np.argmax(of_others)) for of_others in rest]
    found["best criterion on the other datasets"] = known[best, np.arange(len(best))]
    head = f"| criterion ({len(records)} datasets) | share of the accuracy | error |"
    lines = [f"{head} within 1.5 times |", "| --- | --- | --- | --- |"]
    for name, values in found.items():
        share = values.sum() / truth.sum()
        # Of a ratio of means, by the delta method.
        error = np.std(values - share * truth, ddof=1) / np.sqrt(len(truth))
        near = "–"
        if name in COMPARED:
            ks = [r["candidates"][chosen_by(r, name)] for r in records]
            off = np.abs(np.log([k / r["classes"] for k, r in zip(ks, records)]))  # noqa: B905
            near = f"{np.sum(off <= np.log(1.5))}"
        shown = f"{100 * share:.0f} % | {100 * error / truth.mean():.0f} %"
        lines.append(f"| {name} | {shown} | {near} |")
    return "\n".join(lines)


def inside(record, near):
    """Whether an interval holds the number of classes."""
    low, high = evidence_of(record, near=near).interval
    return low <= record["classes"] <= high


def best_share(records):
    """Find the narrowest intervals that hold enough numbers of classes."""
    for near in SHARES:
        if np.mean([inside(record, near) for record in records]) >= COVERED:
            return near
    return SHARES[-1]


def table_of_datasets(records):
    """Markdown: what the library says of every dataset, and how often it is right."""
    lines = ["| data | classes | chosen | interval | others | accuracy (with k) |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for record in records:
        found = evidence_of(record)
        low, high = found.interval
        span = f"{low}–{high}{', flat' if found.flat else ''}"
        others = ", ".join(map(str, found.alternatives)) or "–"
        accuracy = accuracy_of(record, record["candidates"].index(found.n_clusters))
        lines.append(
            f"| {record['dataset']} | {record['classes']} | {found.n_clusters} | "
            f"{span} | {others} | {100 * accuracy:.0f} "
            f"({100 * accuracy_with_classes(record):.0f}) |"
        )
    return "\n".join(lines)


def coverage(records):
    """Say how many intervals hold the number of classes."""
    now = [evidence_of(record) for record in records]
    held = sum(
        e.interval[0] <= r["classes"] <= e.interval[1]
        for e, r in zip(now, records, strict=True)
    )
    left_out = [
        inside(record, best_share([r for r in records if r is not record]))
        for record in records
    ]
    spans = np.median([e.interval[1] / e.interval[0] for e in now])
    flat = sum(e.flat for e in now)
    return (
        f"The interval holds the number of classes on {held} of {len(records)} "
        f"datasets; with its width set on the others, on {sum(left_out)}. The median "
        f"of largest over smallest is {spans:.1f}, and {flat} are flat."
    )


def main():
    """Run the datasets that have no result yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--table", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    there = {record["dataset"] for record in read_records(RESULTS)}
    for name in [] if arguments.table else arguments.datasets:
        if name not in there:
            append_record(RESULTS, {"dataset": name} | run(name))
            print(name, flush=True)
    records = [*read_records(RESULTS)]
    print(table(records), table_of_datasets(records), coverage(records), sep="\n\n")


if __name__ == "__main__":
    main()
