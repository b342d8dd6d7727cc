"""How well SAVuC aligns and clusters: ``python -m benchmarks.savuc``.

Views are shuffled apart; a share of the rows may stay paired. Prints and writes a JSON
line per case and shuffle to ``benchmarks/results/savuc.jsonl``:

- the side of the dataset (`benchmarks.data.split`); verdict, trust, basis and share of
  known pairs of every view;
- of views whose rows are matched: share of matches of one class (with chance) and of
  one object, and how well confidence ranks right matches above wrong ones;
- of views whose classes correspond: accuracy of their names, with that of random names;
- scores of the labels of every view and of all rows together, of PAVuC-ATS and of
  single views; seconds and memory;
- with ``--realigned``, methods for aligned views on the realigned rows.

``--known`` runs the sweep of known pairs instead. ``$UNALIGNED_DATA`` names the folder
with the files; datasets that are not there, or have too few rows, are left out.
``--jobs`` spreads the cases over processes of one thread each. What is in the file is
not run again. ``python -m benchmarks.pages study`` writes the page of the results.
"""

import argparse
import json
import os
import time
import traceback
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

from benchmarks.data.split import CHECKING, DEVELOPMENT, side_of
from benchmarks.records import FOLDER
from unaligned import PAVuC, SAVuC, align
from unaligned.baselines import FMVACC, FPMVSCAG, LMVSC, RCAGL
from unaligned.benchmark.memory import peak_bytes
from unaligned.datasets import load, unalign
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    instance_alignment_rate,
    joint_scores,
)
from unaligned.partitions.kmeans import cluster_rows

RESULTS = FOLDER / "savuc.jsonl"
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


class Job(NamedTuple):
    """A shuffle of a case, and what it is compared with."""

    case: Case
    seed: int
    floors: bool
    realigned: bool


N_CIFAR = 10_000  # images of CIFAR10-10k-recon
# Shuffled once, and first: they take longest.
LARGE = [
    Case("CIFAR10-10k-recon", rows=100_000),
    Case("CIFAR10-10k-recon", rows=50_000),
    Case("ProteinFold"),
]
NOTHING_KNOWN = [
    Case("CIFAR10-10k-recon", rows=N_CIFAR),
    Case("CIFAR10-10k-recon", rows=2000),
    Case("CCV", rows=2000),
    *(
        Case(name)
        for name in (*DEVELOPMENT, *CHECKING)
        if name not in ("CIFAR10-10k-recon", "ProteinFold")
    ),
]
SOME_KNOWN = [
    Case(name, views, ratio=ratio)
    for ratio in (0.0, 0.02, 0.1, 0.5, 1.0)
    for name, views in (
        ("Wiki", None),
        ("Handwritten", (0, 1)),
        ("BDGP", None),
        ("LandUse-21", None),
        ("digits", None),
    )
]


def attempt(job):
    """Run a job, or say why not: one that fails must not end all others."""
    try:
        return run(job)
    except (OSError, TooFewRows) as reason:
        why = str(reason)
    except Exception:
        why = traceback.format_exc()
    return {"case": [str(job.case), job.seed], "left out": why}


