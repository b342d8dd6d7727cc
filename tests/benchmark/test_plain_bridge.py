import numpy as np
import pytest
from sklearn.linear_model import Ridge

from unaligned.benchmark.plain_bridge import PlainBridge, plain_rows
from unaligned.known_pairs import KnownPairs
from unaligned.metrics import clustering_accuracy
from unaligned.savuc.bridge_regression import fit_ridge
from unaligned.savuc.geometry import read_geometry


def two_views(n=90):
    draw = np.random.RandomState(0)
    y = np.arange(n) % 3
    latent = 3 * np.eye(3)[y] + draw.normal(size=(n, 3)) / 3
    return [latent @ draw.normal(size=(3, 8)) for _ in range(2)], y


def test_rows_are_own_known_and_estimated_coordinates():
    Xs, _ = two_views()
    geometries = [read_geometry(X, 50, np.random.RandomState(0)) for X in Xs]
    P, S = (geometry.points.astype(np.float64) for geometry in geometries)
    known = np.where(np.arange(90) < 30, np.arange(90), -1)
    first, second = plain_rows(geometries, KnownPairs([known, known]))
    np.testing.assert_allclose(first[:, : P.shape[1]], P, atol=1e-6)
    np.testing.assert_allclose(first[:30], second[:30], atol=1e-6)
    share = fit_ridge(P[:30], S[:30]).penalty
    penalty = share * ((P[:30] - P[:30].mean(axis=0)) ** 2).sum(axis=0).mean()
    expected = Ridge(alpha=penalty).fit(P[:30], S[:30]).predict(P[30:])
    np.testing.assert_allclose(first[30:, P.shape[1] :], expected, atol=1e-4)


@pytest.mark.parametrize(("aligned", "least"), [(None, 0.0), (30, 0.95), ("all", 0.95)])
def test_clusters_have_one_naming_where_pairs_are_known(aligned, least):
    Xs, y = two_views()
    labels = PlainBridge(3, random_state=0).fit(Xs, aligned=aligned).view_labels_
    assert [len(found) for found in labels] == [90, 90]
    assert clustering_accuracy(np.tile(y, 2), np.concatenate(labels)) >= least
