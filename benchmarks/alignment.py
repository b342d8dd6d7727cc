"""How well ``align`` aligns real views: ``python -m benchmarks.alignment``.

Views are fully shuffled and no pair is known. Prints and writes a JSON line per dataset
and shuffle to ``benchmarks/results/alignment.jsonl``: trust of every view, share of
matched rows of one class (with chance) and of one object, seconds. ``$UNALIGNED_DATA``
names the folder with the files.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from unaligned import align
from unaligned.datasets import load, unalign
from unaligned.metrics import (
    category_alignment_chance,
    category_alignment_rate,
    instance_alignment_rate,
)

RESULTS = Path(__file__).parent / "results" / "alignment.jsonl"
DATASETS = {  # rows at most
    "Reuters-1200": None,
    "Handwritten": None,
    "CIFAR10-10k-recon": 2000,
    "MSRC-v1": None,
    "ORL": None,
    "BBCSport": None,
    "Wiki": None,
    "100Leaves": None,
    "Caltech101-20-recon": None,
}


def run(name, most, seed):
    """Align one shuffle of a dataset."""
    data = load(name)
    chosen = np.arange(len(data.y))
    if most is not None:
        chosen = np.random.RandomState(0).permutation(len(data.y))[:most]
    Xs, y = [X[chosen] for X in data.Xs], data.y[chosen]
    shuffled = unalign(Xs, y, random_state=seed)
    start = time.perf_counter()
    found = align(shuffled.Xs, random_state=seed)
    seconds = time.perf_counter() - start
    t, ys, order = found.template, shuffled.ys, shuffled.order
    trusted = [i for i in range(len(Xs)) if i != t and found.trust[i] >= 0.5]
    rows = found.permutations
    return {
        "dataset": name,
        "rows": len(y),
        "views": len(Xs),
        "shuffle": seed,
        "template": t,
        "trust": [round(float(trust), 3) for trust in found.trust],
        "trusted": trusted,
        "same class": [
            round(category_alignment_rate(ys[i], ys[t], rows[i]), 3) for i in trusted
        ],
        "chance": round(category_alignment_chance(y, y), 3),
        "same object": [
            round(instance_alignment_rate(order[i], order[t], rows[i]), 3)
            for i in trusted
        ],
        "seconds": round(seconds, 1),
    }


def main():
    """Run all datasets, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    for name in arguments.datasets.split(","):
        for seed in range(arguments.shuffles):
            line = json.dumps(run(name, DATASETS[name], seed))
            print(line, flush=True)
            with RESULTS.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
