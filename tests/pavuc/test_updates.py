"""Each update against a computation that does not share its formula."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from tests.simplex_solver import over_simplex
from unaligned.kernels import blocks
from unaligned.kernels.devices import result_of
from unaligned.kernels.simplex import project_simplex
from unaligned.pavuc import updates


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def simplex_rows(rng, n, m):
    return rng.dirichlet(np.full(m, 0.5), size=n)


def dense_objective(Xs, Qs, A, Gs, permutations, t, phi, alpha, mu):
    """Eq. 7 in the paper's orientation, with real permutation matrices."""
    total = 0.0
    for i, (X, Q, G, p) in enumerate(zip(Xs, Qs, Gs, permutations, strict=True)):
        E = Q.T @ X.T - A.T @ G.T
        total += phi[i] ** alpha * np.linalg.norm(E, axis=0).sum()
        if i != t:
            Pi = np.zeros((len(p), len(p)))
            Pi[p, np.arange(len(p))] = 1
            total += mu * np.linalg.norm(G.T @ Pi - Gs[t].T) ** 2
    return total


@pytest.mark.parametrize("mu", [0, 0.3, 1])
def test_objective_is_equation_7(rng, mu):
    n, m, latent, widths = 12, 4, 3, (5, 6, 4)
    Xs = [rng.normal(size=(n, d)) for d in widths]
    Qs = [rng.normal(size=(d, latent)) for d in widths]
    A, phi = rng.normal(size=(m, latent)), rng.dirichlet(np.ones(3))
    Gs = [simplex_rows(rng, n, m) for _ in widths]
    permutations = [rng.permutation(n), np.arange(n), rng.permutation(n)]
    residuals = [
        updates.row_residuals(X @ Q, G, A) for X, Q, G in zip(Xs, Qs, Gs, strict=True)
    ]
    errors = updates.view_errors(residuals)
    found = updates.objective(phi**1.7, errors, Gs, permutations, 1, mu)
    expected = dense_objective(Xs, Qs, A, Gs, permutations, 1, phi, 1.7, mu)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_row_weights_are_half_the_inverse_residual_and_finite_at_zero():
    weights = updates.reweight_rows(np.array([2.0, 0.0]), floor=1e-3)
    np.testing.assert_allclose(weights, [0.25, 500])


def test_weighted_squares_touch_the_norm_they_stand_for(rng):
    # Tr(E Λ Eᵀ) with Λ of the same E is half the sum of the row lengths.
    residuals = rng.uniform(0.1, 2, size=20)
    weights = updates.reweight_rows(residuals, 1e-12)
    np.testing.assert_allclose(weights @ residuals**2, residuals.sum() / 2)


@pytest.mark.parametrize("latent", [2, 5, 7])
def test_projection_beats_random_orthonormal_ones(rng, latent):
    X, G = rng.normal(size=(30, 5)), simplex_rows(rng, 30, 4)
    A, w = rng.normal(size=(4, latent)), rng.uniform(size=30)
    moments = updates.view_moments(X, w, G)
    (Q,) = updates.update_projections([moments], A)
    B = X.T @ np.diag(w) @ G @ A  # Eq. 10's B_i with Λ as a matrix
    best = np.trace(Q.T @ B)
    for _ in range(200):
        other, _ = np.linalg.qr(rng.normal(size=(max(5, latent),) * 2))
        assert np.trace(other[:5, :latent].T @ B) <= best + 1e-9


def test_anchors_minimise_the_weighted_squares_when_orthonormal_columns_fit(rng):
    # m ≤ d_l: then Eq. 12 is the exact minimiser, which random anchors cannot beat.
    n, m, latent = 25, 3, 4
    Xs = [rng.normal(size=(n, 5)) for _ in range(2)]
    Qs = [np.linalg.qr(rng.normal(size=(5, 5)))[0][:, :latent] for _ in range(2)]
    Gs = [simplex_rows(rng, n, m) for _ in range(2)]
    ws = [rng.uniform(size=n) for _ in range(2)]
    strengths = np.array([0.3, 0.7])

    def weighted_squares(A):
        return sum(
            s * np.sum(w[:, None] * (X @ Q - G @ A) ** 2)
            for s, X, Q, G, w in zip(strengths, Xs, Qs, Gs, ws, strict=True)
        )

    moments = [updates.view_moments(*view) for view in zip(Xs, ws, Gs, strict=True)]
    A = updates.update_anchors(strengths, moments, Qs)
    np.testing.assert_allclose(A @ A.T, np.eye(m), atol=1e-12)
    for _ in range(300):
        other = np.linalg.qr(rng.normal(size=(latent, m)))[0].T
        assert weighted_squares(A) <= weighted_squares(other) + 1e-9


@pytest.mark.parametrize(("n_partners", "mu"), [(1, 0.3), (3, 0.3), (1, 1)])
def test_graph_row_minimises_its_subproblem(rng, n_partners, mu):
    # Eq. 13 for one row, solved by a general solver: γ‖y − A g‖² + μ Σ ‖g − partner‖².
    m = latent = 4
    A = np.linalg.qr(rng.normal(size=(latent, latent)))[0]
    y, gamma = rng.normal(size=latent), 0.8
    partners = simplex_rows(rng, n_partners, m)
    h = updates.blend(
        (A @ y)[None],
        np.array([gamma]),
        partners.sum(axis=0)[None],
        mu,
        n_partners,
    )
    g = project_simplex(h)[0]

    def cost(row):
        pull = sum(np.sum((row - p) ** 2) for p in partners)
        return gamma * np.sum((y - row @ A) ** 2) + mu * pull

    np.testing.assert_allclose(g, over_simplex(cost, m), atol=1e-5)


