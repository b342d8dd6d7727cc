"""Labels carried from one modality of cells to another: ``python -m benchmarks.cells``.

SAVuC aligns modalities whose cells nobody paired. Where it trusts two of them, types of
the cells of one are carried to the other in two ways: along the matches, and by a vote
of the five nearest cells in the space that they share. Prints and writes a JSON line
per case and seed to ``benchmarks/results/cells.jsonl``, with the share of right labels
beside two floors: the commonest type for every cell, and types drawn at random. Where
it refuses, there are the floors only. Cells of types that the other modality lacks, and
pairs known beforehand, do not count. Types are used for scoring only.
``$UNALIGNED_DATA`` names the folder with the files.
"""

import argparse
import json
import os
import time
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from unaligned import SAVuC
from unaligned.datasets import load, unalign

RESULTS = Path(__file__).parent / "results" / "cells.jsonl"
N_NEAREST = 5


class Case(NamedTuple):
    """Modalities to align, and the share of their cells that is known to be paired."""

    dataset: str
    ratio: float = 0.0


CASES = [
    Case("PBMC-RNA-ATAC-unpaired"),
    Case("scNMT-unpaired"),
    Case("scGEM"),
    Case("scGEM", 0.25),
    Case("scGEM", 0.5),
]


def run(case, seed, effort):
    """Align the modalities of a case, and carry labels between those trusted."""
    data = load(case.dataset)
    Xs, ys, known = data.Xs, data.ys, 0
    if data.y is not None:  # of one co-assay: take the pairing away
        shuffled = unalign(Xs, data.y, case.ratio, seed)
        Xs, ys, known = shuffled.Xs, shuffled.ys, shuffled.n_aligned
    k = len(np.unique(np.concatenate(ys)))
    start = time.perf_counter()
    model = SAVuC(k, effort=effort, random_state=seed).fit(Xs, aligned=known or None)
    result = {"dataset": case.dataset, "cells": [len(y) for y in ys], "types": k}
    result |= {"ratio": case.ratio, "seed": seed, "effort": effort}
    result["seconds"] = round(time.perf_counter() - start, 1)
    result["trust"] = [round(float(trust), 3) for trust in model.alignment_.trust]
    trusted = model.fused_views_
    result["trusted"] = list(trusted) if len(trusted) > 1 else []
    result["transfers"] = [
        {"from": i, "to": j, **floors(ys[i], ys[j][known:])}
        | (carry(model, Xs, ys, i, j, known) if {i, j} <= set(trusted) else {})
        for i, j in permutations(range(len(Xs)), 2)
    ]
    return result


def floors(y_from, y_to):
    """Score what needs no alignment: the commonest type, and types at random."""
    y_to = y_to[np.isin(y_to, y_from)]
    types, counts = np.unique(y_from, return_counts=True)
    commonest = np.mean(y_to == types[counts.argmax()])
    drawn = np.mean((counts / counts.sum())[np.searchsorted(types, y_to)])
    return {"commonest": round(float(commonest), 3), "drawn": round(float(drawn), 3)}


def carry(model, Xs, ys, i, j, known):
    """Share of right labels of modality j when they come from modality i."""
    counts = np.isin(ys[j], ys[i])
    counts[:known] = False
    pairs = model.alignment_.pairs(i, j)
    pairs = pairs[counts[pairs[:, 1]]]
    voters = KNeighborsClassifier(N_NEAREST).fit(model.transform(Xs[i], i), ys[i])
    told = voters.predict(model.transform(Xs[j], j))
    return {
        "matched": round(float(len(pairs) / counts.sum()), 3),
        "by matches": round(
            float(np.mean(ys[i][pairs[:, 0]] == ys[j][pairs[:, 1]])), 3
        ),
        "by neighbours": round(float(np.mean(told[counts] == ys[j][counts])), 3),
    }


def main():
    """Run all cases, or those of the datasets asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--datasets", default="")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    asked = set(filter(None, arguments.datasets.split(",")))
    for case in CASES:
        for seed in range(arguments.seeds if not asked or case.dataset in asked else 0):
            line = json.dumps(run(case, seed, arguments.effort))
            print(line, flush=True)
            with arguments.output.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
