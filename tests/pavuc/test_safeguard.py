"""With the safeguard the objective never rises, whatever the views."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from unaligned import PAVuC
from unaligned.kernels.devices import Cores
from unaligned.kernels.procrustes import polar_factor
from unaligned.pavuc import solver
from unaligned.pavuc.safeguard import shortened_step


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


def test_a_step_is_as_long_as_it_may_be():
    rng = np.random.RandomState(0)
    start, target = polar_factor(rng.normal(size=(5, 2))), rng.normal(size=(5, 2))
    full = polar_factor(target)

    def towards(goal):
        return lambda Z: float(np.sum((Z - goal) ** 2))

    np.testing.assert_allclose(shortened_step(start, target, towards(full)), full)
    np.testing.assert_array_equal(shortened_step(start, target, towards(start)), start)


@pytest.mark.parametrize(
    ("n_before", "steps", "settled"),
    [
        (0, ["plain", "guarded", "guarded"], [False, False, True]),
        (2, ["guarded", "guarded", "guarded"], [True, True, True]),
    ],
)
def test_only_the_start_is_not_guarded(n_before, steps, settled, monkeypatch):
    done = []

    def step(name):
        def iterate(problem, state):
            done.append(name)
            return SimpleNamespace(objective=state.objective - 1)

        return iterate

    monkeypatch.setattr(solver, "one_iteration", step("plain"))
    monkeypatch.setattr(solver, "guarded_iteration", step("guarded"))
    problem, start = SimpleNamespace(device=Cores()), SimpleNamespace(objective=9.0)
    asked = {} if n_before == 0 else {"n_iter": n_before}
    iterates = solver.solve(problem, start, tol=1, safeguard=True, **asked)
    assert [next(iterates)[1] for _ in range(3)] == settled
    assert done == steps
