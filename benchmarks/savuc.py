"""How well SAVuC aligns and clusters: ``python -m benchmarks.savuc``.

Views are shuffled apart; a share of the rows may stay paired. Prints and writes a JSON
line per case and shuffle to ``benchmarks/results/savuc.jsonl``: trust of every view;
share of matched rows of one class (with chance) and of one object; how well confidence
ranks right matches above wrong ones; scores of the labels of every view, of PAVuC-ATS,
of single views, and of methods for aligned views on the realigned rows; seconds and
memory. ``$UNALIGNED_DATA`` names the folder with the files; ``--jobs`` spreads the
cases over processes. What is in the file is not run again. ``python -m
benchmarks.savuc_page`` writes the page of the documentation.
"""

import argparse
import json
import os
import time
import warnings
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

# Before NumPy is loaded: processes side by side need one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize, scale

from unaligned import PAVuC, SAVuC
from unaligned.base import cluster_rows
from unaligned.baselines import FMVACC, FPMVSCAG, LMVSC, RCAGL
from unaligned.benchmark.memory import peak_bytes
from unaligned.datasets import load, unalign
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    instance_alignment_rate,
)

RESULTS = Path(__file__).parent / "results" / "savuc.jsonl"
MOST_ROWS = 10_000  # for methods for aligned views
FOR_ALIGNED_VIEWS = {
    "LMVSC": LMVSC,
    "FPMVS-CAG": FPMVSCAG,
    "FMVACC": FMVACC,
    "RCAGL": RCAGL,
}


class Case(NamedTuple):
    """Views to align: all or some of a dataset's, all or some of its rows."""

    dataset: str
    views: tuple[int, ...] | None = None
    rows: int | None = None
    ratio: float = 0.0


NOTHING_KNOWN = [
    Case("Reuters-1200"),
    Case("CIFAR10-10k-recon", rows=2000),
    Case("CIFAR10-10k-recon"),
    Case("Handwritten"),
    Case("Caltech101-20-recon"),
    Case("Wiki"),
    Case("100Leaves"),
    Case("MSRC-v1"),
    Case("BBCSport"),
    Case("ORL"),
    Case("Reuters-600"),
    Case("3Sources"),
    Case("WebKB"),
    Case("scGEM"),
    Case("sciCAR-A549"),
    Case("digits"),
]
# Shuffled once, and last: they take many minutes.
LARGE = [
    Case("CIFAR10-10k-recon", rows=50_000),
    Case("CIFAR10-10k-recon", rows=100_000),
    Case("ProteinFold"),
]
SOME_KNOWN = [
    Case(name, views, rows, ratio)
    for ratio in (0.0, 0.01, 0.1, 0.5, 1.0)
    for name, views, rows in (
        ("Handwritten", (0, 2), None),
        ("Reuters-1200", None, None),
        ("CIFAR10-10k-recon", None, 2000),
        ("ORL", (0, 2), None),
    )
]


