"""AEVC's steps against general computations, its options and its limits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import wasserstein_distance

from tests.conftest import make_blobs
from tests.simplex_solver import over_simplex
from unaligned.baselines import AEVC
from unaligned.baselines.aevc import (
    anchor_graph,
    compare_views,
    enhance_anchors,
    find_neighbours,
    fuse_views,
    move_columns,
    normalise_rows,
    objective,
    reorder_anchors,
    weigh_views,
)
from unaligned.kernels.anchor_graphs import match_anchors


def zscore(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def test_graph_rows_minimise_their_objective(rng):
    X, anchors = rng.normal(size=(12, 6)), zscore(rng.normal(size=(4, 6)))
    for x, z in zip(X, anchor_graph(X, anchors), strict=True):
        best = over_simplex(lambda z, x=x: np.sum((x - z @ anchors) ** 2), 4)
        np.testing.assert_allclose(z, best, atol=1e-5)


def test_more_anchors_than_features_give_the_smallest_of_the_best_graphs(rng):
    # Every point inside the hull of the anchors is met exactly, in many ways.
    anchors = rng.normal(size=(8, 2))
    X = rng.dirichlet(np.ones(8), size=20) @ anchors
    graph = anchor_graph(X, anchors)
    np.testing.assert_allclose(graph @ anchors, X, atol=1e-6)
    for x, z in zip(X, graph, strict=True):
        smallest = minimize(
            lambda z: z @ z,
            np.full(8, 1 / 8),
            bounds=[(0, 1)] * 8,
            constraints={
                "type": "eq",
                "fun": lambda z, x=x: np.append(z @ anchors - x, z.sum() - 1),
            },
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        np.testing.assert_allclose(z, smallest.x, atol=1e-4)


def test_shuffled_anchors_find_their_own(rng):
    common = rng.dirichlet(np.full(5, 0.2), size=60)
    order = rng.permutation(5)
    target = match_anchors(common, common[:, order], 1e4, "argmax")
    np.testing.assert_array_equal(target, order)
    np.testing.assert_array_equal(move_columns(common[:, order], target), common)


def test_moves_are_products_with_the_matching(rng):
    target = np.array([2, 0, 2])
    T = np.zeros((3, 3))
    T[target, np.arange(3)] = 1
    graph, anchors = rng.normal(size=(7, 3)), rng.normal(size=(3, 4))
    # In the paper's orientation: T Z, and A T or A Tᵀ.
    np.testing.assert_allclose(move_columns(graph, target), (T @ graph.T).T)
    code, paper = (reorder_anchors(anchors, target, how) for how in ("code", "paper"))
    np.testing.assert_allclose(code, (anchors.T @ T).T)
    np.testing.assert_allclose(paper, (anchors.T @ T.T).T)


def test_only_the_papers_order_leaves_the_fit_as_it_is(rng):
    target = np.array([1, 2, 0])
    graph, anchors = rng.normal(size=(7, 3)), rng.normal(size=(3, 4))
    moved = move_columns(graph, target)
    paper, code = (
        moved @ reorder_anchors(anchors, target, how) for how in ("paper", "code")
    )
    np.testing.assert_allclose(paper, graph @ anchors)
    assert np.abs(code - graph @ anchors).max() > 0.1


def test_views_are_compared_by_the_distance_of_their_weights():
    # Of weights that are 0 or 1 the 2-Wasserstein distance is the root of the first.
    graphs = [np.eye(4)[rows] for rows in ([0, 1], [2, 2], [1, 3])]
    graphs[1][1] = [1, 1, 0, 0]
    similarity = compare_views(graphs)
    distance = np.sqrt(wasserstein_distance(graphs[0].ravel(), graphs[1].ravel()))
    np.testing.assert_allclose(similarity[0, 1], 1 / distance)
    np.testing.assert_array_equal(similarity, similarity.T)
    np.testing.assert_array_equal(np.diagonal(similarity), 0)
    assert similarity[0, 2] == 0  # the same weights: at distance zero


def test_no_pairing_of_the_weights_is_nearer_than_the_one_compared(rng):
    one, other = rng.dirichlet(np.ones(3), size=(2, 5))
    found = 1 / compare_views([one, other])[0, 1]
    for seed in range(200):
        shuffled = np.random.RandomState(seed).permutation(other.ravel())
        assert np.sqrt(np.mean((one.ravel() - shuffled) ** 2)) >= found - 1e-12


def test_rows_of_the_view_graph_are_scaled_at_once_or_in_place():
    similarity = np.array([[0.0, 2.0, 6.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    whole = normalise_rows(similarity, "paper")
    np.testing.assert_allclose(whole, [[0, 0.25, 0.75], [0.5, 0, 0.5], [0, 0, 0]])
    # 2 / 8, then 6 / 6.25; 1 / 2, then 1 / 1.5.
    expected = [[0, 0.25, 0.96], [0.5, 0, 1 / 1.5], [0, 0, 0]]
    np.testing.assert_allclose(normalise_rows(similarity, "code"), expected)


def test_neighbours_come_from_the_column_and_their_shares_from_the_row():
    view_graph = np.array(
        [
            [0.0, 0.2, 0.3, 0.5],
            [0.9, 0.0, 0.1, 0.1],
            [0.1, 0.8, 0.0, 0.7],
            [0.8, 0.3, 0.6, 0.0],
        ]
    )
    # Two neighbours of four: of view 0 they are 1 and 3, with 0.2 and 0.5 in row 0.
    expected = np.zeros((4, 4))
    expected[0, [1, 3]] = [2 / 7, 5 / 7]
    expected[1, [2, 3]] = [0.5, 0.5]
    expected[2, [0, 3]] = [1 / 8, 7 / 8]
    expected[3, [0, 2]] = [8 / 14, 6 / 14]
    np.testing.assert_allclose(find_neighbours(view_graph), expected)


def test_weights_are_shares_of_the_columns():
    weights = weigh_views(np.array([[0.0, 3.0], [1.0, 0.0]]))
    np.testing.assert_allclose(weights, [0.25, 0.75])
    np.testing.assert_allclose(weigh_views(np.zeros((2, 2))), [0.5, 0.5])


def test_enhancement_mixes_what_neighbours_make_of_the_view(rng):
    X, anchors = rng.normal(size=(9, 4)), rng.normal(size=(3, 4))
    graphs = [rng.dirichlet(np.ones(3), size=9) for _ in range(3)]
    shares = np.array([0.0, 0.25, 0.75])
    mix = 0.25 * zscore(graphs[1].T @ X) + 0.75 * zscore(graphs[2].T @ X)
    found = enhance_anchors(X, anchors, graphs, shares, 5.0)
    np.testing.assert_allclose(found, zscore(anchors + 5 * mix))
    alone = enhance_anchors(X, anchors, graphs, np.zeros(3), 5.0)
    np.testing.assert_allclose(alone, zscore(anchors))


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_the_final_graph_minimises_the_objective(rng, lam):
    Xs = [rng.normal(size=(10, d)) for d in (5, 3)]
    anchors = [rng.normal(size=(4, d)) for d in (5, 3)]
    common, weights = rng.dirichlet(np.ones(4), size=10), np.array([0.3, 0.7])
    graph = fuse_views(Xs, anchors, weights, common, lam)
    total = 0.0
    for j, z in enumerate(graph):

        def cost(z, j=j):
            fits = [
                w * np.sum((X[j] - z @ A) ** 2)
                for w, X, A in zip(weights, Xs, anchors, strict=True)
            ]
            return sum(fits) + lam * np.sum((z - common[j]) ** 2)

        np.testing.assert_allclose(z, over_simplex(cost, 4), atol=1e-5)
        total += cost(z)
    found = objective(Xs, anchors, weights, common, graph, lam)
    np.testing.assert_allclose(found, total)


def test_a_strong_pull_leaves_the_common_graph(blobs):
    loose, tight = (AEVC(3, lam=x, random_state=0).fit(blobs[0]) for x in (0, 1e9))
    np.testing.assert_allclose(tight.consensus_graph_, tight.common_graph_, atol=1e-6)
    assert np.abs(loose.consensus_graph_ - loose.common_graph_).max() > 0.1


def test_options_change_what_they_name():
    # So many anchors that the heaviest partners of some are the same.
    Xs, _ = make_blobs(n=80, k=4, widths=(8, 10, 6), spread=2.0)

    def fitted(**options):
        model = AEVC(4, n_anchors=24, gamma=0.1, lam=1.0, random_state=0, **options)
        return model.fit(Xs)

    base = fitted()
    for graph in fitted(matching="optimal").anchor_graphs_:
        assert (graph.sum(axis=0) > 0).all()
    assert any((graph.sum(axis=0) == 0).any() for graph in base.anchor_graphs_)
    paper = fitted(anchor_order="paper")
    np.testing.assert_array_equal(paper.view_graph_, base.view_graph_)
    assert np.abs(paper.anchors_[0] - base.anchors_[0]).max() > 0.1
    rows = fitted(view_scaling="paper").view_graph_.sum(axis=1)
    np.testing.assert_allclose(rows, 1)
    assert (base.view_graph_.sum(axis=1) > 1.01).all()


def test_fitted_shapes_and_constraints(blobs):
    model = AEVC(3, random_state=0).fit(blobs[0])
    assert [A.shape for A in model.anchors_] == [(6, 5), (6, 4), (6, 6)]
    for graph in [*model.anchor_graphs_, model.common_graph_, model.consensus_graph_]:
        assert graph.shape == (60, 6)
        assert (graph >= 0).all()
        np.testing.assert_allclose(graph.sum(axis=1), 1)
    np.testing.assert_allclose(model.view_weights_.sum(), 1)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)


def test_scale_and_origin_of_a_column_do_not_matter(blobs):
    moved = [X * np.arange(1, X.shape[1] + 1) + 7 for X in blobs[0]]
    one, other = (AEVC(3, random_state=0).fit(Xs) for Xs in (blobs[0], moved))
    np.testing.assert_allclose(one.objective_, other.objective_)


def test_single_precision_stays_single(blobs):
    model = AEVC(3, random_state=0).fit([X.astype(np.float32) for X in blobs[0]])
    arrays = [model.consensus_graph_, *model.anchor_graphs_, *model.anchors_]
    assert {a.dtype for a in arrays} == {np.dtype(np.float32)}


@pytest.mark.parametrize("k", [1, 5, 12])
def test_any_number_of_clusters_and_features_works(k):
    # 12 clusters of 12 rows, so that there are fewer anchors; a constant view.
    rng = np.random.RandomState(0)
    Xs = [rng.normal(size=(12, 4)), np.ones((12, 3)), rng.normal(size=(12, 20))]
    model = AEVC(k, n_init=1, random_state=0).fit(Xs)
    assert np.isfinite(model.objective_).all()
    assert model.consensus_graph_.shape == (12, min(2 * k, 12))
    assert model.labels_.max() < k


@pytest.mark.parametrize("copies", [1, 2])
def test_one_view_or_two_that_are_equal_are_enough(copies):
    Xs, y = make_blobs(n=60, widths=(6,))
    model = AEVC(3, random_state=0).fit(Xs * copies)
    np.testing.assert_allclose(model.view_weights_, np.full(copies, 1 / copies))
    assert len(np.unique(np.column_stack([y, model.labels_]), axis=0)) == 3
