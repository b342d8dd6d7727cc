"""Forged models and checkpoints, and damaged data files, read in child processes.

``python -m benchmarks.fuzz`` forges 3,000 models and checkpoints and damages 3,000 data
files at random, and leaves out and replaces every entry of every model's manifest in
turn. It prints how they ended. Results are kept, a JSON line each; the same command
goes on where it was stopped.
"""

import argparse
import faulthandler
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.fuzz_cases import KINDS, TARGETS
from unaligned.json_lines import append_record, read_records

RESULTS = Path("benchmarks/out/fuzz.jsonl")
PATIENCE = 60.0  # seconds for a case; the slowest sound one takes two
MOST_MEMORY = 8 << 30  # bytes of a child's address space

# Ends that nobody should see.
BAD = ("crash", "hang", "unworded")


def run_child(target: str, start: int, end: int) -> None:
    """Run cases, and print a line for each."""
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kind, _, name = target.partition(" ")
    with tempfile.TemporaryDirectory() as folder:
        cases = KINDS[kind](name, Path(folder))
        print("begin", flush=True)
        for case in range(start, min(end, cases.n_cases)):
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            print(cases.run(case, random.Random(f"{target} {case}")), flush=True)
        faulthandler.cancel_dump_traceback_later()


def run_target(target: str, n_cases: int, results: Path) -> Counter[str]:
    """Run the cases of a target that have no result yet; count all ends."""
    ended = {
        record["case"]: record["end"]
        for record in read_records(results)
        if record["target"] == target and record["case"] < n_cases
    }

    def note(case: int, end: str) -> None:
        ended[case] = end
        append_record(results, {"target": target, "case": case, "end": end})

    while (case := next(i for i in count() if i not in ended)) < n_cases:
        command = [sys.executable, "-m", "benchmarks.fuzz", "--child", target]
        with (
            tempfile.TemporaryFile("w+") as complaints,
            subprocess.Popen(
                [*command, str(case), str(n_cases)],
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            ) as child,
        ):
            assert child.stdout is not None
            begun = child.stdout.readline()
            if not begun:
                complaints.seek(0)
                raise RuntimeError(f"{target}: {complaints.read().strip()[-500:]}")
            for line in child.stdout:
                note(case, line.strip())
                case += 1
        if child.returncode == 0:
            break
        note(case, "crash" if child.returncode < 0 else "hang")
    return Counter("unworded" if "unworded" in end else end for end in ended.values())


def main() -> None:
    """Run all cases, and print a line for every target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(TARGETS)}; all")
    parser.add_argument("--cases", type=int, default=3000, help="at random, each kind")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--counts", type=Path, help="file for how many ended how")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        target, start, end = options.child
        return run_child(target, int(start), int(end))
    options.results.parent.mkdir(parents=True, exist_ok=True)
    if options.counts:
        options.counts.unlink(missing_ok=True)
    for kind in options.kinds or TARGETS:
        targets, total = TARGETS[kind], Counter[str]()
        shares = np.diff(np.arange(len(targets) + 1) * options.cases // len(targets))
        for target, share in zip(targets, shares, strict=True):
            n_cases = sys.maxsize if kind == "entries" else int(share)
            ends = run_target(target, n_cases, options.results)
            total += ends
            print(f"{target:26} {dict(ends)}", flush=True)
            if options.counts:
                append_record(options.counts, {"target": target, "ends": dict(ends)})
        bad = {end: total[end] for end in BAD}
        print(f"{kind}: {total.total()} cases, {dict(total)}; {bad}", flush=True)
    return None


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
