"""Is confidence a probability? Matches of trusted pairs of views, right and wrong.

``python -m benchmarks.confidence`` searches the pairs of `benchmarks.trust` again that
hold common objects and were trusted, one shuffle of each, matches all of their rows,
and adds a JSON line for each to ``benchmarks/results/confidence.jsonl``: in ten bins of
confidence, the number of matches, the sum of their confidence, and how many are right.
``$UNALIGNED_DATA`` names the folder with the files.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks import trust
from benchmarks.pages.markdown import head, row
from benchmarks.pages.trust import distinct, finds_objects, is_trusted, kind_of
from benchmarks.records import FOLDER, run_missing
from unaligned.alignment import TRUSTED
from unaligned.json_lines import read_records
from unaligned.kernels.devices import Cores
from unaligned.savuc.assign import match_views
from unaligned.savuc.config import settings_of

RESULTS = FOLDER / "confidence.jsonl"
N_BINS = 10
SIDES = {
    "development": "development sets",
    "checking": "checking sets",
    "related": "generated views",
}


def cases():
    """List cases of `benchmarks.trust` with right matches to look at."""
    records = distinct(read_records(trust.RESULTS))
    return [
        record["case"]
        for record in records
        if finds_objects(record)
        and is_trusted(record)
        and (kind_of(record) == "related" or record["case"][4] == 0)
    ]


def run(case, effort="quick"):
    """Search one pair of views, and count right matches by their confidence."""
    X, Y, a, b, _ = trust.make(case)
    settings, cores = settings_of(effort), Cores(1)
    with cores.busy():
        views, fit = trust.search(X, Y, settings, case[4], cores)
        found = match_views(fit.cross, *views, settings)
    matched = np.flatnonzero(found.partner >= 0)
    right = a[matched] == b[found.partner[matched]]
    trusted = fit.trust >= TRUSTED
    return {"trusted": trusted} | binned(found.confidence[matched], right)


def binned(confidence, right):
    """Count matches, sum their confidence and count right ones, bin by bin."""
    at = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    return {
        "matches": np.bincount(at, minlength=N_BINS).tolist(),
        "confidence": np.bincount(at, confidence, minlength=N_BINS).round(3).tolist(),
        "right": np.bincount(at, right, minlength=N_BINS).astype(int).tolist(),
    }


def calibration_error(matches, confidence, right):
    """Mean distance of confidence from the share that is right, over bins."""
    return float(np.abs(confidence - right).sum() / max(matches.sum(), 1))


def reliability_table(records):
    """Lines of a table over bins of confidence, and what follows it."""
    sums = {}
    for record in records:
        if record["trusted"]:
            counts = np.array([record[k] for k in ("matches", "confidence", "right")])
            sums.setdefault(record["case"][1], []).append(counts)
    sides = [side for side in SIDES if side in sums]
    lines = head(
        "confidence",
        *(
            column
            for side in sides
            for column in (f"{SIDES[side]}: matches", "mean confidence", "right")
        ),
    )
    totals = {side: np.sum(sums[side], axis=0) for side in sides}
    for at in range(N_BINS) if sides else ():
        cells = []
        for side in sides:
            n, confidence, right = totals[side][:, at]
            shares = [f"{confidence / n:.2f}", f"{right / n:.2f}"] if n else ["", ""]
            cells += [f"{n:,.0f}", *shares]
        low, high = at / N_BINS, (at + 1) / N_BINS
        lines.append(row(f"{low:.1f} to {high:.1f}", *cells))
    more = [""]
    for side in sides:
        n, confidence, right = totals[side].sum(axis=1)
        error = calibration_error(*totals[side])
        more.append(
            f"- {SIDES[side].capitalize()}, {len(sums[side])} pairs of views, {n:,.0f} "
            f"matches: {100 * confidence / n:.1f} % expected to be right, "
            f"{100 * right / n:.1f} % are; expected calibration error {error:.3f}"
        )
    return lines, more


def main():
    """Search the pairs that were not searched yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    run_missing(arguments.results, cases(), run)


if __name__ == "__main__":
    main()
