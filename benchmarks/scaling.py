"""Rows against time, memory and exactness: ``python -m benchmarks.scaling``.

Two views of `benchmarks.data.shared_rows`, 64 columns each, 30 % of the rows of either
without a partner. Every cell is a method on so many rows, in a process of its own that
may take so much memory and CPU time; what exceeds either is a result, and larger cells
of that method are not tried. Adds a JSON line for each to
``benchmarks/results/scaling.jsonl``; cells that are there are not run again.
``python -m benchmarks.pages scaling`` writes the page.
"""

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.confidence import binned, calibration_error
from benchmarks.data.shared_rows import NOISE, make_views
from benchmarks.records import FOLDER
from unaligned.alignment import TRUSTED
from unaligned.alignment.tables import matches_of
from unaligned.json_lines import append_record, read_records

RESULTS = FOLDER / "scaling.jsonl"
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CONFIDENT = 0.5
SIGNAL_OF_TIME = -24  # SIGXCPU


def align_on_disk(paths):
    """`unaligned.distributed.align`, from files."""
    from unaligned import distributed

    views = distributed.open_views(paths)
    return distributed.align(views, effort="quick", random_state=0, verbose=1)


def align_in_memory(paths):
    """`unaligned.align`."""
    from unaligned import align

    return align(map_list(np.load, paths), effort="quick", random_state=0)


def fit_pavuc(paths):
    """`unaligned.PAVuC` with 20 iterations, on centred views."""
    from unaligned import PAVuC

    Xs = [X - X.mean(axis=0) for X in map(np.load, paths)]
    return PAVuC(20, max_iter=20, random_state=0).fit(Xs).alignment_


def fit_scot(paths):
    """Gromov–Wasserstein as in SCOT, one setting."""
    from unaligned.baselines import SCOT

    model = SCOT(20, epsilon=0.01, self_tune=False, random_state=0)
    return model.fit(map_list(np.load, paths)).alignment_


def fit_rosetta(paths):
    """Rosetta, a reconstruction."""
    from unaligned.baselines import Rosetta

    return Rosetta(20, random_state=0).fit(map_list(np.load, paths)).alignment_


def map_list(function, values):
    """Apply a function to every value."""
    return [function(value) for value in values]


METHODS = {
    "SAVuC on dask": align_on_disk,
    "SAVuC in memory": align_in_memory,
    "PAVuC": fit_pavuc,
    "SCOT": fit_scot,
    "Rosetta": fit_rosetta,
}


def view_paths(folder):
    """Files of the views."""
    return [folder / f"view{i}.npy" for i in (0, 1)]


def write_views(folder, n, noise):
    """Write two views, and who belongs to whom."""

    def allocate(view, shape):
        return np.lib.format.open_memmap(
            view_paths(folder)[view], "w+", np.float32, shape
        )

    made = make_views(n, noise=noise, allocate=allocate)
    np.save(folder / "partners.npy", made.partners())


def run_cell(method, folder):
    """Run one method: this is in the process that is watched."""
    warnings.simplefilter("ignore")
    start, cpu = time.perf_counter(), time.process_time()
    alignment = METHODS[method](view_paths(folder))
    trust = float(alignment.trust.min())
    found = {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "trust": None if np.isnan(trust) else round(trust, 4),
        **score(alignment, np.load(folder / "partners.npy")),
    }
    (folder / "found.json").write_text(json.dumps(found))


def score(alignment, partners):
    """Count right matches, among all and among the confident."""
    pairs, confidence = matches_of(alignment, 0, 1)
    right = partners[pairs[:, 0]] == pairs[:, 1]
    sure = confidence >= CONFIDENT
    alone = np.ones(len(partners), dtype=bool)
    alone[pairs[:, 0]] = False
    bins = binned(confidence, right)
    return {
        "exact": round(float(right.sum() / (partners >= 0).sum()), 4),
        "confident": round(float(sure.sum() / len(partners)), 4),
        "right_if_confident": round(float(right[sure].mean()), 4)
        if any(sure)
        else None,
        "found_alone": round(float(alone[partners < 0].mean()), 4),
        "calibration_error": round(calibration_error(*map(np.array, bins.values())), 4),
    }


def attempt(method, n, folder, arguments):
    """Run a cell in its limits; tell what came of it."""
    from dask.utils import parse_bytes

    from benchmarks.out_of_core import watch

    (folder / "found.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.scaling", "--folder", str(folder)]
    memory = parse_bytes(arguments.memory)
    limits = {
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_CPU: arguments.seconds,
    }
    code, peak, errors = watch([*command, "--cell", method], limits)
    record = {
        "method": method,
        "rows": n,
        "noise": arguments.noise,
        "memory_limit": arguments.memory,
        "seconds_limit": arguments.seconds,
        "peak_gb": round(peak / 1e9, 2),
    }
    if code == 0:
        found = json.loads((folder / "found.json").read_text())
        refused = found["trust"] is not None and found["trust"] < TRUSTED
        return record | {"status": "refused" if refused else "done"} | found
    if code == SIGNAL_OF_TIME:
        return record | {"status": "time"}
    if "MemoryError" in errors or "allocate" in errors:
        return record | {"status": "memory"}
    raise SystemExit(f"{method} on {n:,} rows failed ({code}):\n{errors}")


def main():
    """Run the cells that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="*", default=[*METHODS], choices=METHODS)
    parser.add_argument("--rows", nargs="*", type=int, default=SIZES)
    parser.add_argument("--noise", type=float, default=NOISE)
    parser.add_argument("--memory", default="8 GB")
    parser.add_argument("--seconds", type=int, default=300, help="CPU time of a cell")
    parser.add_argument("--folder", type=Path, help="with room for the views")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cell:
        run_cell(arguments.cell, arguments.folder)
        return
    for n in arguments.rows:
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        try:
            noise = arguments.noise
            there = [r for r in read_records(RESULTS) if r.get("noise", NOISE) == noise]
            open_cells = [m for m in arguments.methods if not is_closed(m, n, there)]
            if open_cells:
                write_views(folder, n, arguments.noise)
            for method in open_cells:
                record = attempt(method, n, folder, arguments)
                append_record(RESULTS, record)
                print(json.dumps(record), flush=True)
        finally:
            shutil.rmtree(folder)


def is_closed(method, n, records):
    """Tell whether a cell is there, or a smaller one of its method has failed."""
    return any(
        r["method"] == method
        and (r["rows"] == n or (r["rows"] < n and r["status"] in ("time", "memory")))
        for r in records
    )


if __name__ == "__main__":
    main()
