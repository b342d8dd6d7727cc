"""LMVSC's formulas against general computations."""

import numpy as np
import pytest
from scipy import sparse

from tests.simplex_solver import over_simplex
from unaligned.baselines import LMVSC
from unaligned.baselines.lmvsc import anchor_graph, misfit, stack_graphs


@pytest.fixture
def view():
    rng = np.random.RandomState(0)
    return rng.normal(size=(12, 5)), rng.normal(size=(4, 5))


def row_cost(x, z, anchors, alpha):
    return np.sum((x - z @ anchors) ** 2) + alpha * np.sum(z**2)


def test_graph_rows_minimise_their_objective(view):
    X, anchors = view
    for x, z in zip(X, anchor_graph(X, anchors, 0.7), strict=True):
        best = over_simplex(lambda z, x=x: row_cost(x, z, anchors, 0.7), 4)
        np.testing.assert_allclose(z, best, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_misfit_is_the_sum_of_the_row_costs(view, kind):
    X, anchors = view
    graph = np.random.RandomState(1).dirichlet(np.ones(4), size=12)
    expected = sum(row_cost(x, z, anchors, 0.3) for x, z in zip(X, graph, strict=True))
    np.testing.assert_allclose(misfit(kind(X), anchors, graph, 0.3), expected)


def test_degree_normalised_graphs_give_a_doubly_stochastic_similarity():
    # The paper: S_i = Z diag(Zᵀ1)⁻¹ Zᵀ has rows that sum to one.
    graph = np.random.RandomState(1).dirichlet(np.ones(4), size=12)
    stacked = stack_graphs([graph, graph], degree_normalise=True)
    np.testing.assert_allclose((stacked @ stacked.T).sum(axis=1), 1)


def test_an_anchor_that_nobody_uses_does_no_harm():
    graph = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert np.isfinite(stack_graphs([graph], degree_normalise=True)).all()


def test_sparse_views_give_the_same_graphs(blobs):
    Xs = [np.where(np.abs(X) > 1, X, 0) for X in blobs[0]]
    dense = LMVSC(3, random_state=0).fit(Xs)
    thin = LMVSC(3, random_state=0).fit([sparse.csr_array(X) for X in Xs])
    np.testing.assert_allclose(dense.objective_, thin.objective_)
