"""VuCG's steps against general computations."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import laplacian

from tests.conftest import make_blobs
from unaligned.baselines import VuCG
from unaligned.baselines.vucg import (
    fuse,
    match_views,
    neighbour_graph,
    one_iteration,
    pull,
    relative_misfit,
    update_basis,
    update_memberships,
)
from unaligned.datasets import unalign
from unaligned.kernels.smoothing import normalized_adjacency
from unaligned.known_pairs import check_aligned
from unaligned.metrics import clustering_scores
from unaligned.views import check_views


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def nothing_known(n, v=2):
    return check_aligned(None, check_views([np.ones((n, 1))] * v))


def test_neighbours_are_the_nearest_rows_and_mutual(rng):
    X = rng.normal(size=(25, 3))
    found = neighbour_graph(X, 4).toarray()
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.zeros((25, 25))
    np.put_along_axis(nearest, np.argsort(distances, axis=1)[:, :4], 1, axis=1)
    np.testing.assert_array_equal(found, np.maximum(nearest, nearest.T))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_are_all_neighbours(rng, n):
    found = neighbour_graph(rng.normal(size=(n, 2)), 5).toarray()
    np.testing.assert_array_equal(found, 1 - np.eye(n))


def test_the_basis_explains_best_among_orthonormal_ones(rng):
    X, V = rng.normal(size=(30, 6)), rng.dirichlet(np.ones(3), size=30)
    basis = update_basis(X, V)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    best = np.sum((X - V @ basis.T) ** 2)
    for _ in range(200):
        other, _ = np.linalg.qr(basis + 0.3 * rng.normal(size=(6, 3)))
        assert best <= np.sum((X - V @ other.T) ** 2) + 1e-9


def test_memberships_project_the_minimiser(rng):
    X, basis = rng.normal(size=(20, 5)), np.linalg.qr(rng.normal(size=(5, 3)))[0]
    adjacency = neighbour_graph(X, 3)
    found = update_memberships(X, basis, normalized_adjacency(adjacency), lam=2.0)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    L = laplacian(adjacency.toarray(), normed=True)
    free = np.linalg.solve(np.eye(20) + 2 * L, X @ basis)

    def cost(V):
        return np.sum((X - V @ basis.T) ** 2) + 2 * np.trace(V.T @ L @ V)

    for _ in range(100):  # it is the minimiser ...
        assert cost(free) <= cost(free + 0.1 * rng.normal(size=free.shape))
    points = rng.dirichlet(np.ones(3), size=500)
    for point, target in zip(found, free, strict=True):  # ... projected
        gaps = np.sum((points - target) ** 2, axis=1)
        assert np.sum((point - target) ** 2) <= gaps.min() + 1e-9


def test_misfit_is_relative(rng):
    X, V, U = (
        rng.normal(size=(9, 4)),
        rng.uniform(size=(9, 2)),
        rng.uniform(size=(4, 2)),
    )
    expected = np.sum((X - V @ U.T) ** 2) / np.sum(X**2)
    np.testing.assert_allclose(relative_misfit(X, V, U), expected)
    np.testing.assert_allclose(relative_misfit(10 * X, 10 * V, U), expected)
    assert expected < relative_misfit(0 * X, V, U) < np.inf


def test_optimal_matching_is_the_assignment(rng):
    Vs = list(rng.dirichlet(np.ones(3), size=(3, 20)))
    found = match_views(Vs, 1, nothing_known(20, 3), "optimal")
    np.testing.assert_array_equal(found[1], np.arange(20))
    for i in (0, 2):
        gain = np.sum(Vs[i][found[i]] * Vs[1])
        table = Vs[i] @ Vs[1].T
        np.testing.assert_allclose(gain, table[linear_sum_assignment(-table)].sum())


@pytest.mark.parametrize("matching", ["optimal", "greedy"])
def test_matching_keeps_known_pairs(rng, matching):
    Vs = list(rng.dirichlet(np.ones(3), size=(2, 20)))
    views = check_views([np.ones((20, 1))] * 2)
    pairs = check_aligned({(1, 0): [(3, 11), (19, 2)]}, views)
    found = match_views(Vs, 0, pairs, matching)[1]
    assert (found[11], found[2]) == (3, 19)
    np.testing.assert_array_equal(np.sort(found), np.arange(20))


def test_rows_go_half_way_to_their_partners(rng):
    V, T, rows = *rng.dirichlet(np.ones(3), size=(2, 6)), rng.permutation(6)
    pulled = pull(V, T, rows)
    for s, row in enumerate(rows):
        np.testing.assert_allclose(pulled[row], (V[row] + T[s]) / 2)
    np.testing.assert_array_equal(pull(T, T, np.arange(6)), T)


def test_fused_rows_are_weighted_sums_of_partners(rng):
    Vs, rows = list(rng.dirichlet(np.ones(3), size=(2, 5))), rng.permutation(5)
    fused = fuse(Vs, [np.arange(5), rows], np.array([0.8, 0.2]))
    for s in range(5):
        np.testing.assert_allclose(fused[s], 0.8 * Vs[0][s] + 0.2 * Vs[1][rows[s]])


def test_the_best_explained_view_is_the_template_and_stays_where_it_is(rng):
    truth = np.eye(3)[np.arange(30) % 3]
    basis = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    noise = rng.normal(size=(30, 5))
    Xs = [noise, truth @ basis.T + 0.01 * noise]
    graphs = [normalized_adjacency(neighbour_graph(X, 5)) for X in Xs]
    state = one_iteration(
        Xs,
        graphs,
        [truth, truth],
        nothing_known(30),
        lam=1,
        tau=1.5,
        matching="optimal",
    )
    assert state.template == 1
    np.testing.assert_array_equal(state.memberships[1], state.matched[1])
    assert not np.array_equal(state.memberships[0], state.matched[0])
    errors = [
        relative_misfit(X, V, U)
        for X, V, U in zip(Xs, state.matched, state.bases, strict=True)
    ]
    # 1 / (1 − τ) = −2
    shares = np.array(errors) ** -2 / np.sum(np.array(errors) ** -2)
    np.testing.assert_allclose(state.weights, shares)
    np.testing.assert_allclose(state.objective, shares**1.5 @ errors)


@pytest.mark.parametrize("matching", ["optimal", "greedy"])
def test_shuffled_views_are_clustered_in_the_template(matching):
    Xs, y = make_blobs(n=90)
    shuffled = unalign(Xs, y, random_state=0)
    model = VuCG(3, matching=matching, random_state=0).fit(shuffled.Xs)
    t = model.template_
    assert clustering_scores(shuffled.ys[t], model.view_labels_[t])["acc"] >= 0.95
    for i, rows in enumerate(model.alignment_.permutations):
        np.testing.assert_array_equal(np.sort(rows), np.arange(90))
        np.testing.assert_array_equal(
            model.view_labels_[i][rows], model.view_labels_[t]
        )
    np.testing.assert_array_equal(model.alignment_.known, np.eye(3)[t])


def test_known_pairs_stay_together_and_are_counted():
    Xs, y = make_blobs(n=60)
    shuffled = unalign(Xs, y, random_state=1)
    where = [np.argsort(order)[:45] for order in shuffled.order]
    pairs = {(0, i): np.column_stack([where[0], where[i]]) for i in (1, 2)}
    model = VuCG(3, random_state=0).fit(shuffled.Xs, aligned=pairs)
    t = model.template_
    for i in range(3):
        rows, sure = model.alignment_.permutations[i], model.alignment_.confidence[i]
        np.testing.assert_array_equal(rows[where[t]], where[i])
        np.testing.assert_array_equal(sure[where[t]], 1)
    np.testing.assert_allclose(model.alignment_.known, np.where(np.eye(3)[t], 1, 0.75))


def test_partners_start_from_the_same_point():
    views = check_views([np.ones((5, 1))] * 3)
    pairs = check_aligned({(0, 1): [(0, 4), (3, 1)], (1, 2): [(4, 2)]}, views)
    starts = VuCG(2)._start(views, pairs, np.random.RandomState(0))
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        rows_i, rows_j = pairs.between(i, j)
        np.testing.assert_array_equal(starts[i][rows_i], starts[j][rows_j])
    for start in starts:
        np.testing.assert_array_equal(
            np.sort(start, axis=0), np.sort(starts[0], axis=0)
        )


def test_options_change_what_they_say(blobs):
    def objective(**options):
        model = VuCG(3, max_iter=3, tol=0, random_state=0, **options)
        return model.fit(blobs[0]).objective_

    plain = objective()
    for other in (
        {"lam": 7.0},
        {"tau": 2.0},
        {"n_neighbors": 2},
        {"standardize": False},
    ):
        assert not np.allclose(plain, objective(**other))
    # Scales of columns do not matter, unless they are asked to.
    scaled = [blobs[0][0] * [1, 10, 100, 1, 1], *blobs[0][1:]]
    model = VuCG(3, max_iter=3, tol=0, random_state=0).fit(scaled)
    np.testing.assert_allclose(model.objective_, plain)


def test_smoothing_makes_neighbours_alike():
    X = np.random.RandomState(0).normal(size=(80, 4))
    roughness = []
    for lam in (0, 1, 10):
        V = VuCG(4, lam=lam, max_iter=5, tol=0, random_state=0).fit([X]).memberships_[0]
        L = laplacian(neighbour_graph(X, 5).toarray(), normed=True)
        roughness.append(np.trace(V.T @ L @ V) / np.sum(V**2))
    assert roughness[0] > roughness[1] > roughness[2]


@pytest.mark.parametrize("k", [1, 8, 20])
def test_any_number_of_clusters_one_view_and_constant_columns(k):
    X = np.random.RandomState(0).normal(size=(20, 3)).astype(np.float32)
    Xs = [np.hstack([X, np.ones((20, 1), np.float32)]), np.ones((20, 2), np.float32)]
    model = VuCG(k, max_iter=4, random_state=0).fit(Xs)
    np.testing.assert_allclose(model.view_weights_, [1, 0])
    assert all(V.dtype == np.float32 for V in model.memberships_)
    alone = VuCG(k, max_iter=4, random_state=0).fit([X])
    np.testing.assert_allclose(alone.view_weights_, [1])
    assert len(alone.labels_) == 20
    flat = VuCG(k, random_state=0).fit(np.ones((20, 2)))
    assert np.isfinite(flat.objective_).all()


def test_it_says_that_it_is_a_reconstruction():
    assert VuCG.reconstruction
    assert VuCG.__doc__.startswith("Reconstruction:")
