"""Two views in clusters, of which a share of the rows have no partner."""

import numpy as np


def partly_shared(n=400, unmatched=0.3, widths=(24, 30), noise=0.1, seed=0):
    """Views of n rows, and the row of the second that belongs to each, -1: none."""
    rng = np.random.RandomState(seed)
    n_apart = round(unmatched * n)
    total = n + n_apart
    kind = rng.choice(5, total, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    latent = 2 * rng.normal(size=(5, 10))[kind] + rng.gamma(0.5, size=(total, 10))
    Xs, objects = [], [rng.permutation(n), n_apart + rng.permutation(n)]
    for d, at in zip(widths, objects, strict=True):
        X = latent @ rng.normal(size=(10, d))
        Xs.append((X + noise * rng.normal(size=X.shape))[at].astype(np.float32))
    row_of = np.full(total, -1)
    row_of[objects[1]] = np.arange(n)
    return Xs, row_of[objects[0]]


def paired_rows(n=3000, unmatched=0.3, d=12, noise=0.15, seed=0):
    """Rows of unit variance in two views, one rotated, and who belongs to whom."""
    rng = np.random.RandomState(seed)
    n_apart = round(unmatched * n)
    latent = rng.normal(size=(n + n_apart, d))
    latent += 2 * rng.normal(size=(6, d))[rng.randint(6, size=len(latent))]
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    objects = [rng.permutation(n), n_apart + rng.permutation(n)]
    one, other = (latent[at] + noise * rng.normal(size=(n, d)) for at in objects)
    row_of = np.full(n + n_apart, -1)
    row_of[objects[1]] = np.arange(n)
    other = other @ turn
    return one.astype(np.float32), other.astype(np.float32), row_of[objects[0]]
