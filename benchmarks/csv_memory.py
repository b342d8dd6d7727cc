"""Memory that a large CSV file takes: to be read, and to be clustered by the command.

``python -m benchmarks.csv_memory`` writes files of 200 MB into a folder of its own and
takes the peak of resident memory of fresh processes, over that of one which imports
the library and reads nothing. ``--cluster`` also runs ``unaligned cluster`` on the wide
file, which takes minutes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SHAPES = {"wide": 1000, "tall": 20}  # columns, beside ids and a column of words
ROWS_AT_ONCE = 1000

NOTHING = """
from unaligned.cli import main
from unaligned.datasets import read_views
from unaligned.datasets.readers import delimited
"""
READ = NOTHING + "read_views({file!r})"
READ_WITHOUT_PYARROW = NOTHING + "delimited.has_pyarrow = bool; read_views({file!r})"
CLUSTER = NOTHING + "main(['cluster', {file!r}, '-k', '10', '-q', '-o', {file!r}[:-4]])"


def write_table(path, n_bytes, width):
    """Write clusters with noise as text; return the number of rows."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(10, width))
    n_rows = 0
    with open(path, "w") as file:
        file.write(",".join(["id", "site", *(f"f{j}" for j in range(width))]) + "\n")
        while file.tell() < n_bytes:
            kinds = rng.integers(10, size=ROWS_AT_ONCE)
            numbers = centres[kinds] + rng.normal(size=(ROWS_AT_ONCE, width))
            for kind, row in zip(kinds, numbers, strict=True):
                cells = ",".join(f"{x:.6g}" for x in row)
                file.write(f"row-{n_rows:07d},site {kind % 3},{cells}\n")
                n_rows += 1
    return n_rows


def peak(program):
    """Bytes that a process with this program had resident at its highest."""
    process = subprocess.Popen([sys.executable, "-c", program])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"This program failed: {program}")
    return 1024 * usage.ru_maxrss


def main():
    """Measure files of two shapes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--cluster", action="store_true")
    arguments = parser.parse_args()
    nothing = peak(NOTHING)
    print(f"{nothing / 1e6:.0f} MB before anything is read, not counted below")
    with tempfile.TemporaryDirectory() as folder:
        for shape, width in SHAPES.items():
            file = Path(folder) / f"{shape}.csv"
            rows = write_table(file, 1e6 * arguments.megabytes, width)
            array = 8 * rows * width  # in float64
            print(
                f"{shape}: {rows:,d} rows × {width:,d} columns, file "
                f"{file.stat().st_size / 1e6:.0f} MB, array {array / 1e6:.0f} MB"
            )
            programs = {"read": READ, "read without pyarrow": READ_WITHOUT_PYARROW}
            if arguments.cluster and shape == "wide":
                programs["unaligned cluster"] = CLUSTER
            for name, program in programs.items():
                taken = peak(program.format(file=str(file))) - nothing
                print(
                    f"  {name}: peak {taken / 1e6:.0f} MB, {taken / array:.2f} times "
                    "the array",
                    flush=True,
                )


if __name__ == "__main__":
    main()
