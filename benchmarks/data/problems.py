"""Matching problems of every kind: ties, near-ties, duplicates, one-hot and dense.

The exact answer is the literal one: each row in turn, the largest score in float64, the
smallest column among equals. `unaligned` has to find it to the last row.
"""

import numpy as np
from numba import njit


def normalised(points):
    """Rows of sum one, where they have any."""
    mass = points.sum(axis=1, keepdims=True)
    return points / np.where(mass > 0, mass, 1.0)


def one_hot(rng, n, m):
    """All weight on one coordinate."""
    return np.eye(m)[rng.integers(m, size=n)]


def sparse(rng, n, m):
    """Two coordinates, more or less."""
    points = rng.random((n, m)) * (rng.random((n, m)) < min(1.0, 2.0 / m))
    return normalised(points)


def mixed(rng, n, m):
    """Half one-hot, half sparse: what a fit produces."""
    return np.where(rng.random((n, 1)) < 0.5, one_hot(rng, n, m), sparse(rng, n, m))


def duplicates(rng, n, m):
    """Every point ten times."""
    return mixed(rng, 1 + n // 10, m)[rng.integers(1 + n // 10, size=n)]


def eighths(rng, n, m):
    """Exact arithmetic, and so masses of exact ties."""
    return rng.multinomial(8, np.full(m, 1 / m), size=n) / 8


def nearly_one_hot(rng, n, m):
    """Scores that differ by a rounding, or not at all."""
    noise = rng.random((n, m)) * 10.0 ** rng.integers(-18, -14, size=(n, m))
    points = one_hot(rng, n, m) * (1.0 - noise) + noise * (rng.random((n, m)) < 0.5)
    return points


def one_bit_apart(rng, n, m):
    """Dense columns that differ in their last bits: near-ties everywhere."""
    base = rng.dirichlet(np.ones(m), size=3)[rng.integers(3, size=n)]
    return base * (1.0 + rng.integers(-2, 3, size=(n, m)) * np.finfo(float).eps)


KINDS = {
    "dirichlet": lambda rng, n, m: rng.dirichlet(np.ones(m), size=n),
    "peaked": lambda rng, n, m: rng.dirichlet(np.full(m, 0.2), size=n),
    "one hot": one_hot,
    "sparse": sparse,
    "mixed": mixed,
    "duplicates": duplicates,
    "eighths": eighths,
    "nearly one hot": nearly_one_hot,
    "one bit apart": one_bit_apart,
    "not on the simplex": lambda rng, n, m: sparse(rng, n, m) * rng.random((n, 1)) * 50,
    "all scales": lambda rng, n, m: (
        mixed(rng, n, m) * 10.0 ** rng.integers(-160, 30, size=(n, 1))
    ),
    # Products with a bit or two left: an order of summation is worth half the score.
    "underflowing": lambda rng, n, m: rng.dirichlet(np.ones(m), size=n) * 1e-161,
    "mostly nothing": lambda rng, n, m: mixed(rng, n, m) * (rng.random((n, 1)) < 0.3),
}


def problem(rng, largest=60):
    """Draw rows, columns (of another kind, sometimes) and an order."""
    n = int(rng.integers(1, largest + 1))
    n_columns = n + int(rng.integers(0, 3)) * int(rng.integers(0, 30))
    m = int(rng.integers(1, 13)) if rng.random() < 0.8 else int(rng.integers(13, 41))
    kind_of_rows, kind_of_columns = rng.choice(list(KINDS), size=2)
    if rng.random() < 0.6:
        kind_of_columns = kind_of_rows
    rows = KINDS[kind_of_rows](rng, n, m)
    columns = KINDS[kind_of_columns](rng, n_columns, m)
    if rng.random() < 0.25:
        with np.errstate(under="ignore"):
            rows, columns = rows.astype(np.float32), columns.astype(np.float32)
    return rows, columns, rng.permutation(n)


@njit(fastmath={"contract"})
def fused_scores(rows, columns):
    """Table of scores: a chain of fused multiply-adds over ascending coordinates."""
    table = np.empty((len(rows), len(columns)))
    for row in range(len(rows)):
        for column in range(len(columns)):
            total = 0.0
            for h in range(rows.shape[1]):
                total += rows[row, h] * columns[column, h]
            table[row, column] = total
    return table


def literal(scores, order):
    """Greedy matching on a table of scores, as one would write it down."""
    scores = scores.copy()
    column_of_row = np.full(len(scores), -1)
    for row in order:
        column = int(np.argmax(scores[row]))
        column_of_row[row] = column
        scores[:, column] = -np.inf
    return column_of_row


@njit(fastmath={"contract"})
def literal_loop(rows, columns, order):
    """Do the same without a table, compiled: the yardstick for large problems."""
    taken = np.zeros(len(columns), np.bool_)
    column_of_row = np.full(len(rows), -1)
    for row in order:
        best, chosen = -np.inf, -1
        for column in range(len(columns)):
            if not taken[column]:
                score = 0.0
                for h in range(rows.shape[1]):
                    score += rows[row, h] * columns[column, h]
                if score > best:
                    best, chosen = score, column
        column_of_row[row] = chosen
        taken[chosen] = True
    return column_of_row
