"""Can clusters of two views get common names where no pair is known? An experiment.

``python -m benchmarks.classes`` clusters two views, couples centres of them so that the
distances between centres agree, and names the clusters of the one by those of the other
through the coupling, ten times on random halves of the rows. It adds a JSON line per
pair of views to ``benchmarks/results/classes.jsonl``, unless it is there; pairs are
those of ``benchmarks.trust``. ``benchmarks.pages.study`` makes the table.

A gate must tell right names from wrong ones without labels. Two candidates are kept:

- *agreement* of the names that the halves find;
- *gap*: how much better distances agree under the names than under other names that the
  same halves find, less two standard errors over the halves.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from benchmarks.pages.markdown import head, row
from benchmarks.records import FOLDER, run_missing
from benchmarks.trust import cases, make
from unaligned.savuc.anchors import Anchors, averages, row_distances
from unaligned.savuc.config import Settings
from unaligned.savuc.consensus import cluster_view
from unaligned.savuc.couplings import N_KEEPING, keep_distances, sinkhorn
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.trust import N_ERRORS, SAME

RESULTS = FOLDER / "classes.jsonl"
SETTINGS = Settings(n_starts=40)
N_HALVES = 10
N_CENTRES = 30  # twice as many as clusters, where that is more
MOST_ROWS = 800
N_GENERATED = 6  # of each kind
N_CLUSTERS = 4, 6, 10  # where there are no classes
RIGHT = 1.5  # times chance, from which names are right


def centres_of(points, labels, n_clusters, rng):
    """Centres of half of the rows, and how their rows are spread over the clusters."""
    rows = rng.permutation(len(points))[: min(len(points) // 2, SETTINGS.n_sketched)]
    n_centres = min(max(N_CENTRES, 2 * n_clusters), len(rows) // 4)
    seed = rng.randint(2**31 - 1)
    kmeans = KMeans(n_centres, n_init=1, max_iter=30, random_state=seed)
    owner = kmeans.fit_predict(points[rows, : SETTINGS.n_leading])
    averaging = averages(owner, n_centres)
    distances = averaging.T @ row_distances(points[rows], SETTINGS) @ averaging
    masses = (np.bincount(owner, minlength=n_centres) / len(rows)).astype(np.float32)
    spread = averaging.T @ np.eye(n_clusters, dtype=np.float32)[labels[rows]]
    return Anchors(distances / distances.mean(), masses, spread, spread)


def couple(one, other, rng):
    """Agreement of distances, and table of the clusters, under many couplings."""
    shape = SETTINGS.n_starts, len(one.masses), len(other.masses)
    noise = 2 * rng.standard_normal(shape).astype(np.float32)
    plans = sinkhorn(np.exp(noise), one.masses, other.masses, 20)
    plans = keep_distances(plans, one, other, N_KEEPING, SETTINGS)
    products = ((one.distances @ plans @ other.distances) * plans).sum(axis=(1, 2))
    (mean, deviation), (other_mean, other_deviation) = map(moments, (one, other))
    correlations = (products - mean * other_mean) / (deviation * other_deviation)
    return correlations, one.means.T @ plans @ other.means


def moments(anchors):
    """Mean and standard deviation of the distances, weighted by masses."""
    masses, distances = anchors.masses, anchors.distances
    mean = masses @ distances @ masses
    return mean, np.sqrt(masses @ distances**2 @ masses - mean**2)


def beyond_chance(tables):
    """Tables less what their margins let expect."""
    return tables - tables.sum(-1, keepdims=True) * tables.sum(-2, keepdims=True)


def cosines(tables, table):
    """Cosine of tables with one, beyond chance."""
    tables, table = beyond_chance(tables), beyond_chance(table)
    lengths = np.linalg.norm(tables, axis=(-1, -2)) * np.linalg.norm(table)
    return (tables * table).sum(axis=(-1, -2)) / (lengths + 1e-12)


def name_clusters(found):
    """Choose the names of largest gap among the best of every half; tell the gap."""
    correlations = np.array([half[0] for half in found])
    tables = np.array([half[1] for half in found])
    best = tables[np.arange(len(tables)), correlations.argmax(axis=1)]
    worst = correlations.min(axis=1)

    def gaps(table):
        same = cosines(tables, table) > SAME
        return np.maximum(np.where(same, correlations, -1).max(axis=1), worst) - (
            np.maximum(np.where(same, -1, correlations).max(axis=1), worst)
        )

    table = max(best, key=lambda table: gaps(table).mean())
    gap, alike = gaps(table), cosines(best, table)
    lower = gap.mean() - N_ERRORS * gap.std(ddof=1) / np.sqrt(len(gap))
    rows, names = linear_sum_assignment(
        -beyond_chance(best[alike >= min(SAME, alike.max())].mean(axis=0))
    )
    return names[np.argsort(rows)], float(lower), float(alike.mean())


def rate_of_names(labels, names, classes):
    """How often rows of one name are of one class, and how often any two are."""
    renamed = np.argsort(names)[labels[1]]
    n_clusters, n_classes = len(names), max(map(np.max, classes)) + 1
    shares = np.zeros((2, n_clusters, n_classes))
    for side, (own, of) in enumerate(zip((labels[0], renamed), classes, strict=True)):
        np.add.at(shares[side], (own, of), 1 / len(own))
    one_name = shares[0].sum(axis=1) @ shares[1].sum(axis=1)
    one_class = shares[0].sum(axis=0) @ shares[1].sum(axis=0)
    return float(np.vdot(*shares) / one_name), float(one_class)


def run(case):
    """Name the clusters of one pair of views."""
    kind, _, _, _, seed = case
    X, Y, a, b, y = make(case)
    rng = np.random.RandomState(seed)
    start = time.process_time()
    n_classes = 0 if y is None else len(np.unique(y[a]))
    related = n_classes > 1 and kind != "columns"
    k = n_classes if n_classes > 1 else N_CLUSTERS[seed % 3]
    labels = [cluster_view(view, k, rng)[0] for view in (X, Y)]
    points = [read_geometry(view, SETTINGS.n_directions, rng).points for view in (X, Y)]
    found = [
        couple(*map(partial(centres_of, n_clusters=k, rng=rng), points, labels), rng)
        for _ in range(N_HALVES)
    ]
    names, gap, agreement = name_clusters(found)
    record = {"gap": gap, "agreement": agreement}
    if related:
        _, codes = np.unique(np.concatenate([y[a], y[b]]), return_inverse=True)
        classes = codes[: len(a)], codes[len(a) :]
        record["rate"], record["chance"] = rate_of_names(labels, names, classes)
    return record | {"seconds": round(time.process_time() - start, 2)}


def is_right(record):
    """Whether rows of one name are of one class more often than by chance."""
    return "rate" in record and record["rate"] >= RIGHT * record["chance"]


def table(records):
    """Tell how well the candidates separate right names from wrong ones.

    Views of the same dataset without classes are left out: nobody knows the names.
    """
    unknown = ("true", "disjoint")
    records = [r for r in records if "rate" in r or r["case"][0] not in unknown]
    right = np.array([is_right(record) for record in records])
    lines = head(
        "gate", "AUROC", "right names above all wrong ones", "wrong names on top"
    )
    for gate in ("gap", "agreement"):
        values = np.array([record[gate] for record in records])
        first = np.argsort(-np.where(right, -np.inf, values))[:3]
        named = "; ".join(describe(records[at]) for at in first)
        above = int(np.sum(values[right] > values[~right].max()))
        auroc = roc_auc_score(right, values)
        lines.append(row(gate, f"{auroc:.2f}", f"{above} of {right.sum()}", named))
    n_real = sum("rate" in record for record in records)
    lines += [
        "",
        f"{len(records)} pairs of views, {n_real} of them related: names are right on "
        f"{right.sum()}, wrong on {n_real - right.sum()}.",
    ]
    return lines


def describe(record):
    """Name a pair of views."""
    kind, _, what, rows, _ = record["case"]
    return f"{kind}: {', '.join(map(str, what))}, {rows} rows"


def wanted(case):
    """Whether a case of the study of trust is taken: small ones of every kind."""
    kind, _, _, n_rows, seed = case
    kinds = ("true", "columns", "disjoint", "cross", "generated")
    few = kind != "generated" or seed < N_GENERATED
    return kind in kinds and n_rows <= MOST_ROWS and few


def main():
    """Name the clusters of the pairs that were not run yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    run_missing(arguments.results, [*filter(wanted, cases())], run, arguments.jobs)


if __name__ == "__main__":
    main()
