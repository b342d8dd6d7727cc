"""Pieces of an iteration, against a general solver and what was known beforehand."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from small_problems import N, best_row, made_problem, made_state

from unaligned import PAVuC
from unaligned.pavuc import iteration

# Rows 3, 7 and 0 of the three views are one object.
PAIRS = {(0, 1): [(3, 7), (8, 1)], (2, 1): [(0, 7)]}


def test_known_partners_start_from_the_same_row():
    problem = made_problem(PAIRS)
    state, graph = made_state(problem)
    t = state.template
    assert_array_equal(state.permutations[t], np.arange(N))
    assert_array_equal(state.graphs[0], graph)
    for i, rows in enumerate(state.permutations):
        assert_array_equal(np.sort(rows), np.arange(N))
        assert_array_equal(state.graphs[i][rows], state.graphs[t])
        known_i, known_t = problem.pairs.between(i, t)
        assert_array_equal(rows[known_t], known_i)
    for (i, j), pairs in PAIRS.items():
        for row_i, row_j in pairs:
            assert_array_equal(state.graphs[i][row_i], state.graphs[j][row_j])


def test_known_partners_pull_each_other_beside_a_new_template():
    problem = made_problem(PAIRS)
    state, _ = made_state(problem)
    weights = np.array([0.2, 0.5, 0.3])
    after = iteration.one_iteration(problem, state._replace(weights=weights))
    assert after.template == 1

    def expected(i, row, partners):
        latent = problem.views[i][row] @ after.projections[i]
        force = weights[i] ** 1.5  # the start weighs all rows alike: Λ = I
        found = [state.graphs[j][partner] for j, partner in partners]
        return best_row(
            latent, after.anchors, force, found, problem.mu, state.graphs[i][row]
        )

    known = [(0, 3, [(1, 7)]), (0, 8, [(1, 1)]), (2, 0, [(1, 7)])]
    known.append((1, 7, [(0, 3), (2, 0)]))  # the template has a partner in each view
    for i, row, partners in known:
        assert_allclose(after.graphs[i][row], expected(i, row, partners), atol=1e-6)


def test_without_pull_nobody_asks_for_partners(monkeypatch):
    # They would be as large as a graph, for nothing.
    monkeypatch.delattr(iteration, "partner_rows")
    problem = made_problem(mu=0)
    state, _ = made_state(problem)
    assert np.isfinite(iteration.one_iteration(problem, state).objective)


def test_without_the_alignment_term_there_is_no_pull(blobs):
    options = {"n_clusters": 3, "n_init": 1, "max_iter": 4, "tol": 1e9}
    fits = [
        PAVuC(**options, **choice, random_state=0).fit(blobs[0])
        for choice in ({"align": False}, {"mu": 0})
    ]
    # Without pull the objective does not depend on who is whose partner.
    assert_array_equal(fits[0].objective_, fits[1].objective_)
