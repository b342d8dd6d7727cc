"""Cases that are run once: what has a record in the results is not run again."""

import json
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from unaligned.json_lines import append_record, read_records

__all__ = ["FOLDER", "missing", "run_missing"]

FOLDER = Path(__file__).parent / "results"


def missing(path, cases, key="case"):
    """List the cases that have no record in a file."""
    done = {json.dumps(record[key]) for record in read_records(path)}
    return [case for case in cases if json.dumps(case) not in done]


def run_missing(path, cases, run, jobs=1, key="case", again=False):
    """Run the cases that have no record, in some processes, and add their records."""
    todo = cases if again else missing(path, cases, key)
    print(f"{len(todo)} of {len(cases)} cases to go.", flush=True)
    with Pool(jobs) as pool:
        for record in pool.imap_unordered(partial(recorded, run, key), todo):
            append_record(path, record)
            print(json.dumps(record), flush=True)


def recorded(run, key, case):
    """Run a case, and keep it beside what was found."""
    return {key: case} | run(case)
