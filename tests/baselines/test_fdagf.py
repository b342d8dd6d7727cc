"""FDAGF's updates against general solvers, its options and its limits."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from tests.conftest import make_blobs
from tests.simplex_solver import over_simplex
from unaligned.baselines import FDAGF
from unaligned.baselines.fdagf import (
    fuse_graphs,
    misfit,
    objective,
    update_anchors,
    update_graph,
    update_weights,
)
from unaligned.metrics import clustering_scores

ALPHA = 0.6


@pytest.fixture
def view():
    """Rows, orthonormal anchors, and a graph."""
    rng = np.random.RandomState(0)
    anchors = ortho_group.rvs(6, random_state=0)[:4]
    return rng.normal(size=(12, 6)), anchors, rng.dirichlet(np.ones(4), size=12)


def test_graph_rows_minimise_their_objective(view):
    X, anchors, _ = view
    for x, z in zip(X, update_graph(X, anchors, ALPHA), strict=True):
        best = over_simplex(
            lambda z, x=x: np.sum((x - z @ anchors) ** 2) + ALPHA * np.sum(z**2), 4
        )
        np.testing.assert_allclose(z, best, atol=1e-6)


def test_no_orthonormal_anchors_fit_better(view):
    X, _, graph = view
    anchors = update_anchors(X, graph)
    np.testing.assert_allclose(anchors @ anchors.T, np.eye(4), atol=1e-12)
    best = misfit(X, anchors, graph, ALPHA)
    # The bound of von Neumann: no orthonormal A makes ⟨A, ZᵀX⟩ larger than this.
    bound = np.linalg.norm(graph.T @ X, "nuc")
    squares = np.sum(X**2) + (1 + ALPHA) * np.sum(graph**2)
    np.testing.assert_allclose(best, squares - 2 * bound)
    for seed in range(50):
        other = ortho_group.rvs(6, random_state=seed)[:4]
        assert misfit(X, other, graph, ALPHA) >= best


def test_misfit_and_objective_are_the_sums_they_stand_for(view):
    X, anchors, graph = view
    expected = sum(
        np.sum((x - z @ anchors) ** 2) + ALPHA * np.sum(z**2)
        for x, z in zip(X, graph, strict=True)
    )
    np.testing.assert_allclose(misfit(X, anchors, graph, ALPHA), expected)
    errors, weights = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.5, 0.5], [1, 0]])
    assert objective(errors, weights, 10) == 0.5 + 1 + 3 + 10 * (0.25 + 0.25 + 1)


def test_weights_of_every_view_minimise_the_objective():
    errors = np.random.RandomState(0).uniform(1, 9, size=(5, 4))
    for e, beta in zip(errors, update_weights(errors, 3.0), strict=True):
        best = over_simplex(lambda b, e=e: b @ e + 3 * np.sum(b**2), 4)
        np.testing.assert_allclose(beta, best, atol=1e-6)


def test_lam_goes_from_the_best_scale_to_all_alike():
    errors = np.array([[5.0, 4.0, 6.0], [1.0, 2.0, 3.0]])
    np.testing.assert_allclose(update_weights(errors, 0.1), [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(update_weights(errors, 1e9), 1 / 3, atol=1e-6)


def test_fused_graphs_give_the_weighted_sum_of_similarities():
    rng = np.random.RandomState(0)
    graphs = [[rng.dirichlet(np.ones(m), size=9) for m in (2, 4)] for _ in range(2)]
    graphs[0][1][:, 3] = 0  # an anchor that nobody uses
    weights = np.array([[0.3, 0.7], [1.0, 0.0]])
    fused = fuse_graphs(graphs, weights)
    expected = np.zeros((9, 9))
    for i, r in [(0, 0), (0, 1), (1, 0)]:
        Z = graphs[i][r]
        expected += weights[i, r] * Z @ np.linalg.pinv(np.diag(Z.sum(axis=0))) @ Z.T
    np.testing.assert_allclose(fused @ fused.T, expected)
    assert fused.shape == (9, 2 + 4 + 2)


@pytest.mark.parametrize("lam", [1.0, 1e4])
def test_the_objective_falls(lam):
    # Three scales of at most 6 anchors in views of 8 features and more: A Aᵀ = I. The
    # first iterate still owes its graphs to centres that are not orthonormal.
    Xs, _ = make_blobs(n=80, k=2, widths=(8, 10), spread=2.0)
    model = FDAGF(2, n_scales=3, alpha=0.5, lam=lam, tol=0, max_iter=30, random_state=0)
    values = model.fit(Xs).objective_
    assert (np.diff(values[1:]) <= 1e-9 * values[0]).all()
    assert values[-1] < values[1]


def test_scales_are_multiples_of_the_number_of_clusters(blobs):
    model = FDAGF(3, n_scales=3, lam=1e6, random_state=0).fit(blobs[0])
    assert [[len(A) for A in view] for view in model.anchors_] == [[3, 6, 9]] * 3
    assert [[Z.shape for Z in view] for view in model.anchor_graphs_] == [
        [(60, 3), (60, 6), (60, 9)]
    ] * 3
    np.testing.assert_allclose(model.scale_weights_.sum(axis=1), 1)
    for view in model.anchor_graphs_:
        for graph in view:
            np.testing.assert_allclose(graph.sum(axis=1), 1)


def test_scale_and_origin_of_a_column_do_not_matter(blobs):
    moved = [X * np.arange(1, X.shape[1] + 1) + 7 for X in blobs[0]]
    one, other = (FDAGF(3, random_state=0).fit(Xs) for Xs in (blobs[0], moved))
    np.testing.assert_allclose(one.objective_, other.objective_)


def test_the_change_is_looked_at_from_the_tenth_iteration_on(blobs):
    model = FDAGF(3, n_init=1, tol=1e9, random_state=0).fit(blobs[0])
    assert model.n_iter_ == 10
    assert model.converged_


def test_single_precision_finds_the_same_clusters():
    # With the default α rows of a graph differ by thousandths; float32 must not lose
    # them on the way to the embedding.
    Xs, y = make_blobs(n=90)
    model = FDAGF(3, random_state=0).fit([X.astype(np.float32) for X in Xs])
    assert all(Z.dtype == np.float32 for view in model.anchor_graphs_ for Z in view)
    assert clustering_scores(y, model.labels_)["acc"] == 1


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_any_number_of_clusters_works(k):
    Xs, _ = make_blobs(n=12, k=3, widths=(2, 20), spread=1.0)
    Xs[0][:, 0] = 5  # a constant column, and more anchors than features
    model = FDAGF(k, n_scales=2, n_init=1, random_state=0).fit(Xs)
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(k))
    assert model.anchors_[0][-1].shape == (min(2 * k, 12), 2)


def test_one_view_is_enough(blobs):
    model = FDAGF(3, random_state=0).fit(blobs[0][:1])
    assert clustering_scores(blobs[1], model.labels_)["acc"] == 1
