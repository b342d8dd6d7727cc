"""New vectors looked up in another space: ``python -m benchmarks.spaces``.

Objects in clusters of unequal size, seen through two linear maps with noise of a
quarter of the signal's variance (signal-to-noise 4), in 768 and 384 columns. Of the
rows of both spaces a fiftieth is in one only; new vectors of the first space are those
of objects that only the second holds. Adds a line to ``results/spaces.jsonl``: CPU
seconds, peak memory, top-1 of the new vectors among all rows of the second space, their
mean confidence, that of vectors whose object the second space lacks, and that of noise.
With ``--mapped`` the spaces are ``.npy`` files that stay on disk.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.records import FOLDER
from unaligned.benchmark.memory import forget_peak, peak_bytes
from unaligned.json_lines import append_record
from unaligned.spaces import SpaceTranslator

RESULTS = FOLDER / "spaces.jsonl"

WIDTHS = (768, 384)
N_CLUSTERS, N_LATENT = 50, 50
SIGNAL_TO_NOISE = 4.0


def make_spaces(n, seed):
    """Vectors of the same n objects in two spaces, in float32."""
    rng = np.random.RandomState(seed)
    share = 1 / np.arange(1, N_CLUSTERS + 1)
    of = rng.choice(N_CLUSTERS, size=n, p=share / share.sum())
    latent = 1.5 * rng.normal(size=(N_CLUSTERS, N_LATENT))[of]
    latent += rng.normal(size=latent.shape)
    spaces = []
    for width in WIDTHS:
        signal = latent @ rng.normal(size=(N_LATENT, width))
        signal = (signal - signal.mean(axis=0)) / signal.std()
        noise = rng.normal(size=signal.shape) / np.sqrt(SIGNAL_TO_NOISE)
        spaces.append((signal + noise).astype(np.float32))
    return spaces


def mapped(X, folder, name):
    """Leave an array on disk."""
    np.save(folder / name, X)
    return np.load(folder / name, mmap_mode="r")


def run(n, seed, effort, folder=None):
    """Fit on n rows of each space, and look up a fiftieth of them as new ones."""
    n_new = n // 50
    one, other = make_spaces(n + n_new, seed)
    order = n_new + np.random.RandomState(seed + 1).permutation(n)
    known, rows, new = one[:n], other[order], one[n:].copy()
    if folder is not None:
        known, rows = mapped(known, folder, "one.npy"), mapped(rows, folder, "two.npy")
    del one, other
    forget_peak()
    start = time.process_time()
    spaces = SpaceTranslator(effort=effort, random_state=seed).fit(known, rows)
    fitted = time.process_time()
    record = {
        "rows": n,
        "seed": seed,
        "effort": effort,
        "mapped": folder is not None,
        "fit CPU s": round(fitted - start, 1),
        "trust": round(float(spaces.alignment_.trust.min()), 3),
    }
    if not spaces.n_pairs_:
        return record
    found = spaces.nearest(new)
    end = time.process_time()
    absent = spaces.nearest(known[:n_new])  # their objects are not in the second space
    noise = new.std() * np.random.RandomState(seed + 2).normal(size=new.shape)
    strange = spaces.nearest(noise.astype(np.float32))
    right = order[found.rows[:, 0]] == np.arange(n, n + n_new)
    return record | {
        "lookup CPU s": round(end - fitted, 1),
        "peak GB": round(peak_bytes() / 1e9, 2),
        "top-1": round(float(right.mean()), 3),
        "confidence": round(float(found.confidence.mean()), 3),
        "confidence, absent": round(float(absent.confidence.mean()), 3),
        "confidence, noise": round(float(strange.confidence.mean()), 3),
    }


def main():
    """Run the sizes and seeds asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--mapped", action="store_true")
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) if arguments.mapped else None
            record = run(arguments.rows, seed, arguments.effort, place)
            print(record, flush=True)
            append_record(RESULTS, record)


if __name__ == "__main__":
    main()
