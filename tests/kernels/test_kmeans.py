"""k-means on a device is as good as scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from unaligned.kernels import kmeans
from unaligned.kernels.kmeans import cluster_on_device

pytestmark = pytest.mark.heavy


def cluster(points, k, **options):
    torch = pytest.importorskip("torch")
    options = {"n_init": 10, "max_iter": 200, "seed": 0, **options}
    labels, centers = cluster_on_device(torch.tensor(points), k, **options)
    return labels.numpy(), centers.numpy()


def inertia(points, labels, centers):
    return float(np.sum((points - centers[labels]) ** 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_good_as_scikit_learn(dtype):
    points = load_digits().data.astype(dtype)
    labels, centers = cluster(points, 10)
    assert centers.dtype == dtype
    other = KMeans(10, n_init=10, max_iter=200, random_state=0).fit(points)
    assert inertia(points, labels, centers) <= 1.002 * other.inertia_


def test_each_point_is_with_its_nearest_centre():
    points = np.random.default_rng(0).normal(size=(300, 4))
    labels, centers = cluster(points, 7, n_init=2)
    distances = ((points[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))


def test_groups_far_apart_are_found():
    rng = np.random.default_rng(1)
    y = np.arange(200) % 8
    points = 50 * rng.normal(size=(8, 3))[y] + rng.normal(size=(200, 3))
    labels, _ = cluster(points, 8)
    assert len({*zip(labels, y, strict=True)}) == 8


def test_a_seed_gives_the_same_and_restarts_may_take_turns(monkeypatch):
    points = np.random.default_rng(2).normal(size=(100, 3))
    one, other = cluster(points, 5), cluster(points, 5)
    np.testing.assert_array_equal(one[0], other[0])
    monkeypatch.setattr(kmeans, "MOST_DISTANCES", 1)
    in_turn = cluster(points, 5)
    assert inertia(points, *in_turn) <= 1.05 * inertia(points, *one)


def test_starts_are_the_best_of_the_rows_drawn():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    points, draws = rng.normal(size=(40, 2)), rng.uniform(size=(5, 2, 3))
    found = kmeans._plus_plus(torch.tensor(points), draws).numpy()
    square_distances = ((points[:, None] - points) ** 2).sum(axis=2)
    for restart in range(2):
        chosen = [int(draws[0, restart, 0] * 40)]
        for draw in draws[1:, restart]:
            nearest = square_distances[chosen].min(axis=0)
            # A row is drawn as often as it is far away, squared.
            rows = np.searchsorted(nearest.cumsum(), draw * nearest.sum())
            left = [np.minimum(nearest, square_distances[row]).sum() for row in rows]
            chosen.append(rows[np.argmin(left)])
        np.testing.assert_allclose(found[restart], points[chosen])


def test_fewer_distinct_points_than_clusters():
    points = np.repeat(np.eye(3), 20, axis=0)
    labels, centers = cluster(points, 5)
    assert inertia(points, labels, centers) == 0
    assert np.isfinite(centers).all()


def test_an_empty_cluster_starts_again(monkeypatch):
    torch = pytest.importorskip("torch")
    points = np.array([[0.0], [0.1], [10.0], [10.1]])
    far_away = torch.tensor([[[0.05], [500.0]]], dtype=torch.float64)
    monkeypatch.setattr(kmeans, "_plus_plus", lambda points, draws: far_away)
    labels, _ = cluster(points, 2, n_init=1)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    # Its first step takes it to a point that is far from its own centre.
    _, centers = cluster(points, 2, n_init=1, max_iter=1)
    assert centers[1] in points[2:]
