"""A general solver for what the library computes in closed form."""

import numpy as np
from scipy.optimize import minimize


def over_simplex(cost, m):
    """Minimise a function of m non-negative numbers that add up to one."""
    solved = minimize(
        cost,
        np.full(m, 1 / m),
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return solved.x
