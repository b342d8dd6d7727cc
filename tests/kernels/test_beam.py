from itertools import product

import numpy as np
import pytest

from unaligned.kernels.beam import extend_assignments

MOST = np.float32(3.0)


def problem(seed, n_partial=6, n_assigned=3, m=8):
    rng = np.random.RandomState(seed)
    assigned = np.array([rng.permutation(m)[:n_assigned] for _ in range(n_partial)])
    costs = np.sort(rng.uniform(size=n_partial)).astype(np.float32)
    tables = (
        rng.uniform(size=m),
        rng.normal(size=n_assigned),
        rng.normal(size=(m, m)),
    )
    return assigned, costs, *(table.astype(np.float32) for table in tables)


def all_extensions(assigned, costs, first_costs, wanted, products):
    """Cost of every extension, by the docstring."""
    found = {}
    for b, j in product(range(len(assigned)), range(len(first_costs))):
        if j in assigned[b]:
            continue
        cost = costs[b] + first_costs[j]
        for k, partner in enumerate(assigned[b]):
            cost += min((wanted[k] - products[partner, j]) ** 2, MOST)
        found[(*assigned[b].tolist(), j)] = float(cost)
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("width", [1, 4, 17, 1000])
def test_the_cheapest_extensions_are_kept_in_order(seed, width):
    given = problem(seed)
    every = all_extensions(*given)
    extended, costs = extend_assignments(*given, MOST, width)
    expected = sorted(every.values())[:width]
    np.testing.assert_allclose(costs, expected, rtol=1e-5)
    for row, cost in zip(extended.tolist(), costs, strict=True):
        assert every[tuple(row)] == pytest.approx(float(cost), rel=1e-5)
    assert len({*map(tuple, extended.tolist())}) == len(extended)


def test_the_first_row_is_assigned_by_its_own_cost():
    empty = np.empty((1, 0), dtype=np.intp)
    first_costs = np.array([3, 1, 2], dtype=np.float32)
    nothing = np.empty(0, dtype=np.float32)
    products = np.zeros((3, 3), dtype=np.float32)
    start = np.zeros(1, dtype=np.float32)
    found, costs = extend_assignments(
        empty, start, first_costs, nothing, products, MOST, 2
    )
    np.testing.assert_array_equal(found, [[1], [2]])
    np.testing.assert_array_equal(costs, [1, 2])
