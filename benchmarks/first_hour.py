"""The first hour with one's own files: trials through the command, as users type it.

``python -m benchmarks.first_hour`` writes files, runs ``unaligned cluster a.csv b.csv``
on them in a process of its own with default options, compares the matches with the
truth, and adds a JSON line for each trial to ``benchmarks/results/first_hour.jsonl``:

- ``customers``: two tables without a key, 800 × 12 and 640 × 9, linear maps of six
  common factors with noise 0.3; ``gaps`` is the same with 3 % of the cells empty;
- ``categories``: customers, each table with a category of four values beside its
  numbers, which depends on these; ``left out`` is the same with ``--categorical drop``,
  ``three categories`` has three of them in each, and ``category gaps`` leaves 3 % of
  all cells empty;
- ``unrelated categories``: customers, each with a category that depends on nothing;
  ``unrelated numbers``: each with a column of Gaussian noise;
- ``counts``: RNA and ATAC counts of the same 1,300 cells, whose depth varies;
- ``embeddings``: vectors of the same 3,000 items in two spaces, 256 and 128 columns;
- ``split``: tables that scikit-learn ships, their columns dealt out at random to two
  files, with ``unaligned align``.

Trials that are there are not run again, but with ``--again``.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from benchmarks.data.unrelated import related_views
from benchmarks.records import FOLDER, run_missing

RESULTS = FOLDER / "first_hour.jsonl"
TABLES = {
    "breast cancer": load_breast_cancer,
    "wine": load_wine,
    "diabetes": load_diabetes,
    "digits": load_digits,
}
OPTIONS = {"left out": ["--categorical", "drop"]}
N_CATEGORIES = {
    "categories": 1,
    "left out": 1,
    "three categories": 3,
    "category gaps": 1,
    "unrelated categories": 1,
}
WITH_GAPS = ("gaps", "category gaps")
CUSTOMERS = ("customers", "gaps", "unrelated numbers", *N_CATEGORIES)
N_CUSTOMERS = 10  # seeds, with and without gaps
N_WITH_MORE = 5  # seeds, with other columns
N_OTHERS = 3  # seeds of counts and of embeddings
N_SPLITS = 10  # of the columns of each table
LEAST_EXACT = 0.05  # share of right matches below which an accepted pair is wrong


def cases():
    """List trials as [kind, what, seed]."""
    n_seeds = dict.fromkeys(CUSTOMERS[:2], N_CUSTOMERS)
    n_seeds |= dict.fromkeys(CUSTOMERS[2:], N_WITH_MORE)
    n_seeds |= dict.fromkeys(("counts", "embeddings"), N_OTHERS)
    drawn = [[kind, "", seed] for kind, n in n_seeds.items() for seed in range(n)]
    splits = [["split", name, seed] for name in TABLES for seed in range(N_SPLITS)]
    return drawn + splits


def customers(seed, missing=0.0):
    """Two tables of customers, and the row of the first beside every row of the second.

    The second has 80 % of the customers.
    """
    one, other, rows = related_views(((800, 12), (640, 9)), 6, 0.3, seed)
    rng = np.random.RandomState(1000 + seed)
    for table in (one, other):
        table[rng.uniform(size=table.shape) < missing] = np.nan
    return one, other, rows


def category(X, seed, related=True):
    """Draw a category of four values for each row, which depends on its numbers."""
    rng = np.random.RandomState(2000 + seed)
    value = np.nan_to_num(X) @ rng.randn(X.shape[1])
    value = related * value + 0.5 * value.std() * rng.randn(len(X))
    bounds = np.quantile(value, [0.2, 0.5, 0.8])
    return rng.permutation(list("ABCD"))[np.digitize(value, bounds)]


def categories_of(kind, X, seed, side):
    """Draw the categories of one table of a trial (side 0 or 1), a column for each."""
    n = N_CATEGORIES.get(kind, 0)
    # Categories that depend on nothing must not be the same noise in both tables.
    at = seed + 50 * side if kind == "unrelated categories" else seed
    related = kind != "unrelated categories"
    drawn = [category(X, at + 100 * i, related) for i in range(n)]
    if kind in WITH_GAPS:
        rng = np.random.RandomState(3000 + 2 * seed + side)
        drawn = [np.where(rng.uniform(size=len(X)) < 0.03, "", c) for c in drawn]
    return drawn


def cell_states(rng, n, n_types=8, uneven=False):
    """Draw states of cells on branches of a tree of types, and the types."""
    n_programmes = 20
    parent = [0, *(rng.randint(t) for t in range(1, n_types))]
    centres = np.zeros((n_types, n_programmes))
    for t in range(1, n_types):
        centres[t] = centres[parent[t]] + rng.gamma(3, 0.5) * rng.randn(n_programmes)
    if uneven:
        types = rng.choice(n_types, size=n, p=rng.dirichlet(3 * np.ones(n_types)))
    else:
        types = rng.randint(n_types, size=n)
    along = rng.beta(3, 1, size=(n, 1))
    states = along * centres[types] + (1 - along) * centres[np.take(parent, types)]
    return states + 0.6 * rng.randn(*states.shape), types


def counts(seed):
    """RNA and ATAC counts of the same cells, in two orders.

    Features respond to the state of the cell. RNA is negative binomial (a Poisson whose
    rate has a gamma distribution of shape two), ATAC is Poisson and sparse. The depth
    of a cell has a log-normal distribution of scale 0.5.
    """
    rng = np.random.RandomState(seed)
    states, _ = cell_states(rng, 1300)
    states = (states - states.mean(axis=0)) / states.std()
    tables = []
    for d, depth, shape in ((600, 8000, 2), (1500, 4000, None)):
        effects = rng.randn(states.shape[1], d) / np.sqrt(states.shape[1])
        rates = np.exp(states @ effects + rng.randn(d))
        depths = depth * np.exp(0.5 * rng.randn(len(states), 1))
        rates *= depths / rates.sum(axis=1, keepdims=True)
        if shape is not None:
            rates *= rng.gamma(shape, 1 / shape, size=rates.shape)
        tables.append(rng.poisson(rates))
    rows = rng.permutation(len(states))
    return tables[0], tables[1][rows], rows


def embeddings(seed):
    """Vectors of the same items in two spaces, in two orders.

    Items belong to forty topics, whose sizes follow Zipf's law. Thirty factors are
    mapped linearly to both spaces, with noise of a tenth of their deviation.
    """
    rng = np.random.RandomState(seed)
    n, n_factors, n_topics = 3000, 30, 40
    sizes = 1 / np.arange(1, n_topics + 1)
    topic = rng.choice(n_topics, size=n, p=sizes / sizes.sum())
    factors = rng.randn(n_topics, n_factors)[topic] + rng.randn(n, n_factors)
    tables = []
    for d in (256, 128):
        X = factors @ rng.randn(n_factors, d)
        tables.append(X + 0.1 * X.std() * rng.randn(n, d))
    rows = rng.permutation(n)
    return tables[0], tables[1][rows], rows


def deal_out(X, rng):
    """Deal the columns of a table that vary out to two."""
    X = X[:, X.std(axis=0) > 0]
    columns = rng.permutation(X.shape[1])
    half = (len(columns) + 1) // 2
    return X[:, columns[:half]], X[:, columns[half:]]


def split(name, seed):
    """Deal the columns of a table out to two files, in two orders of the rows."""
    rng = np.random.RandomState(seed)
    one, other = deal_out(TABLES[name]().data, rng)
    rows = rng.permutation(len(one))
    return one, other[rows], rows


def make(case):
    """Two tables, and the row of the first beside every row of the second."""
    kind, what, seed = case
    if kind == "split":
        return split(what, seed)
    if kind in CUSTOMERS:
        one, other, rows = customers(seed, 0.03 if kind in WITH_GAPS else 0.0)
        if kind == "unrelated numbers":
            rng = np.random.RandomState(4000 + seed)
            one, other = (np.column_stack([X, rng.randn(len(X))]) for X in (one, other))
        return one, other, rows
    return {"counts": counts, "embeddings": embeddings}[kind](seed)


def write_table(path, X, prefix, categories=()):
    """Write a table as CSV: a header, an id of every row, empty cells for gaps.

    The categories of the rows, if there are any, are the last columns.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        last = [f"group {i}" for i in range(len(categories))]
        lines.writerow(["name", *(f"{prefix}{i}" for i in range(X.shape[1])), *last])
        whole = X.dtype.kind == "i"
        for row, values in enumerate(X.tolist()):
            cells = values if whole else ["" if v != v else f"{v:.6g}" for v in values]
            last = [groups[row] for groups in categories]
            lines.writerow([f"{prefix}-{row}", *cells, *last])