def run(job):
    """Align and cluster one shuffle of a case."""
    case, seed = job.case, job.seed
    Xs, y = load_rows(case)
    result = {"case": [str(case), seed], "dataset": case.dataset}
    k = int(y.max()) + 1
    views = range(len(Xs)) if case.views is None else case.views
    shuffled = unalign([Xs[i] for i in views], y, case.ratio, seed)
    del Xs
    known = shuffled.n_aligned or None
    result |= {"side": side_of(case.dataset), "rows": len(y), "views": list(views)}
    result |= {"classes": k, "ratio": case.ratio, "shuffle": seed}
    start, cpu_start = time.perf_counter(), time.process_time()
    model = None
    if k > 1:
        model = SAVuC(k, random_state=seed).fit(shuffled.Xs, aligned=known)
        alignment = model.alignment_
    else:  # no labels: there is nothing to compare clusters with
        alignment = align(shuffled.Xs, aligned=known, random_state=seed)
    result["seconds"] = round(time.perf_counter() - start, 1)
    result["CPU seconds"] = round(time.process_time() - cpu_start, 1)
    result["peak GB"] = round(peak_bytes() / 2**30, 2)
    result |= describe_alignment(alignment, shuffled)
    if model is None:
        return result
    result["fused"], result["best view"] = list(model.fused_views_), model.best_view_
    ys, labels = shuffled.ys, model.view_labels_
    result["classes named"] = score_classes(alignment, labels, ys)
    result |= {"scores": score_views(ys, labels), "joint": score_together(ys, labels)}
    if job.floors:
        result["single (oracle)"] = oracle_single(shuffled.Xs, ys, k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            paper = PAVuC(k, random_state=seed).fit(centred(shuffled), aligned=known)
        result["PAVuC-ATS"] = score_views(ys, paper.view_labels_)
        result["PAVuC-ATS, joint"] = score_together(ys, paper.view_labels_)
    if job.realigned:
        result["realigned"] = score_realigned(model, centred(shuffled), ys, k, seed)
    return result


def centred(shuffled):
    """Make views arrays of floats, with columns of mean zero."""
    return [X - X.mean(axis=0) for X in map(dense, shuffled.Xs)]


def score_realigned(model, Xs, ys, k, seed):
    """ACC of methods for aligned views, on matched views in the template's order.

    Rows that some of the views have no partner for are left out. PAVuC gets the same
    views, with all rows known to correspond. With many rows some need too much memory.
    """
    alignment = model.alignment_
    fused = alignment.matched()
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


class TooFewRows(ValueError):
    """A file that has fewer rows than a case asks for."""


def load_rows(case):
    """Read views and classes of a case: all rows of the dataset, some, or more.

    More rows are made of all images of CIFAR10: further objects lie between two objects
    of one class, at the same place in every view.
    """
    data = load(case.dataset, download_if_missing=False)
    Xs, y = data.Xs, np.unique(data.y, return_inverse=True)[1]
    if case.rows is None:
        return Xs, y
    needed = min(case.rows, N_CIFAR)
    if len(y) < needed:
        raise TooFewRows(f"{len(y)} rows, but {needed} are needed")
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
    """Verdicts on all views, and rates of the matches of the template and others."""
    return {
        "verdict": list(alignment.verdict),
        "trust": rounded(alignment.trust, 3),
        "basis": list(alignment.basis),
        "known": rounded(alignment.known, 4),
        "chance": round(category_alignment_chance(*2 * [shuffled.ys[0]]), 3),
        **describe_matches(alignment, shuffled),
        "others": [describe_matches(group, shuffled) for group in alignment.others],
    }


def describe_matches(alignment, shuffled):
    """Rates of the matches of every matched view, those that were known left out."""
    ys, order, t = shuffled.ys, shuffled.order, alignment.template
    matched = [i for i in alignment.matched() if i != t]
    free = slice(shuffled.n_aligned if shuffled.n_aligned < len(ys[0]) else 0, None)
    names = ("same class", "same object", "with a partner", "AUC of confidence")
    rates = {name: [] for name in names}
    for i in matched:
        rows, sure = alignment.permutations[i][free], alignment.confidence[i][free]
        y_t, order_t = ys[t][free], order[t][free]
        there = rows >= 0
        right, auc = order[i][rows[there]] == order_t[there], np.nan
        if right.any() and not right.all():
            auc = roc_auc_score(right, sure[there])
        rates["same class"].append(category_alignment_rate(ys[i], y_t, rows))
        rates["same object"].append(instance_alignment_rate(order[i], order_t, rows))
        rates["with a partner"].append(np.mean(there))
        rates["AUC of confidence"].append(auc)
    found = {name: rounded(values, 4) for name, values in rates.items()}
    return {"template": t, "matched": matched, **found}


def score_classes(alignment, labels, ys):
    """Score the common names of the template and each view whose classes correspond.

    Their joint accuracy and its floor, and how often a row is of the same class as a
    row of the template that has the same name.
    """
    t = alignment.template
    found = {"views": [], "acc": [], "floor": [], "same class": []}
    for i, verdict in enumerate(alignment.verdict):
        if verdict == "classes":
            scores = joint_scores([ys[t], ys[i]], [labels[t], labels[i]])
            found["views"].append(i)
            found["acc"].append(round(100 * scores["acc"], 1))
            found["floor"].append(round(100 * scores["floor_acc"], 1))
            by_name = same_class_by_name(labels[t], ys[t], labels[i], ys[i])
            found["same class"].append(round(by_name, 4))
    return found


def same_class_by_name(labels_t, y_t, labels_i, y_i):
    """Probability that rows of two views with one name are of one class."""
    names, classes = int(max(labels_t.max(), labels_i.max())), int(y_t.max())
    tables = np.zeros((2, names + 1, classes + 1))
    np.add.at(tables[0], (labels_t, y_t), 1)
    np.add.at(tables[1], (labels_i, y_i), 1)
    of_template, of_view = tables
    shares = of_template / np.maximum(of_template.sum(axis=1, keepdims=True), 1)
    return float(np.sum(shares * of_view) / len(y_i))


def rounded(values, digits):
    """Numbers for a record."""
    return [round(float(value), digits) for value in values]


def score_views(ys, labels):
    """ACC, NMI and F of the labels of every view, in percent."""
    scores = [clustering_scores(y, found) for y, found in zip(ys, labels, strict=True)]
    return {
        name: [round(100 * score[name], 1) for score in scores]
        for name in ("acc", "nmi", "f")
    }


def score_together(ys, labels):
    """Scores of one naming over all rows of all views, and their floor, in percent."""
    scores = joint_scores(ys, labels)
    return {name: round(100 * score, 1) for name, score in scores.items()}


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


def main():
    """Run all cases, or those of the datasets asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--datasets", default="", help="only these, split by commas")
    parser.add_argument("--known", action="store_true", help="the sweep of known pairs")
    parser.add_argument("--no-floors", action="store_true")
    parser.add_argument("--realigned", action="store_true", help="other methods, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    asked = set(filter(None, arguments.datasets.split(",")))
    there = {
        tuple(result["case"]): result for result in study_records(arguments.output)
    }
    cases = [
        (case, seed)
        for seed in range(arguments.shuffles)
        for case in (SOME_KNOWN if arguments.known else NOTHING_KNOWN)
    ]
    if not arguments.known:
        cases = [(case, 0) for case in LARGE] + cases
    floors = not (arguments.no_floors or arguments.known)
    jobs = [
        Job(case, seed, floors, arguments.realigned)
        for case, seed in cases
        if not asked or case.dataset in asked
    ]
    jobs = [job for job in jobs if not is_done(job, there)]
    print(f"{len(there)} cases are there, {len(jobs)} to go.", flush=True)
    # A process per case, so that its peak of memory is its own.
    with get_context("spawn").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for result in pool.imap_unordered(attempt, jobs, chunksize=1):
            print(json.dumps(result), flush=True)
            if "left out" not in result:
                append_record(arguments.output, result)


def study_records(path):
    """Read the last record of every case; earlier versions had no verdicts."""
    records = [result for result in read_records(path) if "verdict" in result]
    return list({tuple(result["case"]): result for result in records}.values())


def is_done(job, there):
    """Tell whether a record has all that a job asks for."""
    result = there.get((str(job.case), job.seed))
    if result is None or result["classes"] == 1:
        return result is not None
    floors = "PAVuC-ATS" in result or not job.floors
    return floors and ("realigned" in result or not job.realigned)


if __name__ == "__main__":
    main()
