"""What linked views are clustered by; `test_bridge` tests how well."""

import numpy as np
import pytest

from unaligned.known_pairs import check_aligned
from unaligned.partitions.labeller import SMOOTHING
from unaligned.savuc import bridge_clusters as module
from unaligned.savuc.bridge import fit_bridge
from unaligned.savuc.bridge_clusters import cluster_linked
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import read_geometry
from unaligned.views import check_views


def rng(seed=0):
    return np.random.RandomState(seed)


def linked_views(n=(120, 120), n_pairs=60):
    """Two views of clusters, and a bridge of their first rows."""
    draw = rng()
    latent = 3 * np.eye(3)[np.arange(max(n)) % 3]
    latent += 0.3 * draw.normal(size=latent.shape)
    Xs = [np.tanh(latent[:m] @ draw.normal(size=(3, 12))) for m in n]
    Xs = [X + draw.normal(size=X.shape) / 10 for X in Xs]
    geometries = [read_geometry(X, 50, rng()) for X in Xs]
    rows = np.arange(n_pairs)
    pairs = check_aligned({(0, 1): np.c_[rows, rows]}, check_views(Xs))
    return fit_bridge(geometries, pairs, Settings(), rng()), Xs


@pytest.mark.parametrize(("n_pairs", "together"), [(60, True), (29, False)])
def test_two_views_are_clustered_together_where_they_share_enough_rows(
    n_pairs, together, monkeypatch
):
    bridge, Xs = linked_views(n_pairs=n_pairs)
    joined, joint_spaces = [], module.joint_spaces

    def spy(features, ridge):
        joined.append([len(of_view.plain.points) for of_view in features])
        return joint_spaces(features, ridge)

    monkeypatch.setattr(module, "joint_spaces", spy)
    cluster_linked(bridge, Xs, 3, rng())
    weights = bridge.known(0, 1)[2]
    n_sure = int(np.sum(weights >= module.DOUBTED))
    assert (n_sure >= 3 * module.ENOUGH_PER_CLUSTER) == together
    assert joined == ([[n_sure, n_sure]] if together else [])


@pytest.mark.parametrize(("n_clusters", "named"), [(3, True), (40, False)])
def test_clusters_of_views_alone_get_names_where_they_have_as_many_partitions(
    n_clusters, named, monkeypatch
):
    # Where clusters are as many as rows, there is one partition only.
    bridge, Xs = linked_views((120, 40), n_pairs=40)
    asked, name_in_common = [], module.name_in_common

    def spy(bridge, own, n_clusters):
        asked.append([*own])
        return name_in_common(bridge, own, n_clusters)

    monkeypatch.setattr(module, "name_in_common", spy)
    cluster_linked(bridge, Xs, n_clusters, rng())
    assert asked == ([[0, 1]] if named else [])


def test_a_cluster_that_a_view_has_no_row_of_has_the_least_probability():
    X = rng().normal(size=(30, 4))
    labels = np.arange(30) % 2 * 3  # 0 and 3 of five
    logs = module._log_probabilities(X, labels, 5)
    shares = np.exp(logs)
    np.testing.assert_allclose(shares[:, [1, 2, 4]], SMOOTHING / 5)
    assert (shares[:, [0, 3]].max(axis=1) > 0.4).all()
