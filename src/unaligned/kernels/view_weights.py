"""How much each view counts, from how badly it is explained."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["power_weights"]


def power_weights(errors: NDArray[Any], exponent: float) -> NDArray[np.float64]:
    """Minimise ``Σ φ_i^exponent ε_i`` over the simplex: φ_i ∝ ε_i^(1/(1−exponent)).

    Computed through logarithms, so that nothing overflows.

    Parameters
    ----------
    errors : ndarray of shape (v,)
        Non-negative.
    exponent : float
        Above 1: towards 1 the smallest error takes all, large values weigh all alike.

    Returns
    -------
    ndarray of shape (v,)

    Examples
    --------
    >>> import numpy as np
    >>> power_weights(np.array([1.0, 3.0]), exponent=2)
    array([0.75, 0.25])
    """
    floor = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(errors, floor)) / (1 - exponent)
    weights = np.exp(logs - logs.max())
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised
