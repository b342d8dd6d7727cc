"""How far a rotation can go in disjoint halves: ``python -m benchmarks.rotations``.

A rotation of one view onto the other is learned from true pairs, which no method has,
and scored on unseen ones, beside what Rosetta found without pairs (the records of
``unaligned bench halves``). It tells a rotation that is not there from one that was not
found.
"""

import numpy as np

from benchmarks.pages.rivals import RESULTS
from unaligned.benchmark.cells import Results
from unaligned.benchmark.places import LEARNED, scores_of_places
from unaligned.benchmark.protocol import load_views
from unaligned.benchmark.rivals import found
from unaligned.benchmark.summary import cases_of
from unaligned.kernels.procrustes import polar_factor
from unaligned.kernels.scaling import unit_rows

N_DIRECTIONS = 300  # of views with more columns, for speed


def ceiling(Xs):
    """Scores of unseen pairs under the rotation that true pairs give."""
    rows = np.random.RandomState(0).permutation(len(Xs[0]))
    size = int(LEARNED * len(rows))
    learned, unseen = rows[:size], rows[2 * size :]
    views = []
    for X in Xs:
        points = unit_rows(X - X[learned].mean(axis=0))
        if points.shape[1] > 2 * N_DIRECTIONS:
            right = np.linalg.svd(points[learned], full_matrices=False)[2]
            points = points @ right[:N_DIRECTIONS].T
        views.append(points)
    one, other = views
    Q = polar_factor(one[learned].T @ other[learned])
    return scores_of_places(one[unseen] @ Q, other[unseen])


def main():
    """Print a line for every two views."""
    results = Results(RESULTS)
    print("| data | top-1, Rosetta | top-1, true rotation | FOSCTTM, R. | true |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for case in cases_of(results, ("halves",)):
        rosetta = found(results, case, "Rosetta", "halves")
        if rosetta is None or not rosetta.done:
            continue
        data = load_views(case.entry, case.rows, case.views)
        best = ceiling([np.asarray(X, dtype=np.float64) for X in data.Xs])
        print(
            f"| {case} | {rosetta.mean('top1'):.1f} | {best['top1']:.1f} | "
            f"{rosetta.mean('foscttm'):.4f} | {best['foscttm']:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