def run(case):
    """Run the command on the files of a trial, and compare with the truth."""
    one, other, truth = make(case)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for side, (name, X, prefix) in enumerate(
            (("one", one, "a"), ("other", other, "b"))
        ):
            groups = categories_of(case[0], X, case[2], side)
            write_table(folder / f"{name}.csv", X, prefix, groups)
        output = folder / "out"
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = ["align"] if case[0] == "split" else ["cluster"]
        command += ["one.csv", "other.csv", "-o", "out", "--quiet"]
        command += OPTIONS.get(case[0], [])
        subprocess.run(
            [sys.executable, "-m", "unaligned", *command], check=True, cwd=folder
        )
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
        with (output / "matches.csv").open(newline="", encoding="utf-8") as file:
            matches = list(csv.DictReader(file))
    views = {view["name"]: view for view in summary["views"]}
    beside = next(view for name, view in views.items() if name != summary["template"])
    right = [is_right(match, truth) for match in matches]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "rows": [len(one), len(other)],
        "columns": [one.shape[1], other.shape[1]],
        "verdict": beside["verdict"],
        "trust": beside["trust"],
        "expected_right": beside["expected_right"],
        "matches": len(matches),
        "right": sum(right),
        "exact": sum(right) / len(other),
        "cpu": round(cpu, 1),
        "wall": round(wall, 1),
    }


def is_right(match, truth):
    """Tell whether a line of matches.csv joins two rows of one object."""
    rows = {
        match["template_view"]: int(match["template_row"]),
        match["view"]: int(match["row"]),
    }
    return bool(truth[rows["other"]] == rows["one"])


def main():
    """Run the trials that were not run yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--kinds", help="only these kinds, separated by commas")
    parser.add_argument("--seeds", type=int, help="only so many seeds of each")
    parser.add_argument("--again", action="store_true", help="run all of them anew")
    arguments = parser.parse_args()
    todo = cases()
    if arguments.kinds:
        todo = [case for case in todo if case[0] in arguments.kinds.split(",")]
    if arguments.seeds is not None:
        todo = [case for case in todo if case[2] < arguments.seeds]
    run_missing(arguments.results, todo, run, again=arguments.again)


if __name__ == "__main__":
    main()
