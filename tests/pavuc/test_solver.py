"""The loop of Algorithm 1: which step is taken, and when it ends."""

from itertools import islice
from types import SimpleNamespace

import pytest

from unaligned.kernels.devices import Cores
from unaligned.pavuc import solver

PROBLEM = SimpleNamespace(device=Cores())


def at(objective):
    return SimpleNamespace(objective=objective)


@pytest.fixture
def steps(monkeypatch):
    """Names of the steps taken; objectives to come are put into ``to_come``."""
    taken = SimpleNamespace(names=[], to_come=iter(()))

    def step(name):
        def iterate(problem, state):
            taken.names.append(name)
            return at(next(taken.to_come))

        return iterate

    monkeypatch.setattr(solver, "one_iteration", step("plain"))
    monkeypatch.setattr(solver, "guarded_iteration", step("guarded"))
    return taken


def trace(steps, to_come, **options):
    """Objectives that come out, and whether each has converged."""
    steps.to_come = iter(to_come)
    options = {"tol": 0, "safeguard": False, **options}
    found = solver.solve(PROBLEM, at(9.0), **options)
    objectives, converged = zip(
        *((state.objective, done) for state, done in islice(found, len(to_come))),
        strict=True,
    )
    return list(objectives), list(converged)


def test_only_the_start_is_not_guarded(steps):
    trace(steps, [8, 7, 6], safeguard=True)
    assert steps.names == ["plain", "guarded", "guarded"]


def test_a_fit_that_goes_on_is_guarded_at_once(steps):
    trace(steps, [8, 7], safeguard=True, n_iter=2)
    assert steps.names == ["guarded", "guarded"]


def test_without_safeguard_no_step_is_guarded_and_the_objective_may_rise(steps):
    assert trace(steps, [8, 10, 7])[0] == [8, 10, 7]
    assert steps.names == ["plain"] * 3


def test_it_converges_from_the_third_iteration_on(steps):
    assert trace(steps, [8, 7, 6, 5], tol=1)[1] == [False, False, True, True]
    assert trace(steps, [8, 7], tol=1, n_iter=2)[1] == [True, True]
    assert trace(steps, [8, 7], tol=1, n_iter=1)[1] == [False, True]


def test_the_change_is_measured_by_the_value_before(steps):
    # 1 of 100 is a change of 0.01, up or down, whatever the sign.
    for before, after in [(100, 99), (100, 101), (-100, -99)]:
        objectives = [before, before, after]
        assert trace(steps, objectives, tol=0.011)[1][-1]
        assert not trace(steps, objectives, tol=0.009)[1][-1]


def test_no_change_at_all_is_the_end_even_without_tolerance(steps):
    assert trace(steps, [8, 7, 7], tol=0)[1] == [False, False, True]


def test_a_guarded_step_that_rises_is_not_taken(steps):
    # Whatever the guard could not prevent is rounding.
    assert trace(steps, [8, 8.5], safeguard=True) == ([8, 8], [False, True])
    # A step that changes nothing is one like any other.
    assert trace(steps, [8, 8], safeguard=True) == ([8, 8], [False, False])
    # The first step starts where no constraint holds, and may rise.
    assert trace(steps, [10, 8], safeguard=True) == ([10, 8], [False, False])
