"""How much two narrow tables need in common: ``python -m benchmarks.overlap``.

Two files of equally many rows, of which a share is in both. Simulated ones are linear
maps of six Gaussian factors with noise, as in `benchmarks.trust`; real ones are tables
of scikit-learn, whose columns are dealt out to two files at random. `unaligned.align`
searches with default options. Adds a JSON line for each to ``results/overlap.jsonl``,
unless it is there, and writes tables of docs/first_hour.md and docs/images/power.svg
from them; ``--page`` does the latter only.
"""

import argparse
import os
import time
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.first_hour import LEAST_EXACT, TABLES
from unaligned import align
from unaligned.json_lines import append_record, read_records

RESULTS = Path(__file__).parent / "results" / "overlap.jsonl"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "power.svg"
OVERLAPS = (1.0, 0.8, 0.5, 0.3)
ROWS = (200, 400, 800)
COLUMNS = ((12, 9), (20, 12))
NOISES = (0.1, 0.3)
REAL = ("breast cancer", "digits", "wine")
N_FACTORS = 6
SEEDS = range(3)


def cases():
    """List cases as (kind, what, rows, overlap, seed)."""
    for columns, noise, n in product(COLUMNS, NOISES, ROWS):
        for overlap, seed in product(OVERLAPS, SEEDS):
            yield ["simulated", [*columns, noise], n, overlap, seed]
    for name, overlap, seed in product(REAL, OVERLAPS, SEEDS):
        yield ["real", [name], len(TABLES[name]().data), overlap, seed]


def make(case):
    """Two tables, and the objects of their rows."""
    kind, what, n, overlap, seed = case
    rng = np.random.RandomState(seed)
    if kind == "simulated":
        d, e, noise = what
        n_objects = round(n * (2 - overlap))
        factors = rng.randn(n_objects, N_FACTORS)
        Xs = [
            factors @ rng.randn(N_FACTORS, width) + noise * rng.randn(n_objects, width)
            for width in (d, e)
        ]
    else:
        X = TABLES[what[0]]().data
        X = X[:, X.std(axis=0) > 0]
        columns = rng.permutation(X.shape[1])
        half = (len(columns) + 1) // 2
        Xs = [X[:, columns[:half]], X[:, columns[half:]]]
        n_objects, n = n, int(n / (2 - overlap))
    objects = rng.permutation(n_objects)
    one, other = objects[:n], rng.permutation(objects[n_objects - n :])
    return Xs[0][one], Xs[1][other], one, other


def run(case):
    """Align two tables, and compare with the truth."""
    X, Y, one, other = make(case)
    start = time.process_time()
    found = align([X, Y], random_state=case[-1])
    seconds = time.process_time() - start
    view = 1 - found.template
    trusted = found.verdict[view] == "objects"
    pairs = found.pairs(0, 1) if trusted else np.empty((0, 2), dtype=int)
    right = int(np.sum(one[pairs[:, 0]] == other[pairs[:, 1]]))
    return {
        "case": case,
        "rows": [len(X), len(Y)],
        "columns": [X.shape[1], Y.shape[1]],
        "common": len(np.intersect1d(one, other)),
        "trust": round(float(found.trust[view]), 4),
        "trusted": trusted,
        "matches": len(pairs),
        "right": right,
        "CPU s": round(seconds, 1),
    }


def share_found(record):
    """Share of the common rows that were matched right."""
    return record["right"] / record["common"]


def is_wrong(record):
    """Tell whether matches are trusted though hardly any is right."""
    return record["trusted"] and share_found(record) < LEAST_EXACT


def table(records, kind):
    """Lines of a table: how many pairs of files were aligned, by overlap."""
    first = ["rows", "columns", "noise"] if kind == "simulated" else ["table", "rows"]
    head = [*first, *(f"{100 * overlap:.0f} % in common" for overlap in OVERLAPS)]
    lines = [f"| {' | '.join(head)} |", "| --- |" + " --- |" * (len(head) - 1)]
    groups = {}
    for record in records:
        if record["case"][0] == kind:
            _, what, n, _, _ = record["case"]
            groups.setdefault((*what, n), []).append(record)
    for key, these in sorted(groups.items()):
        *what, n = key
        name = (
            [f"{n:,}", f"{what[0]} and {what[1]}", f"{what[2]:g}"]
            if (kind == "simulated")
            else [what[0], f"{n:,}"]
        )
        for overlap in OVERLAPS:
            of = [record for record in these if record["case"][3] == overlap]
            sound = [r for r in of if r["trusted"] and not is_wrong(r)]
            cell = f"{len(sound)} of {len(of)}"
            if sound:
                cell += f", {np.mean([share_found(r) for r in sound]):.2f}"
            if wrong := sum(map(is_wrong, of)):
                cell += f", {wrong} wrong"
            name.append(cell)
        lines.append(f"| {' | '.join(name)} |")
    return "\n".join(lines)


def draw(records, path=PICTURE):
    """Draw the share of common rows that are found, refused files counted as none."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    simulated = [r for r in records if r["case"][0] == "simulated"]
    # The same file every time, with texts as texts.
    with rc_context({"svg.hashsalt": "power", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        panels = figure.subplots(1, 4, sharey=True)
        kinds = [*product(COLUMNS, NOISES)]
        for axes, ((d, e), noise) in zip(panels, kinds, strict=True):
            for overlap in OVERLAPS:
                means = [
                    np.mean(
                        [
                            share_found(r)
                            for r in simulated
                            if r["case"][1:4] == [[d, e, noise], n, overlap]
                        ]
                        or [np.nan]
                    )
                    for n in ROWS
                ]
                axes.plot(ROWS, means, ".-", label=f"{100 * overlap:.0f} % in common")
            axes.set(xscale="log", xlabel="rows of each file", ylim=(-0.03, 1.03))
            axes.set_xticks(ROWS, [str(n) for n in ROWS])
            axes.minorticks_off()
            axes.set_title(f"{d} and {e} columns, noise {noise:g}", fontsize=9)
        panels[0].set_ylabel("common rows found")
        panels[-1].legend(fontsize=8)
        figure.savefig(path, metadata={"Date": None})


def parts(results=RESULTS):
    """Tables of the page."""
    records = [*read_records(results)]
    return {kind: table(records, kind) for kind in ("simulated", "real")}


def main():
    """Search the cases that were not searched yet, and write the page."""
    from benchmarks.first_hour_page import PAGE, page

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--page", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    done = [record["case"] for record in read_records(RESULTS)]
    for case in cases():
        if case not in done and not arguments.page:
            record = run(case)
            append_record(RESULTS, record)
            print(record, flush=True)
    draw([*read_records(RESULTS)])
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
