"""The matching alone: against the literal loop, and against optimal ones.

``python -m benchmarks.matching --problems 10000`` compares the answer with the literal
one on so many generated problems, and prints a JSON line.
"""

import argparse
import json
import time
from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.data.problems import fused_scores, literal, literal_loop, problem
from benchmarks.data.sizes import growing, make_views
from benchmarks.pavuc import fit_quietly
from unaligned import PAVuC
from unaligned.kernels import matching, matching_blocks, matching_tree
from unaligned.kernels.matching import match_greedy


@cache
def graphs_of_a_fit(n):
    """Two anchor graphs (m = 10) after five iterations, in float64."""
    model = PAVuC(10, max_iter=5, tol=0, n_init=1, random_state=0)
    graphs = fit_quietly(model, make_views(growing(n))).anchor_graphs_
    others = [i for i in range(len(graphs)) if i != model.template_]
    return [graphs[i].astype(np.float64) for i in (others[0], model.template_)]


def greedy(n):
    """Match graphs of a fit, m = 10, rows as they come: ours, and the literal loop."""
    rows, columns = graphs_of_a_fit(n)
    order = np.arange(n)
    literal_loop(rows[:50], columns[:50], order[:50])  # compile first
    return (
        lambda: match_greedy(rows, columns),
        lambda: literal_loop(rows, columns, order),
        lambda found, expected: int(np.count_nonzero(found != expected)),
    )


def optimal(n):
    """Ways to match n rows, by name, and the total score of a matching."""
    import ot

    rows, columns = (graph[:n] for graph in graphs_of_a_fit(10_000))
    ways = {
        "greedy": lambda: match_greedy(rows, columns),
        "scipy": lambda: linear_sum_assignment(rows @ columns.T, maximize=True)[1],
        "pot": lambda: ot.emd([], [], -(rows @ columns.T)),
    }
    return ways, lambda chosen: np.sum(rows * columns[chosen])


def searches(rows, columns, order):
    """Answers of the tree, of blocks with the scan behind them, and of the scan."""
    for patience in (np.inf, 0.05, None):
        taken = np.zeros(len(columns), dtype=np.bool_)
        column_of_row = np.full(len(rows), -1)
        data, answer, rest = (rows, columns), (taken, column_of_row), order
        if patience is not None:
            near = matching_tree.arrange(columns)
            n = matching_tree.match_by_tree(*data, rest, near, patience, *answer)
            rest = rest[n:]
        if patience != np.inf:
            rest = rest[matching_blocks.match_by_blocks(*data, rest, *answer) :]
        matching_tree.match_by_scan(*data, rest, *answer)
        yield column_of_row
    yield match_greedy(rows, columns, order)


def count_differences(n_problems, seed=0):
    """Problems, rows and rows that differ from the literal answer in any search."""
    rng = np.random.default_rng(seed)
    matching.FEWEST_ROWS_FOR_TREE = 30
    n_rows = n_different = 0
    for _ in range(n_problems):
        rows, columns, order = problem(rng, largest=100)
        rows, columns = rows.astype(np.float64), columns.astype(np.float64)
        expected = literal(fused_scores(rows, columns), order)
        for found in searches(rows, columns, order):
            n_different += int(np.count_nonzero(found != expected))
            n_rows += len(rows)
    return {"problems": n_problems, "rows": n_rows, "different": n_different}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000)
    start = time.perf_counter()
    counted = count_differences(parser.parse_args().problems)
    print(json.dumps(counted | {"seconds": round(time.perf_counter() - start, 1)}))
