"""Baselines beside Table 4 of the paper: ``python -m benchmarks.baselines``.

Fully shuffled views, one setting per method and dataset, mean of five shuffles. Writes
a JSON line for each to ``benchmarks/results/baselines.jsonl``; what is there already is
not run again. ``python -m benchmarks.methods`` makes the documentation page from it.
Needs ProteinFold.npz and Wiki.npz; ``$UNALIGNED_DATA`` names their folder.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unaligned import PAVuC, baselines
from unaligned.datasets import load, unalign
from unaligned.metrics import clustering_scores

RESULTS = Path(__file__).parent / "results" / "baselines.jsonl"

# Defaults where nothing is said. The others were picked with labels, from runs of the
# authors' programs on these datasets: "oracle", like the table they stand beside.
SETTINGS = {
    "LMVSC": {"ProteinFold": {"alpha": 1e-3}},
    "FMVACC": {"ProteinFold": {"lam": 1e5}, "Wiki": {"lam": 1e5}},
    "FDAGF": {"ProteinFold": {"n_scales": 2, "alpha": 10.0, "lam": 1e3}},
    "AEVC": {
        name: {"n_anchors": k, "gamma": 10.0, "lam": 1.0}
        for name, k in (("ProteinFold", 27), ("Wiki", 10))
    },
    "PAVuC": {
        "ProteinFold": {"mu": 1e-3, "alpha": 2.0},
        "Wiki": {"mu": 0.1, "alpha": 1.5},
    },
}
METHODS = {name: getattr(baselines, name) for name in baselines.__all__}
METHODS["PAVuC"] = PAVuC
# CMVNMF labels every view by itself; its published row is near the mean over views.
MEAN_OVER_VIEWS = {"CMVNMF"}


def run(name, dataset, n_shuffles):
    """Mean scores of one method on one dataset, in percent."""
    data = load(dataset)
    k = len(np.unique(data.y))
    parameters = SETTINGS.get(name, {}).get(dataset, {})
    scores, seconds = [], []
    for seed in range(n_shuffles):
        shuffled = unalign(data.Xs, data.y, random_state=seed)
        model = METHODS[name](k, random_state=seed, **parameters)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(shuffled.Xs)
        seconds.append(time.perf_counter() - start)
        every = range(len(data.Xs)) if name in MEAN_OVER_VIEWS else [model.template_]
        found = [
            clustering_scores(shuffled.ys[i], model.view_labels_[i]) for i in every
        ]
        scores.append([[100 * s[key] for key in ("acc", "nmi", "f")] for s in found])
    mean = np.mean(scores, axis=(0, 1))
    return {
        "method": name,
        "reconstruction": getattr(METHODS[name], "reconstruction", False),
        "dataset": dataset,
        "parameters": parameters,
        "shuffles": n_shuffles,
        "scored": "mean over views" if name in MEAN_OVER_VIEWS else "template",
        "ACC": round(mean[0], 2),
        "NMI": round(mean[1], 2),
        "F": round(mean[2], 2),
        "seconds": round(float(np.median(seconds)), 2),
    }


def read_results():
    """Results so far, by method and dataset."""
    if not RESULTS.exists():
        return {}
    lines = map(json.loads, RESULTS.read_text().splitlines())
    return {(line["method"], line["dataset"]): line for line in lines}


def main():
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--again", action="store_true", help="run what is there, too")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    for dataset in ("ProteinFold", "Wiki"):
        for name in arguments.methods.split(","):
            results = read_results()
            if (name, dataset) in results and not arguments.again:
                continue
            result = results[name, dataset] = run(name, dataset, arguments.shuffles)
            lines = [json.dumps(results[key]) for key in sorted(results)]
            RESULTS.write_text("\n".join(lines) + "\n")
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
