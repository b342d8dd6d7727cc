"""Two views of objects that they share in part, made block by block.

Objects come in clusters, with factors of falling strength around their centres. Every
view is a linear map of the factors, with noise of its own in every column. A share of
the rows of either view has no partner in the other.
"""

from typing import NamedTuple

import numpy as np

N_CLASSES = 20
N_FACTORS = 32
NOISE = 0.2  # of every column, over the standard deviation of what the factors say
UNMATCHED = 0.3  # share of the rows of either view
ROWS_AT_ONCE = 50_000


class SharedRows(NamedTuple):
    """Two views, and which object every row describes."""

    Xs: list[np.ndarray]
    objects: list[np.ndarray]
    classes: list[np.ndarray]

    def partners(self):
        """Row of the second view of the same object, -1 where there is none."""
        one, other = self.objects
        row_of = np.full(max(one.max(), other.max()) + 1, -1)
        row_of[other] = np.arange(len(other))
        return row_of[one]


def make_views(
    n, widths=(64, 64), unmatched=UNMATCHED, noise=NOISE, seed=0, allocate=None
):
    """Make two views of n rows, each in an order of its own, in float32.

    ``allocate(view, shape)`` gives the array to write a view into.
    """
    rng = np.random.default_rng(seed)
    centres = 1.5 * rng.standard_normal((N_CLASSES, N_FACTORS), dtype=np.float32)
    strengths = (np.arange(1, N_FACTORS + 1) ** -0.5).astype(np.float32)
    sizes = rng.dirichlet(np.full(N_CLASSES, 3.0))
    n_apart = round(unmatched * n)
    Xs, objects, classes = [], [], []
    for view, d in enumerate(widths):
        mixing = rng.standard_normal((N_FACTORS, d), dtype=np.float32)
        spread = np.sqrt(3.25 * (strengths**2) @ mixing**2)
        first = view * n_apart
        order = first + rng.permutation(n)
        X = np.empty((n, d), np.float32) if allocate is None else allocate(view, (n, d))
        class_of = np.empty(n, dtype=np.int8)
        place = np.empty(n, dtype=np.intp)
        place[order - first] = np.arange(n)
        # Objects are drawn in blocks of their own, so that both views see the same.
        for start in range(0, n + n_apart * len(widths), ROWS_AT_ONCE):
            z, y = factors(start, centres, strengths, sizes, seed)
            numbers = np.arange(start, start + ROWS_AT_ONCE)
            inside = (numbers >= first) & (numbers < first + n)
            if not inside.any():
                continue
            rows = place[numbers[inside] - first]
            values = z[inside] @ mixing
            own = rng.standard_normal(values.shape, dtype=np.float32)
            X[rows] = values + noise * spread * own
            class_of[rows] = y[inside]
        Xs.append(X)
        objects.append(order)
        classes.append(class_of)
    return SharedRows(Xs, objects, classes)


def factors(start, centres, strengths, sizes, seed):
    """Draw factors and classes of a block of objects."""
    rng = np.random.default_rng([seed, start])
    y = rng.choice(len(sizes), size=ROWS_AT_ONCE, p=sizes)
    own = rng.standard_normal((ROWS_AT_ONCE, N_FACTORS), dtype=np.float32)
    return strengths * (centres[y] + own), y
