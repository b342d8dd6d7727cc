"""k-means on a device of torch, all restarts side by side."""

from typing import Any

import numpy as np

__all__ = ["cluster_on_device"]

MOST_DISTANCES = 2**27  # held at the same time: half a gigabyte of float32
STILL = 1e-4  # centres that move by less than this share of the variance stand still


def cluster_on_device(
    points: Any, n_clusters: int, *, n_init: int, max_iter: int, seed: int
) -> tuple[Any, Any]:
    """Cluster the rows of a tensor by Lloyd's k-means.

    Greedy k-means++ starts, the same stopping rule and the same care for empty clusters
    as in scikit-learn's KMeans. Random numbers are drawn on the host, so a seed means
    the same on every device.

    Parameters
    ----------
    points : tensor of shape (n, d)
    n_clusters : int
    n_init : int
        Restarts, of which the one with the smallest inertia is kept.
    max_iter : int
    seed : int

    Returns
    -------
    labels : tensor of shape (n,)
    centers : tensor of shape (n_clusters, d)
    """
    rng = np.random.RandomState(seed)
    n_trials = 2 + int(np.log(n_clusters))  # candidates for each new centre
    per_restart = len(points) * max(n_clusters, n_trials)
    at_once = max(1, min(n_init, MOST_DISTANCES // per_restart))
    best: tuple[float, Any, Any] | None = None
    for first in range(0, n_init, at_once):
        n_restarts = min(at_once, n_init - first)
        draws = rng.uniform(size=(n_clusters, n_restarts, n_trials))
        found = _lloyd(points, _plus_plus(points, draws), max_iter)
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None  # n_init is at least 1
    return best[1], best[2]


def _plus_plus(points: Any, draws: Any) -> Any:
    """Greedy k-means++: of a few rows drawn far from all centres, keep the best.

    ``draws`` are uniform and have the shape (centres, restarts, candidates); what comes
    back has (restarts, centres, columns).
    """
    import torch

    draws = torch.tensor(draws, device=points.device)
    restarts = torch.arange(draws.shape[1], device=points.device)
    squares = (points * points).sum(dim=1)
    chosen = [(draws[0, :, 0] * len(points)).long()]
    nearest = _square_distances(points, squares, chosen[0])
    for draw in draws[1:]:
        heights = nearest.cumsum(dim=1, dtype=torch.float64)
        drawn = torch.searchsorted(heights, draw * heights[:, -1:])
        drawn = drawn.clamp(max=len(points) - 1)
        nearer = torch.minimum(
            nearest[:, None], _square_distances(points, squares, drawn)
        )
        winner = nearer.sum(dim=2).argmin(dim=1)
        nearest = nearer[restarts, winner]
        chosen.append(drawn[restarts, winner])
    return points[torch.stack(chosen, dim=1)]


def _square_distances(points: Any, squares: Any, rows: Any) -> Any:
    """From some rows to all points: the shape of ``rows``, and one more axis."""
    products = points[rows] @ points.T
    return (squares[rows][..., None] - 2 * products + squares).clamp(min=0)


def _lloyd(points: Any, centers: Any, max_iter: int) -> tuple[float, Any, Any]:
    """Move the centres of every restart; inertia, labels and centres of the best."""
    import torch

    n_clusters, squares = centers.shape[1], (points * points).sum(dim=1)
    still = STILL * float(points.var(dim=0, correction=0).mean())
    numbers = torch.arange(n_clusters, device=points.device)
    labels = None
    for _ in range(max_iter):
        before, (labels, closeness) = labels, _assign(points, centers)
        if before is not None and bool((labels == before).all()):
            break
        # One product for all restarts: a GPU shares out the rows of one, not of many.
        members = (labels.mT[..., None] == numbers).to(points.dtype)
        sizes = members.sum(dim=0)[..., None]
        sums = (members.reshape(len(points), -1).mT @ points).reshape(centers.shape)
        moved = sums / sizes.clamp(min=1)
        if bool((sizes == 0).any()):
            # An empty cluster starts again at a point that is far from its centre.
            far = (2 * closeness - squares).argsort(dim=1)[:, :n_clusters]
            moved = torch.where(sizes == 0, points[far], moved)
        shift = ((moved - centers) ** 2).sum(dim=(1, 2))
        centers = moved
        if bool((shift <= still).all()):
            break
    labels, closeness = _assign(points, centers)
    inertia = -2 * closeness.sum(dim=1, dtype=torch.float64)  # less Σ|x|²
    best = int(inertia.argmin())
    return float(inertia[best]), labels[best], centers[best]


def _assign(points: Any, centers: Any) -> tuple[Any, Any]:
    """Nearest centre of every point, and x·c − |c|²/2, which is largest there."""
    lengths = (centers * centers).sum(dim=2)[:, None, :]
    closeness, labels = (points @ centers.mT - lengths / 2).max(dim=2)
    return labels, closeness
