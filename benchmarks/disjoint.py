"""Can a map be tested without partners? ``python -m benchmarks.disjoint``.

Where two views have no object in common, no row has a partner, and the test of
`savuc.trust`, which asks held-out partners, can find nothing. This tries statistics
that need none:

- ``transfer``: the map is learned again from half of the rows of each view. Along one
  half of its directions a held-out row finds the five nearest held-out rows of the
  other view; in the other half of the directions it is compared with their mean, and
  with the mean of all rows. A positive difference says that what goes together in one
  view goes together in the other.
- ``slope``: among the thirty nearest rows, the correlation of closeness along the first
  half with likeness along the second: the same, within neighbourhoods.

``excess`` is the transfer beyond two standard errors, and beyond that of other maps
that the search found or random starts lead to (agreement below one half), as
`savuc.trust.excess_over` has it.

Every case adds a JSON line to ``benchmarks/results/disjoint.jsonl``, unless it is
there: disjoint halves of datasets, scored on unseen pairs, with the map that the search
found, and with one that true pairs lead to (``oracle``); two draws of one kind of data,
whose rows have nothing to do with each other (`benchmarks.data.unrelated`); and views
of CCV. ``--summary`` prints what was found. ``$UNALIGNED_DATA`` names the folder of
files.
"""

import argparse
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.data.split import side_of
from benchmarks.data.unrelated import KINDS, unrelated_views
from benchmarks.records import FOLDER, run_missing
from unaligned.benchmark.places import scores_of_places, split_halves
from unaligned.datasets import load
from unaligned.json_lines import read_records
from unaligned.kernels.devices import Cores
from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.config import NORMAL
from unaligned.savuc.geometry import read_geometry, spread_of
from unaligned.savuc.refine import cycle, directions_of, join_rows
from unaligned.savuc.search import PairSearch
from unaligned.savuc.starts import prepare_view
from unaligned.savuc.trust import (
    N_FORGETTING,
    SAME,
    Evidence,
    agreement,
    excess_over,
)

RESULTS = FOLDER / "disjoint.jsonl"
MOST_ROWS = 2500  # of a dataset, of which two fifths go to each view
N_RIVALS = 3
N_RANDOM = 10  # random starts at most, where the search found too few rivals
N_SPLITS = 4  # of the directions, each used both ways
RIGHT = 0.02  # FOSCTTM of unseen pairs up to which a map is right
HALVES = {
    "digits": list(combinations(range(4), 2)),
    "CIFAR10-10k-recon": list(combinations(range(3), 2)),
    "Caltech101-20-recon": [(2, 3), (3, 4), (3, 5), (4, 5)],
    "BBCSport": [(0, 1)],
    "NGs": [(0, 1), (1, 2)],
    "CCV": list(combinations(range(3), 2)),
    "Reuters-1200": list(combinations(range(5), 2)),
    "Handwritten": list(combinations((0, 2, 4), 2)),
    "PBMC-2407": [(0, 1)],
}


def cases():
    """List cases as (kind, what, rows, seed), the same ones every time."""
    rng = np.random.RandomState(0)
    found = [
        (kind, [name, i, j], MOST_ROWS, seed)
        for name, pairs in HALVES.items()
        for i, j in pairs
        for kind in ("halves", "oracle")[: 1 if name == "CCV" else 2]
        for seed in range(5 if name == "CCV" else 1)
    ]
    for seed in range(12):
        for kind in KINDS:
            if kind == "categories":  # younger than the results
                continue
            n = int(rng.choice([300, 500, 800]))
            columns = rng.choice([5, 9, 20], size=2).tolist()
            found.append(("generated", [kind, *columns], n, seed))
    return found


def views_of(case):
    """Two views to learn from, and unseen pairs of them where there are any."""
    kind, what, n, seed = case
    if kind == "generated":
        name, d, e = what
        return list(unrelated_views(name, ((n, d), (n, e)), seed)), None
    name, i, j = what
    data = load(name)
    rows = np.random.RandomState(seed).permutation(data.Xs[i].shape[0])[:n]
    halves, unseen = split_halves([data.Xs[v][rows] for v in (i, j)], seed)
    return halves.Xs, unseen


def run(case):
    """Search a map, and test it without partners."""
    kind, *_, seed = case
    Xs, unseen = views_of(case)
    rng, cores = np.random.RandomState(seed), Cores(1)
    begun = time.process_time()
    with cores.busy():
        geometries = [read_geometry(X, NORMAL.n_directions, rng) for X in Xs]
        views = [prepare_view(geometry, NORMAL, rng) for geometry in geometries]
        search = PairSearch(*views, NORMAL, cores)
        ((cross, _), *refined), others = search.matchings(rng)
        new = unseen and [
            geometry.read(X) / spread_of(geometry.points, NORMAL.ridge)
            for geometry, X in zip(geometries, unseen, strict=True)
        ]
        if kind == "oracle":
            cross, _ = search.refine(new[0].T @ new[1] / len(new[0]), rng)
            for _ in range(N_FORGETTING):
                cross = cycle(cross, rows_of(search, rng), NORMAL)
        transfer, slope = tested(cross, search.whitened, rng)
        rivals = []
        random = [random_start(rows_of(search, rng), rng) for _ in range(N_RANDOM)]
        for start in [*(other for other, _ in [*refined, *others]), *random]:
            rival, _ = search.refine(start, rng)
            if agreement(rival, cross) <= SAME:
                rivals.append(tested(rival, search.whitened, rng)[0])
            if len(rivals) == N_RIVALS:
                break
    record = {
        "transfer": list(transfer),
        "slope": list(slope),
        "excess": excess_over(transfer, rivals),
        "rivals": [list(rival) for rival in rivals],
        "seconds": round(time.process_time() - begun, 2),
    }
    if new:
        to_one, to_other, s = directions_of(cross, NORMAL.schedule[-1][0])
        record |= scores_of_places(new[0] @ (to_one * s), new[1] @ (to_other * s))
    return record


