"""A fit in a process of its own, to be stopped: ``python long_fit.py CHECKPOINT``."""

import sys
import time

import numpy as np

from unaligned import PAVuC, checkpoints
from unaligned.pavuc import solver


def views():
    rng = np.random.RandomState(0)
    return [rng.normal(size=(400, d)) for d in (6, 4)]


def model(checkpoint, **parameters):
    settings = {"max_iter": 199, "tol": 0, "n_init": 1, "random_state": 0}
    return PAVuC(3, checkpoint=checkpoint, **settings | parameters)


def slowly(problem, state, step=solver.one_iteration):
    time.sleep(0.05)
    return step(problem, state)


if __name__ == "__main__":
    checkpoints.SHARE_FOR_WRITING = np.inf
    solver.one_iteration = slowly
    try:
        model(sys.argv[1], verbose=1).fit(views())
    finally:
        print("cleaned up")  # noqa: T201
