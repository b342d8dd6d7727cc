"""With the safeguard the objective never rises, whatever the views."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from small_problems import N, best_row, made_problem, made_state

from unaligned import PAVuC
from unaligned.pavuc import safeguard
from unaligned.pavuc.iteration import one_iteration
from unaligned.pavuc.safeguard import (
    careful_iteration,
    lower_anchors,
    lower_projection,
    shortened_step,
)


def fit_guarded(Xs, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PAVuC(safeguard=True, n_init=1, random_state=0, **parameters).fit(Xs)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**16),
    widths=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    n=st.integers(4, 30),
    n_anchors=st.integers(1, 12),
    latent_dim=st.integers(1, 6),
    alpha=st.sampled_from([1.1, 1.5, 2.0, 5.0]),
    mu=st.sampled_from([0.0, 1e-3, 0.1, 10.0]),
    matching=st.sampled_from(["greedy", "optimal"]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_objective_never_rises(
    seed, widths, n, n_anchors, latent_dim, alpha, mu, matching, scale, dtype
):
    rng = np.random.RandomState(seed)
    Xs = [(scale * rng.normal(size=(n, d))).astype(dtype) for d in widths]
    model = fit_guarded(
        Xs,
        n_clusters=2,
        n_anchors=n_anchors,
        latent_dim=latent_dim,
        alpha=alpha,
        mu=mu,
        matching=matching,
        max_iter=25,
    )
    assert np.isfinite(model.objective_).all()
    assert (np.diff(model.objective_) <= 0).all()


def test_the_paper_alone_does_rise():
    # Otherwise the test above would say nothing.
    rng = np.random.RandomState(0)
    Xs = [rng.normal(size=(40, d)) for d in (6, 9, 4)]
    with pytest.warns(ConvergenceWarning):
        free = PAVuC(3, n_init=1, random_state=0).fit(Xs)
    assert (np.diff(free.objective_) > 0).any()
    assert (np.diff(fit_guarded(Xs, n_clusters=3).objective_) <= 0).all()


def test_the_template_still_changes(blobs):
    Xs, _ = blobs
    Xs = [10 * Xs[0], Xs[1], 0.01 * Xs[2]]  # the last has by far the smallest error
    assert fit_guarded(Xs, n_clusters=3, mu=1e-3).template_ == 2


def polar(Z):
    """Nearest matrix with orthonormal columns, or rows where it is wide."""
    left, _, right = np.linalg.svd(Z, full_matrices=False)
    return left @ right


def longest_step(start, target, surrogate):
    """The longest of the steps tried that does not raise the surrogate."""
    for share in (1, 1 / 2, 1 / 4, 1 / 8, 1 / 16):
        candidate = polar(share * polar(target) + (1 - share) * start)
        if surrogate(candidate) <= surrogate(start):
            return candidate, share
    return start, 0


def test_a_step_is_as_long_as_it_may_be():
    rng = np.random.RandomState(0)
    start, target = polar(rng.normal(size=(5, 2))), rng.normal(size=(5, 2))
    full = polar(target)

    def towards(goal):
        return lambda Z: float(np.sum((Z - goal) ** 2))

    assert_allclose(shortened_step(start, target, towards(full)), full)
    assert_array_equal(shortened_step(start, target, towards(start)), start)
    assert_allclose(shortened_step(start, target, lambda Z: 0.0), full)
    for share in (1 / 2, 1 / 4, 1 / 8):
        goal = polar(share * full + (1 - share) * start)

        def only_there(Z, goal=goal):
            return float(Z is not start and not np.allclose(Z, goal))

        assert_allclose(shortened_step(start, target, only_there), goal)


@pytest.mark.parametrize("which", ["projection", "anchors"])
def test_steps_do_not_raise_the_weighted_squares(which):
    """Against Λ as a matrix, over steps of full length, shorter ones and none."""
    lengths = set()
    for seed in range(60):
        rng = np.random.RandomState(seed)
        X = rng.choice([0.1, 1, 3]) * rng.normal(size=(12, 5))
        weights, G = rng.uniform(size=12), rng.dirichlet(np.ones(4), size=12)
        Q, A = polar(rng.normal(size=(5, 2))), polar(rng.normal(size=(4, 2)))
        L, strength = np.diag(weights), rng.uniform(0.1, 2)
        if which == "projection":
            start, target = Q, X.T @ L @ G @ A
            found = lower_projection(X, weights, target, Q)

            def squares(Q, X=X, L=L, target=target):
                return np.trace(Q.T @ X.T @ L @ X @ Q) - 2 * np.trace(Q.T @ target)
        else:
            # A graph in two views counts with the sum of what the views count.
            moments, shares = X.T @ L @ G, [0.3 * strength, 0.7 * strength]
            start, target = A, strength * moments.T @ Q
            state = SimpleNamespace(anchors=A, graphs=[G, G], moments=[moments] * 2)
            found = lower_anchors(state, np.array(shares), [weights] * 2, [Q, Q])

            def squares(A, G=G, L=strength * L, target=target):
                return np.trace(A.T @ G.T @ L @ G @ A) - 2 * np.trace(A.T @ target)

        expected, share = longest_step(start, target, squares)
        assert_allclose(found, expected, atol=1e-10)
        lengths.add(share)
    assert {0, 1} < lengths


@pytest.mark.parametrize(("n_anchors", "latent_dim"), [(3, 4), (4, 2)])
def test_a_careful_iteration_moves_the_views_and_then_the_template(
    n_anchors, latent_dim
):
    problem = made_problem()
    start, _ = made_state(problem, n_anchors, latent_dim)
    before = one_iteration(problem, one_iteration(problem, start))
    t = 1
    rows = [np.arange(N) if i == t else p for i, p in enumerate(before.permutations)]
    after = careful_iteration(problem, before, t, rows)

    strengths, A = before.weights**1.5, after.anchors
    places = [np.argsort(p) for p in rows]
    for i, X in enumerate(problem.views):
        force = strengths[i] * 0.5 / before.residuals[i]
        for j in range(N):
            if i == t:
                partners = [after.graphs[k][rows[k][j]] for k in (0, 2)]
            else:
                partners = [before.graphs[t][places[i][j]]]
            latent, previous = X[j] @ after.projections[i], before.graphs[i][j]
            expected = best_row(latent, A, force[j], partners, problem.mu, previous)
            assert_allclose(after.graphs[i][j], expected, atol=1e-6)

    views = zip(problem.views, after.projections, after.graphs, strict=True)
    errors = [np.linalg.norm(X @ Q - G @ A, axis=1).sum() for X, Q, G in views]
    apart = [
        np.sum((after.graphs[i][after.permutations[i]] - after.graphs[t]) ** 2)
        for i in (0, 2)
    ]
    assert_allclose(after.objective, strengths @ errors + problem.mu * sum(apart))
    phi = np.array(errors) ** (1 / (1 - 1.5))
    assert_allclose(after.weights, phi / phi.sum())
    assert after.template == t


def test_without_pull_nobody_asks_for_partners_here_either(monkeypatch):
    monkeypatch.delattr(safeguard, "partner_rows")
    problem = made_problem(mu=0)
    state = one_iteration(problem, made_state(problem)[0])
    after = careful_iteration(problem, state, 0, state.permutations)
    assert after.objective <= state.objective


def test_a_permutation_changes_only_for_a_gain(monkeypatch):
    rng = np.random.RandomState(0)
    G = rng.dirichlet(np.ones(3), size=N)
    G[1] = G[0]  # which of the two stands where makes no difference
    same, shifted = np.arange(N), np.roll(np.arange(N), 1)
    swapped = same.copy()
    swapped[:2] = 1, 0
    old = [shifted, same, swapped, same]
    new = [same, shifted, same, same]
    monkeypatch.setattr(safeguard, "update_permutations", lambda *_: new)
    kept = safeguard.better_permutations(None, [G] * 4, old, template=3)
    for found, expected in zip(kept, [same, same, swapped, same], strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("paper", "careful", "calls"),
    [
        # (objective, template) of the paper's step; objectives of careful ones; theirs
        ((5.0, 1), [], []),
        ((6.0, 0), [4.0], [0]),
        ((6.0, 1), [5.0], [1]),
        ((6.0, 1), [6.0, 4.0], [1, 0]),
    ],
)
def test_the_papers_own_step_stands_where_it_does_no_harm(
    monkeypatch, paper, careful, calls
):
    problem = made_problem()
    state, _ = made_state(problem)
    state = state._replace(
        permutations=[np.random.RandomState(i).permutation(N) for i in range(3)],
        objective=5.0,
    )
    state.permutations[0] = np.arange(N)
    made, called = iter(careful), []

    def careful_step(problem, state, template, permutations):
        called.append(template)
        assert_array_equal(permutations[template], np.arange(N))
        # Whoever stood side by side still does.
        for row in zip(*permutations, strict=True):
            assert row in set(zip(*state.permutations, strict=True))
        return state._replace(objective=next(made), template=template)

    step = state._replace(objective=paper[0], template=paper[1])
    monkeypatch.setattr(safeguard, "one_iteration", lambda *_: step)
    monkeypatch.setattr(safeguard, "careful_iteration", careful_step)
    found = safeguard.guarded_iteration(problem, state)
    assert called == calls
    assert (found.objective, found.template) == (
        (careful[-1], calls[-1]) if calls else paper
    )
