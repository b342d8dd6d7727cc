"""FMVACC's formulas against general computations."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from tests.simplex_solver import over_simplex
from unaligned.baselines import FMVACC
from unaligned.baselines.fmvacc import (
    fuse_graphs,
    misfit,
    update_anchors,
    update_graph,
)
from unaligned.datasets import unalign
from unaligned.kernels.anchor_graphs import match_anchors
from unaligned.kernels.simplex import project_simplex


@pytest.fixture
def view():
    rng = np.random.RandomState(0)
    return rng.normal(size=(15, 6)), rng.dirichlet(np.ones(4), size=15)


def test_no_orthonormal_anchors_fit_better(view):
    X, graph = view
    anchors = update_anchors(X, graph)
    np.testing.assert_allclose(anchors @ anchors.T, np.eye(4), atol=1e-12)
    best = misfit(X, anchors, graph, 0.0)
    for other in ortho_group.rvs(6, size=500, random_state=1):
        assert best <= misfit(X, other[:4], graph, 0.0) + 1e-12
    # Nor do small steps away from them, along the orthogonal group.
    for other in ortho_group.rvs(6, size=50, random_state=2):
        turn = np.eye(6) + 1e-4 * (other - other.T)
        near = np.linalg.qr((anchors @ turn).T)[0].T
        near *= np.sign(np.sum(near * anchors, axis=1))[:, None]
        assert best <= misfit(X, near, graph, 0.0) + 1e-12


def test_more_anchors_than_features_are_least_squares(view):
    X, graph = view[0][:, :3], view[1]
    expected = np.linalg.lstsq(graph, X, rcond=None)[0]
    np.testing.assert_allclose(update_anchors(X, graph), expected, atol=1e-9)


def test_an_anchor_that_nobody_uses_does_no_harm(view):
    X, graph = view[0][:, :3], view[1].copy()
    graph[:, 0] = 0
    assert np.isfinite(update_anchors(X, graph)).all()


def test_graph_rows_minimise_their_objective(view):
    X, graph = view
    anchors = update_anchors(X, graph)
    for x, z in zip(X, update_graph(X, anchors, 0.7), strict=True):
        best = over_simplex(
            lambda z, x=x: np.sum((x - z @ anchors) ** 2) + 0.7 * np.sum(z**2), 4
        )
        np.testing.assert_allclose(z, best, atol=1e-5)


def test_misfit_is_the_sum_of_its_entries(view):
    X, graph = view
    anchors = np.random.RandomState(3).normal(size=(4, 6))
    expected = sum(
        (X[j, h] - sum(graph[j, a] * anchors[a, h] for a in range(4))) ** 2
        for j, h in np.ndindex(X.shape)
    ) + 0.3 * sum(z**2 for z in graph.ravel())
    np.testing.assert_allclose(misfit(X, anchors, graph, 0.3), expected)


@pytest.mark.parametrize("beta", [0.0, 0.01, 1.0, 100.0])
def test_the_objective_falls(beta):
    Xs = [
        np.random.RandomState(i).normal(size=(80, d)) ** 3 for i, d in [(0, 7), (1, 9)]
    ]
    model = FMVACC(3, beta=beta, tol=0, max_iter=25, random_state=0).fit(Xs)
    falls = np.diff(model.objective_)
    assert len(falls) >= 10
    assert falls[0] < 0
    assert (falls <= 1e-12 * model.objective_[0]).all()


@pytest.mark.parametrize("how", ["argmax", "greedy", "optimal"])
@pytest.mark.parametrize("lam", [0.0, 1.0, 1e4])
def test_renamed_anchors_are_found_again(lam, how):
    rng = np.random.RandomState(4)
    graph = rng.dirichlet([0.1, 0.2, 0.3, 0.4, 0.5], size=200)
    order = rng.permutation(5)
    matched = match_anchors(graph, graph[:, order], lam, how)
    np.testing.assert_array_equal(matched, order)


def test_without_the_affinity_the_order_of_samples_does_not_matter():
    rng = np.random.RandomState(5)
    graph, other = rng.dirichlet(np.full(5, 0.3), size=(2, 100))
    shuffled = other[rng.permutation(100)]
    for lam, same in ((0.0, True), (1e4, False)):
        one = match_anchors(graph, other, lam, "optimal")
        two = match_anchors(graph, shuffled, lam, "optimal")
        assert np.array_equal(one, two) == same


def test_the_mean_graph_is_that_of_the_paper():
    rng = np.random.RandomState(6)
    graphs = list(rng.dirichlet(np.ones(4), size=(3, 10)))
    matchings = [np.arange(4), np.array([2, 2, 0, 1]), np.array([3, 0, 1, 2])]
    expected = 0
    for graph, matched in zip(graphs, matchings, strict=True):
        T = np.zeros((4, 4))  # rows: anchors of the reference
        for anchor, partner in enumerate(matched):
            T[partner, anchor] = 1
        expected = expected + T @ graph.T / 3
    fused = fuse_graphs(graphs, matchings)
    np.testing.assert_allclose(fused, expected.T)
    np.testing.assert_allclose(fused.sum(axis=1), 1)


def test_options_matter(blobs):
    Xs = unalign(blobs[0], random_state=0).Xs
    shared = FMVACC(3, n_anchors=4, lam=0, random_state=0).fit(Xs)
    single = FMVACC(3, n_anchors=4, lam=0, matching="greedy", random_state=0).fit(Xs)
    assert any(len(set(matched)) < 4 for matched in shared.anchor_matchings_)
    for matched in single.anchor_matchings_:
        np.testing.assert_array_equal(np.sort(matched), range(4))
    turned = FMVACC(3, reference_view=2, random_state=0).fit(Xs)
    np.testing.assert_array_equal(turned.anchor_matchings_[2], range(3))


def test_centres_are_raw_and_all_else_is_among_z_scores(blobs):
    X, y = blobs[0][0] / 5 + 2, blobs[1]
    centres = np.array([X[y == c].mean(axis=0) for c in range(3)])
    scores = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    anchors = update_anchors(scores, project_simplex(scores @ centres.T))
    expected = project_simplex(scores @ anchors.T / 2)
    model = FMVACC(3, max_iter=1, random_state=0).fit([X])
    (found,) = model.anchor_graphs_  # the anchors have a direction that is arbitrary
    leading = found[:3].argmax(axis=0), expected[:3].argmax(axis=0)
    np.testing.assert_allclose(
        found[:, np.argsort(leading[0])], expected[:, np.argsort(leading[1])], atol=1e-9
    )


def test_single_precision_stays(blobs):
    model = FMVACC(3, random_state=0).fit([X.astype(np.float32) for X in blobs[0]])
    for array in (*model.anchors_, *model.anchor_graphs_, model.embedding_):
        assert array.dtype == np.float32


@pytest.mark.parametrize(("k", "n_anchors"), [(1, None), (12, None), (2, 9), (3, 50)])
def test_few_rows_and_many_anchors(k, n_anchors):
    rng = np.random.RandomState(7)
    Xs = [rng.normal(size=(12, 3)), np.ones((12, 2)), rng.normal(size=(12, 20))]
    model = FMVACC(k, n_anchors=n_anchors, random_state=0).fit(Xs)
    assert len(np.unique(model.labels_)) <= k
    assert model.anchor_graphs_[0].shape == (12, min(n_anchors or k, 12))
    assert np.isfinite(model.objective_).all()


def test_one_view_is_its_own_reference(blobs):
    model = FMVACC(3, random_state=0).fit(blobs[0][:1])
    np.testing.assert_array_equal(model.anchor_matchings_[0], range(3))
