"""A fit of views larger than memory: ``python -m benchmarks.out_of_core``.

Writes two views of clustered rows to disk, fits them from there in a process that may
not allocate more than ``--memory``, and watches the memory of all processes of the fit.
A subsample is then fitted from disk and in memory: the labels must be the same. Prints
a JSON line and adds it to ``benchmarks/results/out_of_core.jsonl``.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
from dask.utils import parse_bytes
from sklearn.exceptions import ConvergenceWarning

import unaligned
from benchmarks.records import FOLDER
from unaligned import distributed
from unaligned.json_lines import append_record
from unaligned.metrics import clustering_scores

RESULTS = FOLDER / "out_of_core.jsonl"
K = 10


def write_views(folder, n, d, rows_at_once=500_000):
    """Two views of the same objects, each in an order of its own, float32."""
    rng = np.random.default_rng(0)
    classes = rng.integers(K, size=n, dtype=np.int8)
    for view in (0, 1):
        rng.shuffle(classes)
        np.save(folder / f"classes{view}.npy", classes)
        centres = rng.normal(size=(K, d)).astype(np.float32)
        X = np.lib.format.open_memmap(
            folder / f"view{view}.npy", "w+", np.float32, (n, d)
        )
        for start in range(0, n, rows_at_once):
            y = classes[start : start + rows_at_once]
            noise = rng.standard_normal((len(y), d), dtype=np.float32)
            X[start : start + len(y)] = centres[y] + noise
        X.flush()
        del X


def paths(folder):
    """Files of the views."""
    return [folder / f"view{view}.npy" for view in (0, 1)]


def fit_from_disk(folder, iterations, matching_memory):
    """Fit and keep the labels: this runs in the process that is watched."""
    views = distributed.open_views(paths(folder))
    model = distributed.PAVuC(
        K,
        max_iter=iterations,
        random_state=0,
        verbose=1,
        matching_memory=matching_memory,
    )
    start = time.perf_counter()
    model.fit(views)
    seconds = time.perf_counter() - start
    for view, labels in enumerate(model.view_labels_):
        np.save(folder / f"labels{view}.npy", labels)
    found = {
        "fit_seconds": round(seconds),
        "iterations": model.n_iter_,
        "template": model.template_,
        "matching_loss": [round(float(loss), 6) for loss in model.matching_loss_],
    }
    (folder / "found.json").write_text(json.dumps(found))


def watch(command, limits):
    """Run a command within limits; return its exit code, peak of memory and errors.

    ``limits`` are those of the kernel, by number. Beyond ``RLIMIT_DATA`` an allocation
    fails, beyond ``RLIMIT_CPU`` the process is killed. What is resident, file pages
    included, is summed over all processes.
    """

    def limit():
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, most + 60))

    # Freed memory goes back to the system at once, as dask has it for its workers.
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, preexec_fn=limit, env=environment, stderr=errors
        )
        family, peak = psutil.Process(child.pid), 0
        while child.poll() is None:
            try:
                members = [family, *family.children(recursive=True)]
                peak = max(peak, sum(member.memory_info().rss for member in members))
            except psutil.NoSuchProcess:
                pass
            time.sleep(0.2)
        errors.seek(0)
        return child.returncode, peak, errors.read()


def compare_subsample(folder, size, iterations):
    """Fit a subsample from disk and in memory; count rows labelled otherwise."""
    sub = folder / "subsample"
    sub.mkdir()
    n = len(np.load(folder / "classes0.npy", mmap_mode="r"))
    chosen = np.sort(np.random.default_rng(1).choice(n, size, replace=False))
    Xs = [np.load(path, mmap_mode="r")[chosen] for path in paths(folder)]
    for path, X in zip(paths(sub), Xs, strict=True):
        np.save(path, X)
    settings = {"max_iter": iterations, "random_state": 0}
    in_memory = unaligned.PAVuC(K, **settings).fit(Xs)
    views = distributed.open_views(paths(sub), chunks=20_000)
    from_disk = distributed.PAVuC(K, **settings).fit(views)
    differ = [
        int((a != b).sum())
        for a, b in zip(in_memory.view_labels_, from_disk.view_labels_, strict=True)
    ]
    t = in_memory.template_
    y = np.load(folder / f"classes{t}.npy", mmap_mode="r")[chosen]
    accuracy = clustering_scores(y, in_memory.view_labels_[t])["acc"]
    return {
        "subsample": size,
        "labels_unlike_in_memory": differ,
        "accuracy_in_memory": round(accuracy, 4),
    }


def main():
    """Write, fit under the limit, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--memory", default="4 GB")
    parser.add_argument("--matching-memory", default="600 MB")
    parser.add_argument("--subsample", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="with room for the views")
    parser.add_argument("--fit-only", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.fit_only:
        fit_from_disk(
            arguments.fit_only, arguments.iterations, arguments.matching_memory
        )
        return
    folder = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        print(json.dumps(run(folder, arguments)), flush=True)
    finally:
        shutil.rmtree(folder)


def run(folder, arguments):
    """Everything about one size."""
    write_views(folder, arguments.rows, arguments.features)
    command = [
        *(sys.executable, "-m", "benchmarks.out_of_core", "--fit-only", str(folder)),
        *("--iterations", str(arguments.iterations)),
        *("--matching-memory", arguments.matching_memory),
    ]
    limits = {resource.RLIMIT_DATA: parse_bytes(arguments.memory)}
    code, peak, errors = watch(command, limits)
    if code:
        raise SystemExit(f"The fit failed with exit code {code}.\n{errors}")
    found = json.loads((folder / "found.json").read_text())
    t = found["template"]
    scores = clustering_scores(
        np.load(folder / f"classes{t}.npy"), np.load(folder / f"labels{t}.npy")
    )
    line = {
        "rows": arguments.rows,
        "views": 2,
        "features": arguments.features,
        "input_gb": round(2 * arguments.rows * arguments.features * 4 / 1e9, 2),
        "memory_limit": arguments.memory,
        "matching_memory": arguments.matching_memory,
        "peak_rss_gb": round(peak / 1e9, 2),
        **found,
        "accuracy": round(scores["acc"], 4),
        **compare_subsample(folder, arguments.subsample, arguments.iterations),
    }
    append_record(RESULTS, line)
    return line


if __name__ == "__main__":
    main()