def run(job):
    """Align and cluster one shuffle of a case."""
    case, seed, floors = job
    Xs, y = load_rows(case)
    k = int(y.max()) + 1
    views = range(len(Xs)) if case.views is None else case.views
    shuffled = unalign([Xs[i] for i in views], y, case.ratio, seed)
    del Xs
    known = shuffled.n_aligned or None
    result = {"case": [str(case), seed], "dataset": case.dataset}
    result |= {"rows": len(y), "views": list(views)}
    result |= {"classes": k, "ratio": case.ratio, "shuffle": seed}
    start, cpu_start = time.perf_counter(), time.process_time()
    model = SAVuC(k, random_state=seed).fit(shuffled.Xs, aligned=known)
    result["seconds"] = round(time.perf_counter() - start, 1)
    result["CPU seconds"] = round(time.process_time() - cpu_start, 1)
    result["peak GB"] = round(peak_memory(), 2)
    result |= describe_alignment(model.alignment_, shuffled)
    result["fused"] = [views[i] for i in model.fused_views_]
    result["scores"] = score_views(shuffled.ys, model.view_labels_)
    if floors:
        result["own structure"] = score_views(shuffled.ys, model.single_view_labels_)
        result["single (oracle)"] = oracle_single(shuffled.Xs, shuffled.ys, k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            centred = [X - X.mean(axis=0) for X in map(dense, shuffled.Xs)]
            paper = PAVuC(k, random_state=seed).fit(centred, aligned=known)
        result["PAVuC-ATS"] = score_views(shuffled.ys, paper.view_labels_)
        result["realigned"] = score_realigned(model, centred, shuffled.ys, k, seed)
    return result


def score_realigned(model, Xs, ys, k, seed):
    """ACC of methods for aligned views, on the fused views in the template's order.

    Rows that some of the views have no partner for are left out. PAVuC gets the same
    views, with all rows known to correspond. With many rows some need too much memory.
    """
    alignment, fused = model.alignment_, model.fused_views_
    if len(fused) < 2 or len(ys[0]) > MOST_ROWS:
        return {}
    complete = np.all([alignment.permutations[i] >= 0 for i in fused], axis=0)
    rows = [Xs[i][alignment.permutations[i][complete]] for i in fused]
    y = ys[alignment.template][complete]
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, method in {"PAVuC": PAVuC, **FOR_ALIGNED_VIEWS}.items():
            aligned = "all" if method is PAVuC else None
            other = method(k, random_state=seed).fit(rows, aligned=aligned)
            scores[name] = round(100 * clustering_scores(y, other.labels_)["acc"], 1)
    return scores


def load_rows(case):
    """Read views and classes of a case: all rows of the dataset, some, or more.

    Where there are not enough, further objects lie between two objects of one class, at
    the same place in every view.
    """
    data = load(case.dataset)
    Xs, y = data.Xs, np.unique(data.y, return_inverse=True)[1]
    if case.rows is None:
        return Xs, y
    rng = np.random.RandomState(0)
    one = rng.permutation(len(y))[: case.rows]
    if case.rows <= len(y):
        return [X[one] for X in Xs], y[one]
    one = rng.randint(len(y), size=case.rows)
    members = [np.flatnonzero(y == label) for label in range(y.max() + 1)]
    other = np.array([rng.choice(members[label]) for label in y[one]])
    at = rng.uniform(0, 0.5, size=(case.rows, 1)).astype(np.float32)
    mixed = [np.asarray(X, np.float32)[one] for X in Xs]
    for rows, X in zip(mixed, Xs, strict=True):
        rows += at * (np.asarray(X, np.float32)[other] - rows)
    return mixed, y[one]


def describe_alignment(alignment, shuffled):
    """Rates of the matches of every trusted view, those that were known left out."""
    ys, order, t = shuffled.ys, shuffled.order, alignment.template
    trusted = [i for i in np.flatnonzero(alignment.trust >= 0.5).tolist() if i != t]
    free = slice(shuffled.n_aligned if shuffled.n_aligned < len(ys[0]) else 0, None)
    rates = {"same class": [], "same object": [], "AUC of confidence": []}
    for i in trusted:
        rows = alignment.permutations[i][free]
        y_t, order_t = ys[t][free], order[t][free]
        right = order[i][rows] == order_t
        auc = np.nan
        if right.any() and not right.all():
            auc = roc_auc_score(right, alignment.confidence[i][free])
        rates["same class"].append(category_alignment_rate(ys[i], y_t, rows))
        rates["same object"].append(instance_alignment_rate(order[i], order_t, rows))
        rates["AUC of confidence"].append(auc)
    return {
        "template": t,
        "trust": [round(float(trust), 3) for trust in alignment.trust],
        "trusted": trusted,
        "chance": round(category_alignment_chance(ys[0], ys[0]), 3),
        **{name: [round(float(r), 4) for r in found] for name, found in rates.items()},
    }


def score_views(ys, labels):
    """ACC, NMI and F of the labels of every view, in percent."""
    scores = [clustering_scores(y, found) for y, found in zip(ys, labels, strict=True)]
    return {
        name: [round(100 * score[name], 1) for score in scores]
        for name in ("acc", "nmi", "f")
    }


def oracle_single(Xs, ys, k):
    """Best ACC per view over k-means and spectral clustering on two scales."""
    best = []
    for X, y in zip(Xs, ys, strict=True):
        sample = np.random.RandomState(0).permutation(len(y))[: max(2000, 10 * k)]
        X, y = dense(X)[sample], y[sample]
        labels = []
        for points in (normalize(X), normalize(scale(X))):
            labels.append(cluster_rows(points, k, n_init=10, seed=0)[0])
            spectral = SpectralClustering(
                k,
                affinity="nearest_neighbors",
                n_neighbors=15,
                random_state=0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # disconnected graphs
                labels.append(spectral.fit_predict(points))
        best.append(max(clustering_scores(y, found)["acc"] for found in labels))
    return [round(100 * acc, 1) for acc in best]


def dense(X):
    """Rows of a view as an array of floats."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def peak_memory():
    """Most memory this process ever had, in GB."""
    return peak_bytes() / 2**30


def main():
    """Run all cases, or those of the datasets asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--known", action="store_true", help="the sweep of known pairs")
    parser.add_argument("--no-floors", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    asked = set(filter(None, arguments.datasets.split(",")))
    there = {tuple(result["case"]) for result in read_records(arguments.output)}
    cases = [
        (case, seed)
        for seed in range(arguments.shuffles)
        for case in (SOME_KNOWN if arguments.known else NOTHING_KNOWN)
    ]
    if not arguments.known:
        cases += [(case, 0) for case in LARGE]
    jobs = [
        (case, seed, not (arguments.no_floors or arguments.known))
        for case, seed in cases
        if not asked or case.dataset in asked
        if (str(case), seed) not in there
    ]
    # A process per case, so that its peak of memory is its own.
    with get_context("spawn").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for result in pool.imap_unordered(run, jobs, chunksize=1):
            print(json.dumps(result), flush=True)
            append_record(arguments.output, result)


if __name__ == "__main__":
    main()
