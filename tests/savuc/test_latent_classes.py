import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from unaligned.savuc.latent_classes import N_ROUNDS, latent_classes, memberships


def rng(seed=0):
    return np.random.RandomState(seed)


def noisy(y, k, n_partitions, share, draw):
    """Partitions that mislabel a share of the rows, each with names of its own."""
    found = []
    for _ in range(n_partitions):
        wrong = draw.uniform(size=len(y)) < share
        labels = np.where(wrong, draw.randint(k, size=len(y)), y)
        found.append(draw.permutation(k)[labels])
    return np.column_stack(found)


def by_definition(partitions, k):
    """The same model, probability by probability."""
    n, m = partitions.shape
    apart = np.array([[np.mean(p != q) for q in partitions] for p in partitions])
    labels = fcluster(linkage(squareform(apart), "average"), k, "maxclust") - 1
    posterior, last = np.eye(k)[labels], -np.inf
    for _ in range(N_ROUNDS):
        joint = np.empty((n, k))
        for c in range(k):
            size = posterior[:, c].sum()
            joint[:, c] = (size + 1) / (n + k)
            for j in range(m):
                for name in np.unique(partitions[:, j]):
                    inside = partitions[:, j] == name
                    p = (posterior[inside, c].sum() + inside.mean()) / (size + 1)
                    joint[inside, c] *= p
        posterior = joint / joint.sum(axis=1, keepdims=True)
        likelihood = np.log(joint.sum(axis=1)).mean()
        if likelihood - last < 1e-4:
            break
        last = likelihood
    return posterior.argmax(axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_em_of_the_latent_class_model(seed):
    draw = rng(seed)
    y = draw.choice(3, size=60, p=[0.7, 0.2, 0.1])
    partitions = noisy(y, 3, 4, 0.4, draw)
    expected = by_definition(partitions, 3)
    assert (latent_classes(partitions, 3) == expected).all()


@pytest.mark.parametrize("sizes", [(300, 40, 20), (120, 120, 120)])
def test_classes_of_any_size_are_found_behind_errors(sizes):
    y = np.repeat(np.arange(3), sizes)
    partitions = noisy(y, 3, 9, 0.3, rng())
    assert max(adjusted_rand_score(y, p) for p in partitions.T) < 0.8
    assert adjusted_rand_score(y, latent_classes(partitions, 3)) > 0.95


def test_a_large_class_stays_whole_that_every_partition_splits_elsewhere():
    draw, y = rng(1), np.repeat([0, 1, 2], [300, 40, 40])
    along = draw.uniform(size=len(y))
    cuts = [np.where(y == 0, 3 + (along < c), y) for c in np.linspace(0.1, 0.9, 7)]
    assert adjusted_rand_score(y, latent_classes(np.column_stack(cuts), 3)) == 1


@pytest.mark.parametrize(("n", "k"), [(2, 2), (5, 4), (9, 2)])
def test_few_rows(n, k):
    found = latent_classes(np.zeros((n, 3), dtype=np.intp), k)
    assert found.tolist() == [found[0]] * n
    labels = np.column_stack([np.arange(n) % k] * 2)
    assert adjusted_rand_score(labels[:, 0], latent_classes(labels, k)) == 1


def test_memberships_are_indicators_of_clusters_that_have_rows():
    partitions = np.array([[0, 5], [2, 5], [2, 1]])
    expected = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    assert memberships(partitions).toarray().tolist() == expected
