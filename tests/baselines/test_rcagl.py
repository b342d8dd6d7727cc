"""RCAGL's updates against general solvers, its options and its limits."""

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning

from tests.conftest import make_blobs
from tests.simplex_solver import over_simplex
from unaligned.baselines import RCAGL
from unaligned.baselines.rcagl import (
    leading_directions,
    objective,
    shared_affinity,
    update_anchors,
    update_own,
)
from unaligned.kernels.bipartite import bipartite_components
from unaligned.metrics import clustering_scores

LAM = 0.3


@pytest.fixture
def problem():
    """Two views, orthonormal anchors, the shared graph and the views' own."""
    rng = np.random.RandomState(0)
    Xs = [2 * rng.normal(size=(10, d)) for d in (6, 7)]
    anchors = [ortho_group.rvs(d, random_state=0)[:4] for d in (6, 7)]
    shared, *own = (rng.dirichlet(np.ones(4), size=10) for _ in range(3))
    return Xs, anchors, shared, own


def test_objective_is_the_sum_it_stands_for(problem):
    Xs, anchors, shared, own = problem
    expected = 0
    for X, A, D in zip(Xs, anchors, own, strict=True):
        for x, c, d in zip(X, shared, D, strict=True):
            expected += np.sum((x - (c @ A + d @ A) / 2) ** 2) + LAM * np.sum(d**2)
    np.testing.assert_allclose(objective(Xs, anchors, shared, own, LAM), expected)


def test_no_orthonormal_anchors_fit_better(problem):
    (X, _), _, shared, (D, _) = problem
    anchors = update_anchors(X, shared, D)
    np.testing.assert_allclose(anchors @ anchors.T, np.eye(4), atol=1e-12)
    best = objective([X], [anchors], shared, [D], LAM)
    for seed in range(50):
        other = ortho_group.rvs(6, random_state=seed)[:4]
        assert objective([X], [other], shared, [D], LAM) >= best
    # The bound of von Neumann says the same of all others.
    mean = (shared + D) / 2
    bound = np.linalg.norm(mean.T @ X, "nuc")
    squares = np.sum(X**2) + np.sum(mean**2) + LAM * np.sum(D**2)
    np.testing.assert_allclose(best, squares - 2 * bound)


@pytest.mark.parametrize("lam", [0.0, LAM])
def test_own_graphs_minimise_the_objective(problem, lam):
    (X, _), (A, _), shared, _ = problem
    for x, c, d in zip(X, shared, update_own(X, A, shared, lam), strict=True):
        best = over_simplex(
            lambda d, x=x, c=c: objective([x[None]], [A], c[None], [d[None]], lam), 4
        )
        np.testing.assert_allclose(d, best, atol=1e-5)


def test_twice_the_affinity_is_the_best_unconstrained_shared_graph(problem):
    Xs, anchors, _, own = problem
    rest = [X - D @ A / 2 for X, A, D in zip(Xs, anchors, own, strict=True)]
    design = np.hstack(anchors).T / 2
    best = np.linalg.lstsq(design, np.hstack(rest).T, rcond=None)[0].T
    np.testing.assert_allclose(2 * shared_affinity(Xs, anchors, own), best)


@pytest.mark.parametrize("widths", [(3, 4), (30, 40)])
def test_leading_directions_are_left_singular_vectors(widths):
    rng = np.random.RandomState(0)
    Xs = [rng.normal(size=(20, d)) for d in widths]
    expected = np.linalg.svd(np.hstack(Xs))[0][:, :5]
    agreement = np.abs(np.sum(expected * leading_directions(Xs, 5), axis=0))
    np.testing.assert_allclose(agreement, 1)


def test_directions_that_are_not_there_are_left_out():
    X = np.random.RandomState(0).normal(size=(8, 2))
    for Xs in ([X], [np.hstack([X] * 9)]):
        assert leading_directions(Xs, 5).shape == (8, 2)


def test_clusters_are_the_pieces_of_the_shared_graph(blobs):
    model = RCAGL(3, random_state=0).fit(blobs[0])
    assert model.shared_graph_.shape == (60, 9)
    pieces = bipartite_components(model.shared_graph_)
    np.testing.assert_array_equal(model.labels_, pieces)
    assert model.n_clusters_ == pieces.max() + 1 == 3
    for graph in [model.shared_graph_, *model.anchor_graphs_]:
        np.testing.assert_allclose(graph.sum(axis=1), 1)
        assert (graph >= 0).all()


def test_lam_flattens_the_own_graphs(blobs):
    def peak(lam):
        model = RCAGL(3, lam=lam, random_state=0).fit(blobs[0])
        return np.mean([graph.max(axis=1).mean() for graph in model.anchor_graphs_])

    assert peak(0.0) > peak(1.0) > peak(100.0)
    assert peak(1e6) == pytest.approx(1 / 9, abs=1e-3)


def test_graph_steps_differ(blobs):
    def spread(step):
        model = RCAGL(3, graph_step=step, max_iter=1, random_state=0).fit(blobs[0])
        return np.count_nonzero(model.shared_graph_)

    # Twice as far apart, fewer anchors of a row survive the projection.
    assert spread("exact") < spread("program")


def test_the_objective_improves_on_the_start(blobs):
    model = RCAGL(3, tol=0, max_iter=15, random_state=0).fit(blobs[0])
    assert model.objective_[-1] < model.objective_[0]
    assert not model.converged_


def test_scale_and_origin_of_a_column_do_not_matter(blobs):
    moved = [X * np.arange(1, X.shape[1] + 1) + 7 for X in blobs[0]]
    one, other = (RCAGL(3, random_state=0).fit(Xs) for Xs in (blobs[0], moved))
    np.testing.assert_allclose(one.objective_, other.objective_)


def test_another_number_of_clusters_is_said(blobs):
    same = [np.ones((20, 3)), np.ones((20, 2))]
    with pytest.warns(ConvergenceWarning, match="n_clusters=3, but .* falls into 1"):
        model = RCAGL(3, random_state=0).fit(same)
    assert model.n_clusters_ == 1
    assert not model.labels_.any()


def test_every_cluster_needs_an_anchor(blobs):
    with pytest.raises(ValueError, match="n_anchors=2 is less than n_clusters=3"):
        RCAGL(3, n_anchors=2).fit(blobs[0])


@pytest.mark.parametrize("k", [1, 2, 5, 12])
@pytest.mark.parametrize("n_anchors", [None, 12, 40])
def test_any_number_of_clusters_works(k, n_anchors):
    Xs, _ = make_blobs(n=12, k=3, widths=(2, 20), spread=1.0)
    Xs[0][:, 0] = 5  # a constant column, and more anchors than features
    model = RCAGL(k, n_anchors=n_anchors, n_init=1, random_state=0).fit(Xs)
    np.testing.assert_array_equal(np.unique(model.labels_), range(model.n_clusters_))
    assert model.shared_graph_.shape[1] == min(n_anchors or 3 * k, 12)
    assert np.isfinite(model.objective_).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_finds_the_same_clusters(dtype):
    Xs, y = make_blobs(n=90)
    model = RCAGL(3, random_state=0).fit([X.astype(dtype) for X in Xs])
    assert model.shared_graph_.dtype == model.anchor_graphs_[0].dtype == dtype
    assert clustering_scores(y, model.labels_)["acc"] == 1


def test_one_view_is_enough(blobs):
    model = RCAGL(3, random_state=0).fit(blobs[0][:1])
    assert clustering_scores(blobs[1], model.labels_)["acc"] == 1
