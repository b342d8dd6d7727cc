"""Labels carried between modalities of cells: ``python -m benchmarks.cells``.

``labels`` takes the pairing of co-assays away but for a share, and carries types of one
modality to the cells of the other that nobody paired (`transfer_labels`). Beside the
share of right labels: five nearest neighbours of the target's own numbers among the
known pairs, the commonest type, the mean confidence, and what was given rather than
called unknown. Types are used for scoring only. ``$UNALIGNED_DATA`` names the folder
with the files. ``unpaired`` does the same with cells that were never paired. ``unseen``
removes one digit at a time from the source, of two views of the digits. ``size``
measures CPU time and memory of 20,000 simulated cells in two modalities.

Prints a JSON line per case and writes it to ``benchmarks/results/cells.jsonl``.
"""

import argparse
import json
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.first_hour import cell_states
from benchmarks.records import FOLDER
from unaligned.benchmark.memory import forget_peak, peak_bytes
from unaligned.datasets import load, load_digits_views, unalign
from unaligned.json_lines import append_record
from unaligned.scverse import cluster, transfer_labels

RESULTS = FOLDER / "cells.jsonl"
RATIOS = (0.0, 0.02, 0.1, 0.5)
DATASETS = ("scGEM", "sciCAR-A549")
UNPAIRED = ("PBMC-RNA-ATAC-unpaired", "scNMT-unpaired")
N_NEAREST = 5


def as_cells(X, types=None):
    """Cells of a modality, with their types."""
    from anndata import AnnData

    cells = AnnData(X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, np.float32))
    if types is not None:
        cells.obs["type"] = np.asarray(types).astype(str)
    return cells


def carried(Xs, ys, n_known, seed):
    """Carry types from the first modality to the second, and score them."""
    source, target = as_cells(Xs[0], ys[0]), as_cells(Xs[1])
    start = time.process_time()
    found = transfer_labels(
        source, target, "type", aligned=n_known or None, random_state=seed
    )
    seconds = time.process_time() - start
    new = slice(n_known, None)
    truth = np.asarray(ys[1]).astype(str)[new]
    guess, label = (
        found[name].astype(object).to_numpy()[new] for name in ("guess", "label")
    )
    given, right = label != "unknown", guess == truth
    types, counts = np.unique(np.asarray(ys[0]).astype(str), return_counts=True)
    scores = {
        "verdict": found.attrs["verdict"],
        "trust": found.attrs["trust"],
        "right": np.mean(right),
        "given": np.mean(given),
        "confidence": found["confidence"].to_numpy()[new].mean(),
        "commonest": np.mean(truth == types[counts.argmax()]),
        "CPU s": seconds,
    }
    if given.any():
        scores["right of given"] = np.mean(right[given])
    if n_known >= N_NEAREST:
        own = KNeighborsClassifier(N_NEAREST).fit(Xs[1][:n_known], ys[0][:n_known])
        scores["nearest pairs"] = np.mean(own.predict(Xs[1][new]).astype(str) == truth)
    return scores


def labels(shuffles, datasets):
    """Co-assays, with a share of their pairs known."""
    for name in datasets or DATASETS:
        data = load(name)
        for ratio in RATIOS:
            for seed in range(shuffles):
                shuffled = unalign(data.Xs, data.y, ratio, random_state=seed)
                yield from both_ways(name, shuffled, ratio, shuffled.n_aligned, seed)


def unpaired(shuffles, datasets):
    """Cells of which nobody knows a pair."""
    for name in datasets or UNPAIRED:
        for seed in range(shuffles):
            yield from both_ways(name, load(name), 0.0, 0, seed)


def both_ways(name, data, ratio, n_known, seed):
    """Carry types from the first modality to the second, and back."""
    for i, j in ((0, 1), (1, 0)):
        Xs, ys = [data.Xs[i], data.Xs[j]], [data.ys[i], data.ys[j]]
        about = {"dataset": name, "ratio": ratio, "seed": seed, "from": i, "to": j}
        yield about | carried(Xs, ys, n_known, seed)


def unseen(*_):
    """Confidence of labels of a type that the source lacks, and of the others."""
    digits = load_digits_views()
    data = unalign(
        [X[:600] for X in digits.Xs[:2]], digits.y[:600], 0.15, random_state=0
    )
    for gone in range(10):
        there = np.flatnonzero(data.ys[0] != gone)
        known = np.flatnonzero(there < data.n_aligned)
        pairs = np.column_stack([known, there[known]])
        source = as_cells(data.Xs[0][there], data.ys[0][there])
        target = as_cells(data.Xs[1])
        found = transfer_labels(source, target, "type", aligned={(0, 1): pairs})
        found, truth = found[data.n_aligned :], data.ys[1][data.n_aligned :]
        right = found["guess"].astype(str).to_numpy() == truth.astype(str)
        sure, absent = found["confidence"].to_numpy(), truth == gone
        yield {
            "dataset": "digits",
            "without": gone,
            "confidence": sure[absent].mean(),
            "unknown": np.mean(found["label"].to_numpy()[absent] == "unknown"),
            "confidence of others": sure[~absent].mean(),
            "right of others": right[~absent].mean(),
        }


def simulated(n=20_000, width=50):
    """Cells on a tree of types, measured in two modalities."""
    rng = np.random.RandomState(0)
    states, types = cell_states(rng, n, n_types=12, uneven=True)
    Xs = []
    for _ in range(2):
        X = states @ rng.normal(size=(states.shape[1], width))
        X = X / X.std() + 0.5 * rng.normal(size=(n, width))
        Xs.append(X.astype(np.float32))
    return Xs, types


def size(*_):
    """CPU time and memory at 20,000 cells, with no pair known and one in fifty."""
    Xs, types = simulated()
    for ratio in (0.0, 0.02):
        data = unalign(Xs, types, ratio, random_state=0)
        known = data.n_aligned or None
        forget_peak()
        found = carried(data.Xs, data.ys, data.n_aligned, 0)
        about = {"dataset": "20,000 cells, 50 columns", "ratio": ratio}
        yield {**about, "what": "labels", **found, "peak GB": peak_bytes() / 1e9}
        forget_peak()
        start = time.process_time()
        cells = {name: as_cells(X) for name, X in zip("ab", data.Xs, strict=True)}
        model = cluster(cells, 12, aligned=known)
        seconds = time.process_time() - start
        verdict = model.alignment_.verdict[1 - model.template_]
        told = {"what": "clusters", "verdict": verdict, "CPU s": seconds}
        yield {**about, **told, "peak GB": peak_bytes() / 1e9}


def main():
    """Run the parts asked for, or all."""
    parts = {"labels": labels, "unpaired": unpaired, "unseen": unseen, "size": size}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)}; default: all")
    parser.add_argument("--shuffles", type=int, default=10)
    parser.add_argument("--datasets", nargs="*", default=[])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of other people's imports
    for part in arguments.parts or parts:
        for record in parts[part](arguments.shuffles, arguments.datasets):
            rounded = {
                key: round(float(value), 3) if isinstance(value, float) else value
                for key, value in record.items()
            }
            print(json.dumps(rounded), flush=True)
            append_record(RESULTS, rounded)


if __name__ == "__main__":
    main()
