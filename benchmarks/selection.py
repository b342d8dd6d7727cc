"""What choosing without labels costs: ``python -m benchmarks.selection``.

Three studies, each a JSON line per dataset in ``benchmarks/results/selection.jsonl``:

- ``settings``: PAVuC's α and μ from the paper's grid, chosen by `predictability`, on
  fully shuffled views; beside it the best setting by labels ("oracle"), the default and
  the mean of the grid.
- ``criteria``: the same on a smaller grid and a few datasets, for every criterion that
  `LabelFreeSearch` knows by name.
- ``recipes``: the view and the recipe for clustering it, by `predictability` and by the
  rule that SAVuC uses, against the best pair by labels.

``$UNALIGNED_DATA`` names the folder with the files. ``--summary`` prints the tables of
the documentation from the results. Labels only score; they choose what says "oracle".
"""

import argparse
import os
import time
import warnings

# Before NumPy is loaded: processes side by side need one thread each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import normalize, scale

from benchmarks.records import FOLDER
from unaligned import PAVuC
from unaligned.datasets import load, unalign
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import clustering_accuracy
from unaligned.savuc.consensus import cluster_view
from unaligned.selection import predictability
from unaligned.selection.criteria import CRITERIA

RESULTS = FOLDER / "selection.jsonl"
DATASETS = [
    "scGEM", "3Sources", "MSRC-v1", "sciCAR-A549", "BBCSport", "WebKB", "Wiki",
    "Reuters-1200", "ORL", "Handwritten", "CIFAR10-10k-recon", "100Leaves",
    "Reuters-600", "ProteinFold", "Caltech101-20-recon",
]  # fmt: skip
FEW = ["scGEM", "MSRC-v1", "BBCSport", "Wiki", "Handwritten"]  # for ``criteria``
PAPER_GRID = {"alpha": [1.1, 1.3, 1.5, 1.7, 1.9, 2.0], "mu": [1e-3, 1e-2, 0.1, 1, 10]}
SMALL_GRID = {"alpha": [1.1, 1.5, 2.0], "mu": [1e-3, 0.1, 10]}
DEFAULT = {"alpha": 1.5, "mu": 0.1}


def sample(name, most):
    """Load the views and classes of a sample of a dataset's rows."""
    data = load(name)
    rows = np.random.RandomState(0).permutation(len(data.y))[:most]
    Xs = [short_indices(X[rows].astype(float)) for X in data.Xs]
    return Xs, np.unique(data.y[rows], return_inverse=True)[1]


def short_indices(X):
    """Give a sparse matrix the indices that scikit-learn's graphs ask for."""
    if not sparse.issparse(X):
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array((X.data, indices, indptr), shape=X.shape)


def fit_grid(name, grid, judges, most):
    """Accuracy and label-free scores of every setting, on fully shuffled views."""
    Xs, y = sample(name, most)
    data = unalign(Xs, y, random_state=0)
    accuracy, scores = [], {judge: [] for judge in judges}
    for setting in ParameterGrid(grid):
        model = PAVuC(len(np.unique(y)), **setting, n_init=5, random_state=0)
        t = model.fit(data.Xs).template_
        accuracy.append(clustering_accuracy(data.ys[t], model.view_labels_[t]))
        for judge in judges:
            scores[judge].append(CRITERIA[judge](model, data.Xs))
    return accuracy, scores


def study_settings(name):
    """Choose PAVuC's α and μ by predictability."""
    accuracy, scores = fit_grid(name, PAPER_GRID, ["predictability"], most=400)
    candidates = list(ParameterGrid(PAPER_GRID))
    chosen = int(np.argmax(scores["predictability"]))
    return {
        "chosen": candidates[chosen],
        "acc": accuracy[chosen],
        "oracle": max(accuracy),
        "default": accuracy[candidates.index(DEFAULT)],
        "grid": float(np.mean(accuracy)),
    }


def study_criteria(name):
    """Choose by every criterion, on a small grid."""
    accuracy, scores = fit_grid(name, SMALL_GRID, list(CRITERIA), most=300)
    found = {judge: accuracy[int(np.argmax(score))] for judge, score in scores.items()}
    return found | {"oracle": max(accuracy), "grid": float(np.mean(accuracy))}


def recipes(X, n_clusters):
    """Partitions of a view: k-means and spectral, of unit and of z-scored unit rows."""
    scaled = scale(X, with_mean=not sparse.issparse(X))
    for points in (normalize(X), normalize(scaled)):
        yield KMeans(n_clusters, n_init=5, random_state=0).fit_predict(points)
        yield SpectralClustering(
            n_clusters,
            affinity="nearest_neighbors",
            n_neighbors=15,
            assign_labels="kmeans",
            random_state=0,
        ).fit_predict(points)


def study_recipes(name):
    """Choose the view and the recipe by predictability, and by SAVuC's rule."""
    Xs, y = sample(name, 800)
    k = len(np.unique(y))
    pool = [(X, labels) for X in Xs for labels in recipes(X, k)]
    accuracy = [clustering_accuracy(y, labels) for _, labels in pool]
    own = [predictability([X], labels)[0] for X, labels in pool]
    ruled = [cluster_view(X, k, np.random.RandomState(0)) for X in Xs]
    labels, _ = max(ruled, key=lambda found: found[1])
    return {
        "acc": accuracy[int(np.argmax(own))],
        "savuc": clustering_accuracy(y, labels),
        "oracle": max(accuracy),
        "mean": float(np.mean(accuracy)),
    }


STUDIES = {
    "settings": study_settings,
    "criteria": study_criteria,
    "recipes": study_recipes,
}


def read_results():
    """Results by study and dataset; the last line counts."""
    lines = read_records(RESULTS)
    return {(line["study"], line["dataset"]): line for line in lines}


def summarise(results):
    """Print a table per study, and the share of the oracle's mean accuracy."""
    for study in STUDIES:
        rows = [line for (of, _), line in results.items() if of == study]
        if not rows:
            continue
        skipped = ("study", "dataset", "seconds", "chosen")
        columns = [name for name in rows[0] if name not in skipped]
        print(f"\n### {study}\n\n| data | {' | '.join(columns)} |")
        print("| --- |" + " --- |" * len(columns))
        for row in rows:
            cells = [f"{100 * row[column]:.1f}" for column in columns]
            print(f"| {row['dataset']} | {' | '.join(cells)} |")
        means = {name: np.mean([row[name] for row in rows]) for name in columns}
        shares = [f"{100 * means[name] / means['oracle']:.0f} %" for name in columns]
        print(f"| share of the oracle's mean | {' | '.join(shares)} |")


def main():
    """Run the studies that have no result yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", nargs="+", default=list(STUDIES), choices=STUDIES)
    parser.add_argument("--datasets", nargs="+", help="default: all of a study")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    known = read_results()
    for study in [] if arguments.summary else arguments.studies:
        for name in arguments.datasets or (FEW if study == "criteria" else DATASETS):
            if (study, name) in known:
                continue
            start = time.perf_counter()
            result = {"study": study, "dataset": name} | STUDIES[study](name)
            result["seconds"] = round(time.perf_counter() - start, 1)
            append_record(RESULTS, result)
            print(result, flush=True)
    summarise(read_results())


if __name__ == "__main__":
    main()
