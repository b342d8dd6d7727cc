"""Files with views, and how the tests of the commands run them."""

import csv
import json

import numpy as np
from click.testing import CliRunner

from unaligned.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def write_csv(path, X, ids=None, **columns):
    names = [*(["id"] if ids is not None else []), *columns]
    names += [f"f{j}" for j in range(X.shape[1])]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row, numbers in enumerate(X):
            known = [] if ids is None else [ids[row]]
            known += [values[row] for values in columns.values()]
            writer.writerow([*known, *numbers.tolist()])
    return path


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())


def left_behind(folder, *inputs):
    """Whatever is in a folder, hidden or not, beside what was put there."""
    return sorted({path.name for path in folder.iterdir()} - {p.name for p in inputs})


def shuffled_digits(n=300):
    """Two views of the digits, of which one is a few rows short; and the orders."""
    from unaligned.datasets import load_digits_views, unalign

    digits = load_digits_views()
    data = unalign([digits.Xs[0][:n], digits.Xs[3][:n]], digits.y[:n], random_state=0)
    keep = n - 20
    return (
        [data.Xs[0], data.Xs[1][:keep]],
        [data.order[0], data.order[1][:keep]],
        [data.ys[0], data.ys[1][:keep]],
    )


def noise(path, n=1500, seed=0):
    np.save(path, np.random.RandomState(seed).normal(size=(n, 40)))
    return path
