"""The loop of Algorithm 1."""

from collections.abc import Iterator
from itertools import count

from unaligned.pavuc.iteration import one_iteration
from unaligned.pavuc.problem import Problem, State
from unaligned.pavuc.safeguard import guarded_iteration


def solve(
    problem: Problem, state: State, *, tol: float, safeguard: bool, n_iter: int = 0
) -> Iterator[tuple[State, bool]]:
    """Yield iterate after iterate, and whether it has converged.

    ``n_iter`` is how many iterations have led to the state.

    Line 9 of Algorithm 1 as the authors' program has it: from the third iteration on,
    an iterate has converged if the objective changed by less than ``tol`` of its value
    before.
    """
    for iteration in count(n_iter + 1):
        guarded = safeguard and iteration > 1  # the start satisfies no constraint yet
        with problem.device.busy():
            iterate = guarded_iteration if guarded else one_iteration
            following = iterate(problem, state)
        if guarded and following.objective > state.objective:
            # Rounding is all that is left to gain from: keep what we have.
            yield state, True
            continue
        change = abs(state.objective - following.objective)
        converged = iteration > 2 and change <= tol * abs(state.objective)
        state = following
        yield state, converged
