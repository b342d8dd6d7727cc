"""PVC and MvCLN with some pairs known: ``python -m benchmarks.deep``.

Writes a JSON line per case to ``benchmarks/results/deep.jsonl``; what is there already
is not run again. ``--cases`` picks some:

- ``table5``: two views of ProteinFold and of Wiki, one pair in a hundred known, as
  published (known pairs are matched anew).
- ``order``: what PVC scores on ProteinFold in the other view's row order, and with one
  view in the place of both.
- ``half``: two views of Handwritten, half of the pairs known; as published, and with
  settings and fits chosen without labels.
- ``size``: blobs of the size of Scene-15, for the time it takes.

The first three need ProteinFold.npz, Wiki.npz and Handwritten.npz; ``$UNALIGNED_DATA``
names their folder. ``--gpu`` runs blobs of the size of CIFAR-10 on a GPU instead, and
compares small fits on CPU and GPU; it needs no file and only prints.
"""

import argparse
import json
import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import f1_score
from sklearn.metrics.cluster import contingency_matrix

from benchmarks.records import FOLDER
from unaligned.baselines import PVC, MvCLN
from unaligned.datasets import load, unalign
from unaligned.json_lines import read_records
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    clustering_scores,
    instance_alignment_rate,
)
from unaligned.selection import LabelFreeSearch

RESULTS = FOLDER / "deep.jsonl"
METHODS = {"PVC": PVC, "MvCLN": MvCLN}


class Case(NamedTuple):
    """Two views of a dataset, the share of their pairs that is known, and settings."""

    method: str
    data: str
    views: tuple[int, int] = (0, 1)
    ratio: float = 0.01
    parameters: dict = {}
    grid: dict = {}
    """Settings that `LabelFreeSearch` chooses from, without labels."""
    n_repeats: int = 1
    """Fits per setting; it keeps the best of them, again without labels."""


AS_PUBLISHED = {"clamp_known_pairs": False}
SHARED = {"negatives": "batch"}
# Drawn up after looking at scores of other fits: benchmarks/README.md says which.
NARROW = {**SHARED, "hidden": [256, 256, 256], "epochs": 100}
GRID = {"scale": ["none", "minmax", "standard"], "dropout": [0.0, 0.2]}
CHOSEN = {**NARROW, "scale": "standard", "dropout": 0.0}
SHALLOW = {
    **SHARED,
    "latent_dim": 64,
    "hidden": [256],
    "n_negatives": 10,
    "scale": "standard",
    "epochs": 100,
}
CASES = {
    "table5": [
        Case(method, data, views, parameters=AS_PUBLISHED)
        for data, views in (("ProteinFold", (8, 11)), ("Wiki", (0, 1)))
        for method in METHODS
    ],
    "order": [
        Case("PVC", "ProteinFold", views, parameters=AS_PUBLISHED)
        for views in ((11, 8), (11, 11), (8, 8))
    ],
    "half": [
        Case("MvCLN", "Handwritten", (0, 4), 0.5),
        Case("MvCLN", "Handwritten", (0, 4), 0.5, NARROW, GRID),
        Case("MvCLN", "Handwritten", (0, 4), 0.5, CHOSEN, n_repeats=8),
        Case("MvCLN", "Handwritten", (0, 4), 0.5, SHALLOW),
    ],
    "size": [
        Case("MvCLN", "Scene-sized"),
        Case("MvCLN", "Scene-sized", ratio=0.5, parameters=SHARED),
    ],
}
GPU_CASES = [
    Case("MvCLN", "CIFAR-sized"),
    Case("MvCLN", "CIFAR-sized", ratio=0.5, parameters=SHARED),
    Case("PVC", "CIFAR-sized"),
]
BRIEF = {
    "PVC": {"pretrain_epochs": 50, "align_epochs": 5, "finetune_epochs": 20},
    "MvCLN": {"epochs": 3},
}
SIZES = {
    "Handwritten-sized": (2000, (216, 240), 10),
    "Scene-sized": (4500, (20, 59), 15),
    "CIFAR-sized": (50_000, (512, 2048), 10),
}


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


def run_once(case, Xs, y, seed, **parameters):
    """Scores of one shuffle in the first view's row order, in percent, and seconds."""
    data = unalign(Xs, y, ratio=case.ratio, random_state=seed)
    model = METHODS[case.method](len(np.unique(y)), random_state=seed, **parameters)
    if case.grid or case.n_repeats > 1:
        model = LabelFreeSearch(
            model, case.grid, n_repeats=case.n_repeats, random_state=seed
        )
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
        "chosen": getattr(model, "best_params_", {}),
    }


def run_case(case, n_runs, **parameters):
    """Mean scores of a case."""
    Xs, y = read_views(case)
    parameters = {**case.parameters, **parameters}
    runs = [run_once(case, Xs, y, seed, **parameters) for seed in range(n_runs)]
    chosen = [run.pop("chosen") for run in runs]
    mean = {key: round(float(np.mean([r[key] for r in runs])), 3) for key in runs[0]}
    return {
        **case._asdict(),
        "parameters": parameters,
        "chosen": chosen,
        "known pairs": round(case.ratio * len(y)),
        "runs": n_runs,
        **mean,
        "ACC deviation": round(float(np.std([r["ACC"] for r in runs])), 3),
        "ACC of each": [round(r["ACC"], 1) for r in runs],
        "same class by chance": round(category_alignment_chance(y, y), 3),
    }


def run_on_gpu():
    """Small fits on the CPU and on the GPU, then large ones."""
    for method, parameters in BRIEF.items():
        case = Case(method, "Handwritten-sized", (0, 1), 0.5, parameters)
        for device in ("cpu", "cuda"):
            yield run_case(case, 1, device=device)
    for case in GPU_CASES:
        yield run_case(case, 1, device="cuda")


def identity(case):
    """Name a case by all that is in it."""
    return json.dumps(case)


def read_results():
    """Results so far, by case."""
    return {
        identity([r[field] for field in Case._fields]): r for r in read_records(RESULTS)
    }


def run_missing(cases, n_runs, again, device):
    """Run what has no line in the results yet."""
    for case in cases:
        results = read_results()
        if identity(case) in results and not again:
            continue
        results[identity(case)] = result = {
            **run_case(case, n_runs, device=device),
            "parameters": case.parameters,  # which a case is known by
            "device": device,
        }
        lines = [json.dumps(results[key]) for key in sorted(results)]
        RESULTS.write_text("\n".join(lines) + "\n")
        print(json.dumps(result), flush=True)


def main():
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="run what is there, too")
    parser.add_argument("--gpu", action="store_true", help="run on a GPU, only print")
    parser.add_argument("--device", default="cpu", help="where cases are run")
    arguments = parser.parse_args()
    if arguments.gpu:
        for result in run_on_gpu():
            print(json.dumps(result), flush=True)
        return
    methods = arguments.methods.split(",")
    chosen = [case for name in arguments.cases.split(",") for case in CASES[name]]
    run_missing(
        [case for case in chosen if case.method in methods],
        arguments.runs,
        arguments.again,
        arguments.device,
    )


if __name__ == "__main__":
    main()
