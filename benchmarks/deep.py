"""PVC and MvCLN beside Table 5 of the paper: ``python -m benchmarks.deep``.

Appends a JSON line per case to ``benchmarks/results/deep.jsonl``; what is there already
is not run again. ``--cases`` picks some:

- ``table5``: two views of ProteinFold and of Wiki, one pair in a hundred known, as
  published (known pairs are not clamped).
- ``half``: two views of Handwritten, half of the pairs known.
- ``size``: blobs of the size of Scene-15, for the time it takes.

The first two need ProteinFold.npz, Wiki.npz and Handwritten.npz; ``$UNALIGNED_DATA``
names their folder. ``--gpu`` runs blobs of the size of CIFAR-10 on a GPU instead, and
compares a small fit on CPU and GPU; it needs no file and only prints.
"""

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import f1_score
from sklearn.metrics.cluster import contingency_matrix

from unaligned.baselines import PVC, MvCLN
from unaligned.datasets import load, unalign
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    instance_alignment_rate,
)

RESULTS = Path(__file__).parent / "results" / "deep.jsonl"
METHODS = {"PVC": PVC, "MvCLN": MvCLN}


class Case(NamedTuple):
    """Two views of a dataset and how many of their pairs are known."""

    data: str
    views: tuple[int, int] = (0, 1)
    ratio: float = 0.01
    parameters: dict = {}


CASES = {
    "table5": [
        Case("ProteinFold", (8, 11), parameters={"clamp_known_pairs": False}),
        Case("Wiki", (0, 1), parameters={"clamp_known_pairs": False}),
    ],
    "half": [Case("Handwritten", (0, 4), ratio=0.5)],
    "size": [Case("Scene-sized"), Case("Scene-sized", ratio=0.5)],
}
GPU_CASES = [Case("CIFAR-sized"), Case("CIFAR-sized", ratio=0.5)]
SIZES = {"Scene-sized": (4500, (20, 59), 15), "CIFAR-sized": (50_000, (512, 2048), 10)}


def read_views(case):
    """Read views and classes of a case; make blobs where it is a size only."""
    if case.data not in SIZES:
        data = load(case.data)
        return [data.Xs[i] for i in case.views], data.y
    n, widths, k = SIZES[case.data]
    rng = np.random.RandomState(0)
    y = rng.randint(k, size=n)
    latent = rng.normal(size=(k, 16))[y] + 0.5 * rng.normal(size=(n, 16))
    maps = [rng.normal(size=(16, width)) for width in widths]
    return [np.tanh(latent @ M / 4).astype(np.float32) for M in maps], y


def renamed(y, labels):
    """Clusters named after the classes they fit best, one to one."""
    counts = contingency_matrix(y, labels)
    classes, clusters = linear_sum_assignment(counts, maximize=True)
    names = np.full(counts.shape[1], -1)
    names[clusters] = np.unique(y)[classes]
    return names[np.unique(labels, return_inverse=True)[1]]


def run_once(name, case, Xs, y, seed, **parameters):
    """Scores of one shuffle in the first view's row order, in percent, and seconds."""
    data = unalign(Xs, y, ratio=case.ratio, random_state=seed)
    model = METHODS[name](len(np.unique(y)), random_state=seed, **parameters)
    start = time.perf_counter()
    model.fit(data.Xs, aligned=data.n_aligned)
    seconds = time.perf_counter() - start
    truth, labels = data.ys[0], model.labels_
    scores = clustering_scores(truth, labels)
    names = renamed(truth, labels)
    rows = model.alignment_.permutations[1]
    return {
        "ACC": 100 * scores["acc"],
        "NMI": 100 * scores["nmi"],
        "F": 100 * scores["f"],
        # What the programs of PVC and of MvCLN call F.
        "weighted F1": 100 * f1_score(truth, names, average="weighted"),
        "macro F1": 100 * f1_score(truth, names, average="macro", labels=np.unique(y)),
        "same class": category_alignment_rate(data.ys[1], truth, rows),
        "same object": instance_alignment_rate(data.order[1], data.order[0], rows),
        "seconds": seconds,
    }


def run_case(name, case, n_runs, **parameters):
    """Mean scores of one method in one case."""
    Xs, y = read_views(case)
    parameters = {**case.parameters, **parameters}
    runs = [run_once(name, case, Xs, y, seed, **parameters) for seed in range(n_runs)]
    mean = {key: round(float(np.mean([r[key] for r in runs])), 3) for key in runs[0]}
    return {
        "method": name,
        "data": case.data,
        "views": case.views,
        "known pairs": round(case.ratio * len(y)),
        "runs": n_runs,
        "parameters": parameters,
        **mean,
        "ACC deviation": round(float(np.std([r["ACC"] for r in runs])), 3),
        "same class by chance": round(category_alignment_chance(y, y), 3),
    }


def compare_devices():
    """Scores and times of one small fit on the CPU and on the GPU."""
    case = Case("Handwritten-sized", ratio=0.5)
    SIZES[case.data] = (2000, (216, 240), 10)
    brief = {
        "PVC": {"pretrain_epochs": 50, "align_epochs": 5, "finetune_epochs": 20},
        "MvCLN": {"epochs": 3},
    }
    for name in METHODS:
        for device in ("cpu", "cuda"):
            yield run_case(name, case, 1, device=device, **brief[name])


def run_missing(cases, methods, n_runs, again):
    """Run what has no line in the results yet."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    results = {line: json.loads(line) for line in lines}
    for case in cases:
        for name in methods:
            same = [
                line
                for line, r in results.items()
                if (r["method"], r["data"], r["ratio"]) == (name, case.data, case.ratio)
            ]
            if same and not again:
                continue
            result = {"ratio": case.ratio, **run_case(name, case, n_runs)}
            for line in same:
                del results[line]
            results[json.dumps(result)] = result
            RESULTS.write_text("\n".join(sorted(results)) + "\n")
            print(json.dumps(result), flush=True)


def main():
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="run what is there, too")
    parser.add_argument("--gpu", action="store_true", help="run on a GPU, only print")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    if arguments.gpu:
        for result in compare_devices():
            print(json.dumps(result), flush=True)
        for case in GPU_CASES:
            for name in methods:
                result = run_case(name, case, 1, device="cuda")
                print(json.dumps(result), flush=True)
    else:
        RESULTS.parent.mkdir(exist_ok=True)
        cases = [c for name in arguments.cases.split(",") for c in CASES[name]]
        run_missing(cases, methods, arguments.runs, arguments.again)


if __name__ == "__main__":
    main()
