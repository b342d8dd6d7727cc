"""FPMVS-CAG's updates against general solvers, its options and its limits."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from tests.conftest import make_blobs
from tests.simplex_solver import over_simplex
from unaligned.baselines import FPMVSCAG
from unaligned.baselines.fpmvscag import (
    init_state,
    misfit,
    one_iteration,
    update_anchors,
    update_graph,
    update_projection,
    update_weights,
)
from unaligned.kernels.residual import sum_of_squares

K = 3


class Problem:
    """Two views and a random feasible point, with the objective written out."""

    def __init__(self, widths=(6, 4), n=12):
        rng = np.random.RandomState(0)
        self.Xs = [rng.normal(size=(n, d)) for d in widths]
        self.projections = [ortho_group.rvs(d, random_state=d)[:, :K] for d in widths]
        self.anchors = ortho_group.rvs(K, random_state=0)
        self.graph = rng.dirichlet(np.ones(K), size=n)
        self.weights = np.array([0.3, 0.7])
        self.latents = [X @ W for X, W in zip(self.Xs, self.projections, strict=True)]

    def cost(self, **changed):
        at = vars(self) | changed
        return sum(
            a**2 * np.linalg.norm(X - at["graph"] @ at["anchors"] @ W.T) ** 2
            for a, X, W in zip(at["weights"], self.Xs, at["projections"], strict=True)
        )


@pytest.fixture
def problem():
    return Problem()


def test_no_other_projection_fits_better(problem):
    best = [update_projection(X, problem.anchors, problem.graph) for X in problem.Xs]
    for W in best:
        np.testing.assert_allclose(W.T @ W, np.eye(K), atol=1e-12)
    for seed in range(50):
        other = [ortho_group.rvs(d, random_state=seed)[:, :K] for d in (6, 4)]
        for i in range(2):
            mixed = [other[j] if j == i else best[j] for j in range(2)]
            assert problem.cost(projections=mixed) >= problem.cost(projections=best)


def test_no_other_anchors_fit_better(problem):
    anchors = update_anchors(problem.latents, problem.graph, problem.weights)
    np.testing.assert_allclose(anchors @ anchors.T, np.eye(K), atol=1e-12)
    best = problem.cost(anchors=anchors)
    for seed in range(50):
        assert problem.cost(anchors=ortho_group.rvs(K, random_state=seed)) >= best


def test_graph_rows_minimise_the_papers_objective(problem):
    graph = update_graph(problem.latents, problem.anchors, problem.weights, "paper")
    for j, row in enumerate(graph):

        def cost(z, j=j):
            return sum(
                a**2 * np.sum((X[j] - z @ problem.anchors @ W.T) ** 2)
                for a, X, W in zip(
                    problem.weights, problem.Xs, problem.projections, strict=True
                )
            )

        np.testing.assert_allclose(row, over_simplex(cost, K), atol=1e-6)


def test_the_programs_graph_is_that_of_stretched_views(problem):
    # Leaving α² out of the sum is the paper's update of views divided by α².
    stretched = [
        latent / a**2
        for latent, a in zip(problem.latents, problem.weights, strict=True)
    ]
    args = problem.anchors, problem.weights
    code = update_graph(problem.latents, *args, "code")
    np.testing.assert_allclose(code, update_graph(stretched, *args, "paper"))
    paper = update_graph(problem.latents, *args, "paper")
    assert np.count_nonzero(code) < np.count_nonzero(paper)


def test_view_weights_minimise_the_objective():
    errors = np.array([4.0, 1.0, 9.0])
    best = over_simplex(lambda a: a**2 @ errors, 3)
    np.testing.assert_allclose(update_weights(errors, 2), best, atol=1e-6)
    best = over_simplex(lambda a: a**2 @ np.sqrt(errors), 3)
    np.testing.assert_allclose(update_weights(errors, 1), best, atol=1e-6)


def test_a_perfectly_fitted_view_takes_all_the_weight():
    found = update_weights(np.array([0.0, 5.0]), 2)
    np.testing.assert_allclose(found, [1, 0], atol=1e-300)


@pytest.mark.parametrize("widths", [(6, 4), (6, 2)])
def test_misfit_is_the_squared_residual(widths):
    # With two features a projection into three dimensions has orthonormal rows only.
    problem = Problem(widths)
    for X, W in zip(problem.Xs, problem.projections, strict=True):
        W = np.ones((X.shape[1], K)) if W.shape[1] < K else W
        expected = np.linalg.norm(X - problem.graph @ problem.anchors @ W.T) ** 2
        found = misfit(sum_of_squares(X), X @ W, W, problem.anchors, problem.graph)
        np.testing.assert_allclose(found, expected)


def test_the_first_iteration_projects_onto_the_first_features(problem):
    squares = [sum_of_squares(X) for X in problem.Xs]
    state = init_state(problem.Xs, K)
    state = one_iteration(problem.Xs, squares, state, "paper", 2)
    for X, W in zip(problem.Xs, state.projections, strict=True):
        np.testing.assert_array_equal(X @ W, X[:, :K])
    # The anchors fit the first samples, one each.
    heads = sum(X[:K, :K] for X in problem.Xs)
    left, _, right = np.linalg.svd(heads)
    np.testing.assert_allclose(state.anchors, left @ right)


def test_the_papers_objective_falls_and_is_what_it_says():
    Xs, _ = make_blobs(n=80, k=4, widths=(8, 10), spread=2.0)
    model = FPMVSCAG(4, graph_weighting="paper", tol=0, max_iter=30, random_state=0)
    values = model.fit(Xs).objective_
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < values[0]
    expected = sum(
        a**2
        * np.linalg.norm(
            (X - X.mean(0)) / X.std(0, ddof=1)
            - model.anchor_graph_ @ model.anchors_ @ W.T
        )
        ** 2
        for a, X, W in zip(model.view_weights_, Xs, model.projections_, strict=True)
    )
    np.testing.assert_allclose(values[-1], expected)


def test_options_change_what_they_name():
    Xs, _ = make_blobs(n=80, k=4, widths=(8, 10), spread=2.0)
    base, paper, norm = (
        FPMVSCAG(4, random_state=0, **options).fit(Xs)
        for options in ({}, {"graph_weighting": "paper"}, {"residual_power": 1})
    )
    assert np.abs(base.anchor_graph_ - paper.anchor_graph_).max() > 0.1
    # Un-squared residuals differ less, and so do the weights.
    assert np.ptp(norm.view_weights_) < np.ptp(base.view_weights_)


def test_the_change_is_looked_at_from_the_tenth_iteration_on(blobs):
    model = FPMVSCAG(3, tol=1e9, random_state=0).fit(blobs[0])
    assert model.n_iter_ == 10
    assert model.converged_


def test_fitted_shapes_and_constraints(blobs):
    model = FPMVSCAG(3, random_state=0).fit(blobs[0])
    assert [W.shape for W in model.projections_] == [(5, 3), (4, 3), (6, 3)]
    np.testing.assert_allclose(model.anchors_ @ model.anchors_.T, np.eye(3), atol=1e-12)
    assert (model.anchor_graph_ >= 0).all()
    np.testing.assert_allclose(model.anchor_graph_.sum(axis=1), 1)
    np.testing.assert_allclose(model.view_weights_.sum(), 1)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)


def test_single_precision_stays_single(blobs):
    model = FPMVSCAG(3, random_state=0).fit([X.astype(np.float32) for X in blobs[0]])
    arrays = [model.anchors_, model.anchor_graph_, model.embedding_]
    assert {a.dtype for a in [*arrays, *model.projections_]} == {np.dtype(np.float32)}


@pytest.mark.parametrize("k", [1, 5, 12])
@pytest.mark.parametrize("weighting", ["code", "paper"])
def test_any_number_of_clusters_and_features_works(k, weighting):
    # 12 clusters of 12 rows; views narrower than that, one of them constant.
    rng = np.random.RandomState(0)
    Xs = [rng.normal(size=(12, 4)), np.ones((12, 3)), rng.normal(size=(12, 20))]
    model = FPMVSCAG(k, graph_weighting=weighting, n_init=1, random_state=0).fit(Xs)
    assert np.isfinite(model.objective_).all()
    assert model.labels_.max() < k


def test_one_view_is_enough():
    Xs, y = make_blobs(n=60, widths=(6,))
    model = FPMVSCAG(3, random_state=0).fit(Xs)
    np.testing.assert_array_equal(model.view_weights_, [1])
    assert len(np.unique(np.column_stack([y, model.labels_]), axis=0)) == 3
