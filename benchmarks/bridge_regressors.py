"""Regressions from view to view that the bridge was chosen from."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsRegressor

from unaligned.kernels.scaling import unit_rows
from unaligned.savuc.bridge_regression import fit_ridge


def by_ridge(X, Y, new):
    """Ridge regression with a penalty from rows left out."""
    return fit_ridge(X, Y).predict(new)


def by_kernel(X, Y, new):
    """Kernel ridge (RBF, median width), penalty by held-out fifths."""
    X, new = unit_rows(X), unit_rows(new)
    gamma = 1 / max(
        np.median(((X[:, None, :10] - X[None, :300, :10]) ** 2).sum(-1)), 1e-9
    )
    fold, center = np.arange(len(X)) % 5, Y.mean(axis=0)

    def fit(rows, penalty):
        model = KernelRidge(alpha=penalty, kernel="rbf", gamma=gamma)
        return model.fit(X[rows], Y[rows] - center)

    def error(penalty):
        held_out = [
            Y[fold == f] - center - fit(fold != f, penalty).predict(X[fold == f])
            for f in range(5)
        ]
        return (np.vstack(held_out) ** 2).sum()

    best = min((0.01, 0.1, 1.0, 10.0), key=error)
    return fit(np.ones(len(X), dtype=bool), best).predict(new) + center


def by_neighbors(X, Y, new):
    """Mean of ten nearest neighbours by cosine."""
    model = KNeighborsRegressor(min(10, len(X)))
    return model.fit(unit_rows(X), Y).predict(unit_rows(new))


def by_reduced_rank(X, Y, new):
    """Ridge regression, cut to the ten leading directions of what it fits."""
    fit = fit_ridge(X, Y)
    fitted = fit.predict(X)
    center = fitted.mean(axis=0)
    right = np.linalg.svd(fitted - center, full_matrices=False)[2][:10]
    return (fit.predict(new) - center) @ right.T @ right + center


def by_canonical(X, Y, new):
    """Canonical correlations of whitened views, shrunk by their own size."""
    mean_x, mean_y = X.mean(axis=0), Y.mean(axis=0)
    ways = []
    for A in (X - mean_x, Y - mean_y):
        values, vectors = np.linalg.eigh(A.T @ A / len(A))
        ways.append(vectors / np.sqrt(values + max(values.mean(), 1e-12)))
    U, V = (X - mean_x) @ ways[0], (Y - mean_y) @ ways[1]
    left, correlations, _ = np.linalg.svd(U.T @ V / len(X), full_matrices=False)
    scores = (new - mean_x) @ ways[0] @ left
    return fit_ridge(U @ left * correlations, Y).predict(scores * correlations)


REGRESSORS = {
    "ridge": by_ridge,
    "ridge, all features": by_ridge,
    "kernel ridge": by_kernel,
    "ten neighbours": by_neighbors,
    "reduced rank": by_reduced_rank,
    "canonical": by_canonical,
}
