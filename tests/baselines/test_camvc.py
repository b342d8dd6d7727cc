"""CAMVC's updates against general solvers, its options and its limits."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import ortho_group

from tests.conftest import make_blobs
from unaligned.baselines import CAMVC
from unaligned.baselines.camvc import (
    init_state,
    misfit,
    one_iteration,
    update_anchors,
    update_centers,
    update_codes,
)
from unaligned.kernels.residual import sum_of_squares

K, M, ALPHA, BETA = 2, 2, 0.4, 1.5
# Y of the paper: a row for each cluster, a column for each anchor.
Y = np.kron(np.eye(K), np.ones(M))


class Problem:
    """Two views and a random feasible point, with the objective written out."""

    def __init__(self):
        rng = np.random.RandomState(0)
        self.Xs = [rng.normal(size=(7, d)) for d in (5, 3)]
        self.codes = rng.normal(size=(7, K * M))
        self.anchors = [rng.normal(size=(K * M, d)) for d in (5, 3)]
        self.centers = [ortho_group.rvs(d, random_state=0)[:K] for d in (5, 3)]
        self.weights = np.array([0.4, 0.6])

    def cost(self, **changed):
        at = vars(self) | changed
        views = zip(at["weights"], self.Xs, at["anchors"], at["centers"], strict=True)
        total = BETA * np.sum(at["codes"] ** 2)
        for w, X, A, P in views:
            total += w**2 * np.sum((X - at["codes"] @ A) ** 2)
            total += w**2 * ALPHA * np.sum((A - Y.T @ P) ** 2)
        return total


@pytest.fixture
def problem():
    return Problem()


def minimiser(cost, shape):
    solved = minimize(lambda flat: cost(flat.reshape(shape)), np.zeros(np.prod(shape)))
    return solved.x.reshape(shape)


def test_codes_minimise_the_objective(problem):
    codes = update_codes(problem.Xs, problem.anchors, problem.weights, BETA)
    best = minimiser(lambda Z: problem.cost(codes=Z), (7, K * M))
    np.testing.assert_allclose(codes, best, atol=1e-4)


def test_anchors_of_every_view_minimise_the_objective(problem):
    for i, (X, P) in enumerate(zip(problem.Xs, problem.centers, strict=True)):

        def cost(A, i=i):
            anchors = [A if j == i else problem.anchors[j] for j in range(2)]
            return problem.cost(anchors=anchors)

        found = update_anchors(X, problem.codes, P, ALPHA)
        best = minimiser(cost, (K * M, X.shape[1]))
        np.testing.assert_allclose(found, best, atol=1e-4)


def test_no_other_orthonormal_centres_are_nearer(problem):
    for anchors in problem.anchors:
        centers = update_centers(anchors, K)
        np.testing.assert_allclose(centers @ centers.T, np.eye(K), atol=1e-12)
        best = np.sum((anchors - Y.T @ centers) ** 2)
        for seed in range(50):
            other = ortho_group.rvs(anchors.shape[1], random_state=seed)[:K]
            assert np.sum((anchors - Y.T @ other) ** 2) >= best


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_misfit_is_the_cost_of_one_view(problem, kind):
    for X, A, P in zip(problem.Xs, problem.anchors, problem.centers, strict=True):
        expected = np.sum((X - problem.codes @ A) ** 2)
        expected += ALPHA * np.sum((A - Y.T @ P) ** 2)
        found = misfit(sum_of_squares(X), kind(X), problem.codes, A, P, ALPHA)
        np.testing.assert_allclose(found, expected)


def test_the_first_iteration_puts_anchors_on_the_first_axes(problem):
    squares = [sum_of_squares(X) for X in problem.Xs]
    state = init_state(problem.Xs, K, M, learn_weights=False)
    state = one_iteration(problem.Xs, squares, state, ALPHA, BETA, False)
    assert not state.codes.any()
    for A, d in zip(state.anchors, (5, 3), strict=True):
        np.testing.assert_allclose(A, np.eye(K, d)[[0, 0, 1, 1]], atol=1e-12)
    np.testing.assert_allclose(state.objective, sum(squares))


@pytest.mark.parametrize("learn_weights", [False, True])
@pytest.mark.parametrize("per_cluster", [1, 3])
def test_the_objective_falls_and_is_what_it_says(learn_weights, per_cluster):
    Xs, _ = make_blobs(n=80, k=4, widths=(8, 10), spread=2.0)
    model = CAMVC(
        4,
        anchors_per_cluster=per_cluster,
        learn_weights=learn_weights,
        tol=0,
        max_iter=30,
        random_state=0,
    )
    values = model.fit(Xs).objective_
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < 0.99 * values[0]
    expected = 10.0 * np.sum(model.codes_**2)
    for w, X, A, P in zip(
        model.view_weights_, Xs, model.anchors_, model.cluster_centers_, strict=True
    ):
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        away = A - np.repeat(P, per_cluster, axis=0)
        fit = np.sum((X - model.codes_ @ A) ** 2)
        expected += w**2 * (fit + 0.1 * np.sum(away**2))
    np.testing.assert_allclose(values[-1], expected)


def test_learned_weights_favour_the_view_that_fits():
    # The second view is noise, which no few anchors explain.
    Xs, _ = make_blobs(n=80, widths=(10, 10))
    Xs[1] = np.random.RandomState(0).normal(size=(80, 10))
    fixed = CAMVC(3, random_state=0).fit(Xs)
    learned = CAMVC(3, learn_weights=True, beta=0.1, random_state=0).fit(Xs)
    np.testing.assert_array_equal(fixed.view_weights_, [1, 1])
    np.testing.assert_allclose(learned.view_weights_.sum(), 1)
    assert learned.view_weights_[0] > 2 * learned.view_weights_[1]


def test_a_strong_pull_holds_the_anchors_at_the_centres(blobs):
    loose, tight = (
        CAMVC(3, anchors_per_cluster=2, alpha=a, random_state=0).fit(blobs[0])
        for a in (1e-3, 1e6)
    )
    for model, close in ((loose, False), (tight, True)):
        away = model.anchors_[0] - np.repeat(model.cluster_centers_[0], 2, axis=0)
        assert (np.abs(away).max() < 1e-3) == close


def test_the_length_of_a_row_does_not_matter(blobs):
    lengths = np.random.RandomState(0).uniform(0.1, 9, size=(60, 1))
    one, other = (
        CAMVC(3, random_state=0).fit(Xs)
        for Xs in (blobs[0], [lengths * X for X in blobs[0]])
    )
    np.testing.assert_allclose(one.objective_, other.objective_)


def test_sparse_views_give_the_same_codes(blobs):
    Xs = [np.where(np.abs(X) > 1, X, 0) for X in blobs[0]]
    dense = CAMVC(3, anchors_per_cluster=2, random_state=0).fit(Xs)
    thin = CAMVC(3, anchors_per_cluster=2, random_state=0)
    thin.fit([sparse.csr_array(X) for X in Xs])
    np.testing.assert_allclose(thin.codes_, dense.codes_, atol=1e-12)
    np.testing.assert_allclose(thin.objective_, dense.objective_)


def test_the_change_is_looked_at_from_the_third_iteration_on(blobs):
    model = CAMVC(3, tol=1e9, random_state=0).fit(blobs[0])
    assert model.n_iter_ == 3
    assert model.converged_


def test_single_precision_stays_single(blobs):
    model = CAMVC(3, learn_weights=True, random_state=0)
    model.fit([X.astype(np.float32) for X in blobs[0]])
    arrays = [model.codes_, *model.anchors_, *model.cluster_centers_]
    assert {a.dtype for a in arrays} == {np.dtype(np.float32)}


@pytest.mark.parametrize("k", [1, 5, 12])
@pytest.mark.parametrize("learn_weights", [False, True])
def test_any_number_of_clusters_and_features_works(k, learn_weights):
    # 12 clusters of 12 rows, more anchors than rows; a constant view; a row of zeros.
    rng = np.random.RandomState(0)
    Xs = [rng.normal(size=(12, 4)), np.ones((12, 3)), rng.normal(size=(12, 20))]
    Xs[0][3] = 0
    model = CAMVC(
        k, anchors_per_cluster=2, learn_weights=learn_weights, n_init=1, random_state=0
    ).fit(Xs)
    assert np.isfinite(model.objective_).all()
    assert model.codes_.shape == (12, 2 * k)
    assert model.labels_.max() < k


def test_one_view_is_enough():
    Xs, y = make_blobs(n=60, widths=(6,))
    labels = CAMVC(3, random_state=0).fit(Xs).labels_
    assert len(np.unique(np.column_stack([y, labels]), axis=0)) == 3
