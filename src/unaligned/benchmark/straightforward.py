"""PAVuC-ATS as one writes it down first: the yardstick for speed and exactness.

Plain NumPy in the paper's orientation (samples are columns), a dense n × n score, one
argmax per row, and two passes over every view per iteration.
"""

import numpy as np

__all__ = ["objective_trace"]


def objective_trace(Xs, A, G, *, mu, alpha, n_iter):
    """Objective after every iteration, from anchors ``A`` and one graph ``G``."""
    Xs = [X.T for X in Xs]
    v, n = len(Xs), Xs[0].shape[1]
    Gs, lams = [G.copy() for _ in Xs], [np.ones(n) for _ in Xs]
    perms, phi, trace = [np.arange(n) for _ in Xs], np.full(v, 1 / v), []
    orders = [np.argsort(-np.var(X, axis=0, ddof=1), kind="stable") for X in Xs]
    for _ in range(n_iter):
        t, strength = int(np.argmax(phi)), phi**alpha
        Qs = [
            polar(X * lam @ G.T @ A.T).T for X, lam, G in zip(Xs, lams, Gs, strict=True)
        ]
        A = polar(
            sum(
                s * Q @ (X * lam) @ G.T
                for s, Q, X, lam, G in zip(strength, Qs, Xs, lams, Gs, strict=True)
            )
        )
        new = []
        for i, (X, Q, lam) in enumerate(zip(Xs, Qs, lams, strict=True)):
            gamma = strength[i] * lam
            if i == t:
                pull = sum(Gs[j][:, perms[j]] for j in range(v) if j != t)
                h = (gamma * (A.T @ Q @ X) + mu * pull) / (gamma + mu * (v - 1))
            else:
                pull = Gs[t][:, np.argsort(perms[i])]
                h = (gamma * (A.T @ Q @ X) + mu * pull) / (gamma + mu)
            new.append(simplex_columns(h))
        Gs = new
        residuals = [
            np.linalg.norm(Q @ X - A @ G, axis=0)
            for Q, X, G in zip(Qs, Xs, Gs, strict=True)
        ]
        lams = [1 / (2 * r) for r in residuals]
        perms = [
            np.arange(n) if i == t else match(G, Gs[t], order)
            for i, (G, order) in enumerate(zip(Gs, orders, strict=True))
        ]
        errors = np.array([r.sum() for r in residuals])
        gaps = [np.sum((G[:, p] - Gs[t]) ** 2) for G, p in zip(Gs, perms, strict=True)]
        trace.append(strength @ errors + mu * sum(gaps))
        phi = errors ** (1 / (1 - alpha))
        phi /= phi.sum()
    return np.array(trace)


def polar(target):
    """Orthonormal factor by the thin SVD."""
    left, _, right = np.linalg.svd(target, full_matrices=False)
    return left @ right


def simplex_columns(h):
    """Project every column onto the simplex."""
    m = len(h)
    ordered = -np.sort(-h, axis=0)
    shift = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, m + 1)[:, None]
    last = np.count_nonzero(ordered > shift, axis=0) - 1
    return np.maximum(h - shift[last, np.arange(h.shape[1])], 0)


def match(G, T, order):
    """Greedy matching over the dense n × n score."""
    score = G.T @ T
    permutation = np.empty(len(order), dtype=int)
    for j in order:
        s = int(np.argmax(score[j]))
        permutation[s] = j
        score[:, s] = -1
    return permutation