def rows_of(search, rng):
    """Rows of both views for a refinement."""
    one, other = (
        side[rng.permutation(len(side))[: NORMAL.n_refined]] for side in search.whitened
    )
    return join_rows(one, other)


def random_start(rows, rng):
    """Cross-correlation of rows that stand side by side by chance."""
    n = min(len(rows.one), len(rows.other))
    one, other = (side[rng.permutation(len(side))[:n]] for side in rows[:2])
    return cycle(one.T @ other / n, rows, NORMAL)


def tested(cross, whitened, rng):
    """Transfer and slope on held-out rows, either half of the rows in turn."""
    orders = [rng.permutation(len(side))[: NORMAL.n_refined] for side in whitened]
    gains, slopes = [], []
    for fold in (0, 1):
        learn, held_out = (
            [
                side[order[(fold + shift) % 2 :: 2]]
                for side, order in zip(whitened, orders, strict=True)
            ]
            for shift in (0, 1)
        )
        learned = join_rows(*learn)
        forgetting = NORMAL.schedule[:1] * N_FORGETTING
        found = cross
        for schedule in (forgetting, NORMAL.schedule, NORMAL.schedule):
            found = cycle(found, learned, NORMAL, schedule)
        gain, slope = statistics(found, *held_out, rng)
        gains.append(gain)
        slopes.append(slope)
    return evidence_of(gains), evidence_of(slopes)


def evidence_of(values):
    """Mean over all rows, and its error."""
    values = np.concatenate(values)
    return Evidence(float(values.mean()), float(values.std() / np.sqrt(len(values))))


def statistics(cross, one, other, rng):
    """Transfer and slope of every held-out row of the first view."""
    to_one, to_other, s = directions_of(cross, NORMAL.schedule[-1][0])
    A, B, r = one @ (to_one * s), other @ (to_other * s), len(s)
    gains, slopes = [], []
    for _ in range(N_SPLITS):
        first = rng.randint(2, size=(r + 1) // 2)
        half = np.column_stack([first, 1 - first]).ravel()[:r].astype(bool)
        for finding in (half, ~half):
            if not 0 < finding.sum() < r:
                continue
            ranked, near = top_products(
                unit_rows(A[:, finding]), unit_rows(B[:, finding]), min(30, len(B))
            )
            judged, judges = unit_rows(A[:, ~finding]), unit_rows(B[:, ~finding])
            alike = np.einsum("id,ikd->ik", judged, judges[ranked])
            gains.append(alike[:, :5].mean(axis=1) - judged @ judges.mean(axis=0))
            near, alike = (
                table - table.mean(axis=1, keepdims=True) for table in (near, alike)
            )
            scale = np.sqrt(np.vdot(near, near) * np.vdot(alike, alike)) / len(A)
            slopes.append((near * alike).sum(axis=1) / max(scale, 1e-12))
    return np.mean(gains, axis=0), np.mean(slopes, axis=0)


def summary(records):
    """Lines that say how far every statistic tells right maps from wrong ones."""

    def is_right(record):
        return record.get("foscttm", 1.0) <= RIGHT

    def side(record):
        kind, what, *_ = record["case"]
        return kind if kind == "generated" else side_of(what[0])

    right = [record for record in records if is_right(record)]
    wrong = [record for record in records if not is_right(record)]
    found = [record for record in records if record["case"][0] == "halves"]
    yield (
        f"{len(records)} maps; the search found {sum(map(is_right, found))} right ones "
        f"in {len(found)} disjoint halves; {len(right)} right with those from true "
        f"pairs, {len(wrong)} wrong, {sum(side(r) == 'generated' for r in wrong)} of "
        "them between generated views."
    )
    yield "| statistic | AUROC | right beyond the largest wrong | largest wrong |"
    yield "| --- | ---: | ---: | --- |"
    values = {
        "transfer": lambda record: record["transfer"][0],
        "slope": lambda record: record["slope"][0],
        "excess": lambda record: record["excess"],
    }
    truth = [*[1] * len(right), *[0] * len(wrong)]
    for name, value in values.items():
        scores = [value(record) for record in (*right, *wrong)]
        worst = max(wrong, key=value)
        beyond = sum(value(record) > value(worst) for record in right)
        yield (
            f"| {name} | {roc_auc_score(truth, scores):.2f} | {beyond} of {len(right)} "
            f"| {value(worst):.2f}, {worst['case'][1][0]} ({side(worst)}) |"
        )


def main():
    """Run the cases that were not run yet, or tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if arguments.summary:
        print(*summary([*read_records(arguments.results)]), sep="\n")
        return
    run_missing(arguments.results, cases(), run)


if __name__ == "__main__":
    main()