def test_without_pull_a_row_follows_its_own_affinity(rng):
    affinity = rng.normal(size=(3, 2))
    for mu, n_partners in [(0, 1), (0.5, 0)]:
        blended = updates.blend(affinity, np.zeros(3), affinity * 9, mu, n_partners)
        np.testing.assert_array_equal(blended, affinity)


def test_choosing_order_is_by_sample_variance_and_stable():
    X = np.array([[1.0, 1.0], [0.0, 2.0], [5.0, 7.0], [0.0, 9.0]])
    np.testing.assert_array_equal(updates.choosing_order(X), [3, 1, 2, 0])


def test_row_variances_agree_for_dense_sparse_and_python(rng):
    X = rng.normal(size=(30, 7)) * (rng.uniform(size=(30, 7)) < 0.4)
    expected = [np.var(list(row), ddof=1) for row in X]
    np.testing.assert_allclose(updates.row_variances(X), expected)
    np.testing.assert_allclose(updates.row_variances(sparse.csr_array(X)), expected)


def test_rows_with_one_feature_have_no_variance():
    np.testing.assert_array_equal(updates.row_variances(np.ones((3, 1))), np.zeros(3))


def test_matching_is_the_papers_loop(rng):
    n, m, p = 40, 3, 10
    G, T = simplex_rows(rng, n, m), simplex_rows(rng, n, m)
    order = rng.permutation(n)
    known = np.arange(p), np.arange(p)
    found = result_of(updates.match_rows(G, T, order, known, "greedy"))

    score = G @ T.T  # Eq. 21
    score[:, :p] = -1
    expected = np.arange(n)
    for j in order:
        if j >= p:
            s = int(np.argmax(score[j]))
            expected[s] = j
            score[:, s] = -1
    np.testing.assert_array_equal(found, expected)


def test_optimal_matching_maximises_equation_20(rng):
    G, T = simplex_rows(rng, 25, 4), simplex_rows(rng, 25, 4)
    nothing = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    permutation = result_of(updates.match_rows(G, T, np.arange(25), nothing, "optimal"))
    rows, columns = linear_sum_assignment(-(G @ T.T))
    best = (G @ T.T)[rows, columns].sum()
    np.testing.assert_allclose(updates.alignment_gain(G, T, permutation), best)


def test_gain_and_distance_tell_the_same_story(rng):
    # ‖G Π − G_t‖² = ‖G‖² + ‖G_t‖² − 2 Tr(Πᵀ Gᵀ G_t)
    G, T, p = simplex_rows(rng, 9, 3), simplex_rows(rng, 9, 3), rng.permutation(9)
    distance = updates.misalignment([G, T], [p, np.arange(9)], 1)
    gain = updates.alignment_gain(G, T, p)
    np.testing.assert_allclose(distance, (G**2).sum() + (T**2).sum() - 2 * gain)


def test_confidence_is_the_share_of_the_two_step_walk(rng):
    G, T, p = simplex_rows(rng, 8, 3), simplex_rows(rng, 8, 3), rng.permutation(8)
    walk = G @ T.T
    walk /= walk.sum(axis=1, keepdims=True)
    found = updates.match_confidence(G, T, p, np.empty(0, dtype=np.intp))
    np.testing.assert_allclose(found, [walk[p[s], s] for s in range(8)])


def test_confidence_is_one_without_rival_and_for_known_pairs():
    G = np.eye(3)[[0, 1, 1, 2]]
    nobody = np.empty(0, dtype=np.intp)
    confidence = updates.match_confidence(G, G, np.arange(4), nobody)
    np.testing.assert_allclose(confidence, [1, 0.5, 0.5, 1])
    # A known template row is no rival of the others.
    known = updates.match_confidence(G, G, np.arange(4), np.array([1]))
    np.testing.assert_allclose(known, [1, 1, 1, 1])


def test_confidence_of_an_impossible_match_is_zero():
    G, T = np.eye(2)[[0, 0]], np.eye(2)[[1, 1]]
    nobody = np.empty(0, dtype=np.intp)
    assert (updates.match_confidence(G, T, np.arange(2), nobody) == 0).all()


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2, 10])
def test_view_weights_minimise_their_subproblem(rng, alpha):
    errors = rng.uniform(0.5, 3, size=4)
    phi = updates.update_view_weights(errors, alpha)
    np.testing.assert_allclose(phi.sum(), 1)
    others = rng.dirichlet(np.ones(4), size=2000)
    assert (phi**alpha @ errors <= others**alpha @ errors + 1e-12).all()


@pytest.mark.parametrize("errors", [(1e-300, 1.0), (1e300, 1e-300), (0.0, 1.0), (0, 0)])
def test_view_weights_survive_extreme_errors(errors):
    phi = updates.update_view_weights(np.array(errors), 1.01)
    assert np.isfinite(phi).all()
    np.testing.assert_allclose(phi.sum(), 1)


def test_fused_graph_is_the_mean_of_aligned_rows(monkeypatch, rng):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)  # blocks of 64 rows
    Gs = [simplex_rows(rng, 150, 2) for _ in range(2)]
    permutations = [np.arange(150), rng.permutation(150)]
    fused = updates.fuse_graphs(Gs, permutations)
    for s in range(150):
        np.testing.assert_allclose(fused[s], (Gs[0][s] + Gs[1][permutations[1][s]]) / 2)
