"""The bridge between views of which some pairs are known."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import roc_auc_score

from unaligned.datasets import load_digits_views, unalign
from unaligned.deadline import Deadline, TimeIsUp
from unaligned.known_pairs import check_aligned
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.labeller import fit_labeller
from unaligned.savuc import bridge_partitions, consensus, graph_coordinates
from unaligned.savuc.bridge import fit_bridge
from unaligned.savuc.bridge_clusters import (
    cluster_linked,
    complete_rows,
    label_by_views,
)
from unaligned.savuc.bridge_partitions import (
    Carried,
    common_names,
    information_beyond_chance,
    name_in_common,
)
from unaligned.savuc.bridge_regression import (
    PENALTIES,
    chance_of_pairs,
    fit_ridge,
    loo_errors,
)
from unaligned.savuc.config import Settings
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.graph_coordinates import read_graph
from unaligned.savuc.joint_space import joint_coordinates, place_rows
from unaligned.savuc.translation import fit_translation
from unaligned.savuc.wrong_pairs import nearer_partners, probably_wrong
from unaligned.views import check_views


def rng(seed=0):
    return np.random.RandomState(seed)


def bridge_of(Xs, aligned, **options):
    geometries = [read_geometry(X, 50, rng()) for X in Xs]
    pairs = check_aligned(aligned, check_views(Xs, accept_sparse=True))
    return fit_bridge(geometries, pairs, Settings(), rng(), **options), geometries


def clusters(n=150, n_views=2, k=3, seed=0, noise=0.3):
    """Views of Gaussian clusters in twelve columns, and their classes."""
    draw = rng(seed)
    y = np.arange(n) % k
    latent = np.eye(k)[y] * 3 + draw.normal(size=(n, k)) * noise
    Xs = [
        np.tanh(latent @ draw.normal(size=(k, 12))) + draw.normal(size=(n, 12)) / 10
        for _ in range(n_views)
    ]
    return Xs, y


# Regression


def by_hand(X, Y, penalty, weights):
    """Leave every row out, one by one, with scikit-learn."""
    centred = np.sqrt(weights)[:, None] * (X - np.average(X, axis=0, weights=weights))
    unit = (centred**2).sum(axis=0).mean()
    errors = []
    for r in range(len(X)):
        kept = np.arange(len(X)) != r
        fit = SklearnRidge(alpha=penalty * unit, solver="svd")
        fit.fit(X[kept], Y[kept], sample_weight=weights[kept])
        errors.append(Y[r] - fit.predict(X[r : r + 1])[0])
    return np.array(errors)


@pytest.mark.parametrize(("p", "d"), [(25, 4), (8, 12)])
def test_errors_of_rows_left_out_are_those_of_leaving_them_out(p, d):
    X, Y = rng().normal(size=(p, d)), rng(1).normal(size=(p, 3))
    expected = by_hand(X, Y, 0.5, np.ones(p))
    np.testing.assert_allclose(loo_errors(X, Y, 0.5), expected, atol=1e-8)


def test_weights_count_as_in_scikit_learn():
    draw = rng()
    X, weights = draw.normal(size=(20, 3)), draw.uniform(0.1, 1, size=20)
    Y = X @ draw.normal(size=(3, 2)) + draw.normal(size=(20, 2))
    fit = fit_ridge(X, Y, weights, (0.1,))
    errors = by_hand(X, Y, 0.1, weights)
    np.testing.assert_allclose(Y - fit.left_out, errors, atol=1e-8)
    share = weights / weights.sum()
    np.testing.assert_allclose(fit.variance, share @ errors**2)
    centred = np.sqrt(weights)[:, None] * (X - share @ X)
    alpha = 0.1 * (centred**2).sum(axis=0).mean()
    plain = SklearnRidge(alpha=alpha).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(fit.predict(X), plain.predict(X), atol=1e-8)


def test_the_penalty_has_the_least_error():
    draw = rng()
    X = draw.normal(size=(30, 10))
    Y = X[:, :2] + draw.normal(size=(30, 2))
    squares = {one: (loo_errors(X, Y, one) ** 2).sum() for one in PENALTIES}
    assert fit_ridge(X, Y).penalty == min(squares, key=squares.get)


def test_what_predicts_nothing_predicts_the_mean():
    X, Y = rng().normal(size=(40, 5)), rng(3).normal(size=(40, 4))
    fit = fit_ridge(X, Y)
    assert fit.quality < 0.05
    assert np.abs(fit.predict(X) - Y.mean(axis=0)).max() < 0.5


@pytest.mark.parametrize("p", [1, 2])
def test_one_or_two_pairs_give_their_mean(p):
    X, Y = rng().normal(size=(p, 5)), rng(1).normal(size=(p, 4))
    fit = fit_ridge(X, Y)
    np.testing.assert_allclose(fit.predict(X), np.tile(Y.mean(axis=0), (p, 1)))
    assert fit.quality == 0


def test_constant_features_and_targets_do_no_harm():
    X = np.hstack([rng().normal(size=(20, 2)), np.ones((20, 1))])
    fit = fit_ridge(X, np.hstack([X[:, :1], np.zeros((20, 1))]))
    assert np.isfinite(fit.predict(X)).all()
    assert fit.explained_of(slice(1)) > 0.9
    assert fit.variance[1] == 0


def test_expected_errors_are_those_of_new_rows():
    draw = rng()
    X = draw.normal(size=(5000, 8))
    Y = X @ draw.normal(size=(8, 3)) + draw.normal(size=(5000, 3))
    fit = fit_ridge(X[:30], Y[:30])
    squares = ((fit.predict(X) - Y)[30:] ** 2).sum(axis=1)
    expected = fit.inflation(X[30:]) * fit.variance.sum()
    assert 0.6 < squares.mean() / expected.mean() < 1.6
    # Rows far from those that were fitted on have larger errors.
    assert np.corrcoef(squares, expected)[0, 1] > 0.1


def test_the_test_against_chance_is_exact():
    draw, found = rng(), []
    for _ in range(60):
        found.append(
            chance_of_pairs(draw.normal(size=(12, 2)), draw.normal(size=(12, 2)), draw)
        )
    found = np.array(found)
    # Of 60, 6 are expected at .1 or less; 13 or more with probability .006.
    assert (found <= 0.1).sum() <= 12
    assert 0.3 < found.mean() < 0.7


# Diffusion coordinates


def test_coordinates_are_eigenvectors_of_the_walk():
    (X, _), _ = clusters(300)
    graph = read_graph(read_geometry(X, 50, rng()).points, Settings())
    near = np.argsort(-(graph.rows @ graph.rows.T), axis=1)[:, :16]
    W = np.zeros((300, 300))
    np.put_along_axis(W, near, 1, axis=1)
    W = W + W.T
    walk = W / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        walk @ graph.vectors, graph.vectors * graph.values, atol=2e-2
    )
    # Eigenvectors of a walk are orthogonal to the constant one, by degrees.
    np.testing.assert_allclose(W.sum(axis=1) @ graph.vectors / W.sum(), 0, atol=1e-3)
    expected = np.sort(np.linalg.eigvals(walk).real)[::-1][1:11]
    np.testing.assert_allclose(graph.values[:10], expected, atol=1e-3)


def test_new_rows_come_to_lie_where_old_ones_lie():
    (X, _), _ = clusters(300)
    points = read_geometry(X, 50, rng()).points
    graph = read_graph(points, Settings())
    cosines = (graph.read(points) * graph.points).sum(axis=1)
    assert np.median(cosines) > 0.95


def test_neighbours_of_many_rows_are_looked_for_in_cells(monkeypatch):
    (X, _), _ = clusters(300)
    points = read_geometry(X, 50, rng()).points
    exact = read_graph(points, Settings())
    monkeypatch.setattr(graph_coordinates, "N_COMPARED", 100)
    likely = read_graph(points, Settings())
    np.testing.assert_allclose(likely.values[:2], exact.values[:2], atol=0.02)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 40])
def test_few_rows_have_coordinates(n):
    points = rng().normal(size=(n, 4))
    graph = read_graph(points, Settings())
    assert graph.points.shape[0] == n
    assert np.isfinite(graph.points).all()
    assert np.isfinite(graph.read(points[:1])).all()


# Wrong pairs


def test_shares_of_wrong_pairs_are_uniform():
    draw = rng()
    X = draw.normal(size=(300, 5))
    Y = X + draw.normal(size=(300, 5)) / 5
    wrong = np.arange(60)
    Y[wrong] = Y[np.roll(wrong, 1)]
    nearer = nearer_partners(fit_ridge(X, Y), fit_ridge(Y, X), X, Y)
    assert nearer[60:].max() < 0.3
    assert 0.35 < nearer[wrong].mean() < 0.65
    suspicion = probably_wrong(nearer)
    assert roc_auc_score(np.arange(300) < 60, suspicion) > 0.95
    assert suspicion.mean() == pytest.approx(0.2, abs=0.05)


def test_nothing_is_suspected_where_pairs_say_nothing():
    nearer = rng().uniform(size=200)
    assert probably_wrong(nearer).max() < 0.5


def test_wrong_pairs_are_found_and_count_less():
    Xs, _ = clusters(200, seed=1)
    rows = np.arange(100)
    partner = rows.copy()
    partner[:20] = np.roll(rows[:20], 1)  # of other clusters
    bridge, _ = bridge_of(Xs, {(0, 1): np.column_stack([rows, partner])})
    link = bridge.links[0, 1]
    assert roc_auc_score(link.rows[0] < 20, link.suspicion) > 0.9
    assert link.weights[link.rows[0] < 20].mean() < 0.3
    assert link.weights[link.rows[0] >= 20].mean() > 0.7
    suspects = bridge.suspects()[0, 1]
    assert (suspects[:, 0] < 20).mean() > 0.7
    np.testing.assert_array_equal(suspects[:, 1], partner[suspects[:, 0]])


# The bridge


def test_quality_and_trust_tell_related_views_from_unrelated_ones():
    Xs, _ = clusters(200)
    bridge, _ = bridge_of(Xs, 60)
    assert bridge.quality[0, 1] > 0.5
    assert bridge.links[0, 1].trust > 0.8
    apart, _ = bridge_of([Xs[0], rng(5).permutation(Xs[1])], 60)
    assert apart.quality[0, 1] < 0.1


def test_views_without_common_pairs_are_linked_through_a_third():
    Xs, y = clusters(180, n_views=4, seed=2)
    first, second = np.arange(60), np.arange(60, 120)
    aligned = {
        (0, 1): np.column_stack([first, first]),
        (1, 2): np.column_stack([second, second]),
    }
    bridge, _ = bridge_of(Xs, aligned)
    assert bridge.groups == [(0, 1, 2), (3,)]
    assert bridge.way(0, 2) == [0, 1, 2]
    assert bridge.quality[0, 2] == pytest.approx(
        bridge.quality[0, 1] * bridge.quality[1, 2]
    )
    assert not bridge.linked(0, 3)
    with pytest.raises(ValueError, match="No known pairs lead from view 0 to view 3"):
        bridge.estimate(bridge.features[0], 0, 3)
    joint = joint_coordinates(bridge)
    assert joint[0].shape[1] == joint[2].shape[1] != joint[3].shape[1]
    labels = KMeans(3, n_init=5, random_state=0).fit_predict(np.vstack(joint[:3]))
    assert clustering_accuracy(np.tile(y, 3), labels) > 0.95


def test_errors_of_estimates_are_those_of_unknown_partners():
    Xs, _ = clusters(600, seed=3)
    bridge, _ = bridge_of(Xs, 120)
    estimate, error = bridge.estimate(bridge.features[0], 0, 1)
    true = bridge.features[1]
    squares = ((estimate - true)[120:] ** 2).sum(axis=1)
    assert 0.7 < squares.mean() / (error[120:] ** 2).mean() < 1.4


def test_known_partners_lie_in_one_place_and_rows_of_one_class_near():
    digits = load_digits_views()
    shuffled = unalign(
        [X[:600] for X in digits.Xs[:2]], digits.y[:600], ratio=0.2, random_state=0
    )
    bridge, _ = bridge_of(shuffled.Xs, shuffled.n_aligned)
    one, other = joint_coordinates(bridge)
    p = shuffled.n_aligned
    np.testing.assert_allclose(one[:p], other[:p], atol=1e-6)
    labels = KMeans(10, n_init=5, random_state=0).fit_predict(np.vstack([one, other]))
    assert clustering_accuracy(np.concatenate(shuffled.ys), labels) > 0.7


@pytest.mark.parametrize("aligned", [0, 1, 2, 3, "all", None])
def test_any_number_of_pairs_will_do(aligned):
    Xs, _ = clusters(40)
    Xs[0][:, 3] = 1  # a constant column
    bridge, _ = bridge_of(Xs, aligned)
    for placed in joint_coordinates(bridge):
        assert np.isfinite(placed).all()
    if aligned == "all":
        np.testing.assert_allclose(*joint_coordinates(bridge), atol=1e-6)


def test_views_of_unequal_rows_and_kinds():
    (X, Z), _ = clusters(80)
    Z = sparse.csr_array(np.where(np.abs(Z[:50]) > 0.3, Z[:50], 0))
    bridge, _ = bridge_of([X, Z], {(1, 0): [(r, r + 10) for r in range(30)]})
    joint = joint_coordinates(bridge)
    assert [len(placed) for placed in joint] == [80, 50]
    np.testing.assert_allclose(joint[0][10:40], joint[1][:30], atol=1e-6)


def test_new_rows_are_placed_beside_old_ones():
    Xs, y = clusters(240, seed=5)
    bridge, geometries = bridge_of([X[:180] for X in Xs], 40)
    joint = np.vstack(joint_coordinates(bridge))
    model = KMeans(3, n_init=5, random_state=0).fit(joint)
    for i, X in enumerate(Xs):
        new = place_rows(bridge, geometries[i].read(X[180:]), i)
        assert clustering_accuracy(y[180:], model.predict(new)) > 0.95


# Clusters


def test_all_rows_of_all_views_have_one_naming():
    digits = load_digits_views()
    shuffled = unalign(
        [X[:500] for X in digits.Xs[:3]], digits.y[:500], ratio=0.1, random_state=0
    )
    bridge, _ = bridge_of(shuffled.Xs, shuffled.n_aligned)
    labels = cluster_linked(bridge, shuffled.Xs, 10, rng())
    y = np.concatenate(shuffled.ys)
    apart = [kmeans(features, 10, rng(), 5) for features in bridge.features]
    named, unnamed = (
        clustering_accuracy(y, np.concatenate(found)) for found in (labels, apart)
    )
    assert named > 0.6 > unnamed + 0.1


@pytest.mark.parametrize("n_steps", [0, 1, 3])
def test_a_bridge_for_which_there_is_no_time_is_given_up(n_steps):
    Xs, _ = clusters(60)
    times = iter(range(100))
    with pytest.raises(TimeIsUp):
        bridge_of(Xs, 20, deadline=Deadline(n_steps, lambda: next(times)))
    bridge, _ = bridge_of(Xs, 20, deadline=Deadline(1e9))
    times = iter(range(100))
    deadline = Deadline(n_steps, lambda: next(times))
    with pytest.raises(TimeIsUp):
        cluster_linked(bridge, Xs, 3, rng(), deadline=deadline)


def test_views_alone_have_clusters_of_their_own():
    Xs, y = clusters(120, n_views=3)
    bridge, _ = bridge_of(Xs, {(0, 2): [(r, r) for r in range(40)]})
    labels = cluster_linked(bridge, Xs, 3, rng())
    joint = np.concatenate([labels[0], labels[2]])
    assert clustering_accuracy(np.tile(y, 2), joint) > 0.95
    assert clustering_accuracy(y, labels[1]) > 0.95
    linked = cluster_linked(bridge, Xs, 3, rng(), [(0, 2)])
    assert [len(found) for found in linked] == [120, 0, 120]


def test_names_are_passed_on_through_a_third_view():
    Xs, y = clusters(180, n_views=3, seed=2)
    first, second = np.arange(60), np.arange(60, 120)
    aligned = {(0, 1): np.c_[first, first], (1, 2): np.c_[second, second]}
    bridge, _ = bridge_of(Xs, aligned)
    labels = cluster_linked(bridge, Xs, 3, rng())
    assert clustering_accuracy(np.tile(y, 3), np.concatenate(labels)) > 0.95
    assert len(complete_rows(bridge, (0, 1, 2))[0]) == 0


def test_pairs_too_few_to_be_trusted_only_name_clusters():
    Xs, y = clusters(150, seed=3)
    bridge, _ = bridge_of(Xs, 3)  # one of every cluster
    assert bridge.links[0, 1].trust < 0.5
    labels = cluster_linked(bridge, Xs, 3, rng())
    assert clustering_accuracy(np.tile(y, 2), np.concatenate(labels)) > 0.95


def test_a_view_of_noise_does_no_harm():
    Xs, y = clusters(200)
    Xs.append(rng(7).normal(size=(200, 12)))
    bridge, _ = bridge_of(Xs, 80)
    labels = cluster_linked(bridge, Xs, 3, rng())
    assert clustering_accuracy(np.tile(y, 2), np.concatenate(labels[:2])) > 0.95


def test_a_wrong_pair_that_is_doubted_names_no_row():
    Xs, y = clusters(200, seed=1)
    rows = np.arange(100)
    partner = rows.copy()
    partner[:20] = np.roll(rows[:20], 1)  # of other clusters
    bridge, _ = bridge_of(Xs, {(0, 1): np.c_[rows, partner]})
    labels = cluster_linked(bridge, Xs, 3, rng())
    assert clustering_accuracy(np.tile(y, 2), np.concatenate(labels)) > 0.95


def test_complete_rows_are_objects_that_are_known_in_all_views():
    Xs, _ = clusters(90, n_views=3)
    aligned = {
        (0, 1): [(r, r + 5) for r in range(60)],
        (0, 2): [(r, r) for r in range(20, 80)],
    }
    shifted = [Xs[0], np.roll(Xs[1], 5, axis=0), Xs[2]]
    bridge, _ = bridge_of(shifted, aligned)
    found = complete_rows(bridge, (0, 1, 2))
    doubted = {
        row
        for pairs in (bridge.known(0, 1), bridge.known(0, 2))
        for row, weight in zip(pairs[0], pairs[2], strict=True)
        if weight < 0.5
    }
    expected = np.array([r for r in range(20, 60) if r not in doubted])
    assert len(expected) > 30
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], expected + 5)
    np.testing.assert_array_equal(found[2], expected)


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 9])
def test_few_rows_have_clusters(n_clusters):
    Xs, _ = clusters(6)
    bridge, _ = bridge_of([Xs[0], Xs[1][:4]], {(0, 1): [(0, 0), (1, 1), (2, 2)]})
    labels = cluster_linked(bridge, [Xs[0], Xs[1][:4]], n_clusters, rng())
    assert [len(found) for found in labels] == [6, 4]
    assert max(found.max() for found in labels) < n_clusters


def test_more_rows_than_are_partitioned(monkeypatch):
    Xs, y = clusters(400)
    bridge, _ = bridge_of(Xs, 60)
    monkeypatch.setattr(consensus, "N_ROWS", 50)
    monkeypatch.setattr(bridge_partitions, "N_LEARNED", 40)
    labels = cluster_linked(bridge, Xs, 3, rng())
    assert clustering_accuracy(np.tile(y, 2), np.concatenate(labels)) > 0.95


def test_rows_are_labelled_by_all_views_that_know_them():
    Xs, y = clusters(90, n_views=3)
    draw = rng()
    noisy = [np.where(draw.uniform(size=90) < 0.3, draw.randint(3, size=90), y)] * 3
    noisy[2] = np.minimum(noisy[2], 1)  # a view that one cluster is missing in
    rows = np.arange(60)
    bridge, _ = bridge_of(Xs, {(0, 1): np.c_[rows, rows + 30]})
    found = label_by_views(bridge, Xs, (0, 1, 2), noisy, 3)
    fitted = [fit_labeller(X, labels) for X, labels in zip(Xs, noisy, strict=True)]
    logs = [
        labeller.log_probabilities(X) for labeller, X in zip(fitted, Xs, strict=True)
    ]
    weights = dict(zip(rows, bridge.links[0, 1].weights, strict=True))
    for row in range(90):
        total = logs[0][row]
        if row in weights:
            total = total + weights[row] * logs[1][row + 30]
        assert found[0][row] == total.argmax()
        total = logs[1][row]
        if row - 30 in weights:
            total = total + weights[row - 30] * logs[0][row - 30]
        assert found[1][row] == total.argmax()
    np.testing.assert_array_equal(found[2], logs[2].argmax(axis=1))
    assert np.mean(found[0] == y) > 0.95 > np.mean(noisy[0] == y)


def test_a_row_alone_keeps_its_label():
    Xs, _ = clusters(30)
    bridge, _ = bridge_of([Xs[0], Xs[1][:1]], None)
    labels = [np.zeros(30, dtype=np.intp), np.array([2])]
    assert label_by_views(bridge, [Xs[0], Xs[1][:1]], (0, 1), labels, 3)[1] == [2]


@pytest.mark.parametrize("seed", range(5))
def test_names_beyond_chance_agree_most_beyond_chance(seed):
    labels, told = rng(seed).choice(3, size=(2, 12), p=[0.6, 0.3, 0.1])

    def beyond(names):
        renamed = np.array(names)[labels]
        chance = sum(np.mean(renamed == c) * np.mean(told == c) for c in range(3))
        return np.mean(renamed == told) - chance

    found = common_names(labels, told, 3, beyond_chance=True)
    assert beyond(found) == pytest.approx(max(map(beyond, permutations(range(3)))))


def test_pairs_of_one_class_name_clusters_by_their_number():
    ones = np.zeros(5, dtype=int)
    assert common_names(ones, ones + 1, 2, beyond_chance=True).tolist() == [1, 0]


def test_own_partitions_get_the_names_of_known_partners():
    Xs, y = clusters(150, n_views=3)
    bridge, _ = bridge_of(Xs, 30)
    shuffled = [np.array([2, 0, 1])[y], np.array([1, 0, 2])[y]]
    mixed = rng().permutation(y)
    own = {
        0: Carried(np.column_stack([y, y]), np.array([0.9, 0.8])),
        1: Carried(np.column_stack([shuffled[0], mixed]), np.array([0.9, 0.9])),
        2: Carried(np.column_stack([shuffled[1], y]), np.array([0.9, 0.9])),
    }
    found = name_in_common(bridge, own, 3)
    for i in range(3):
        np.testing.assert_array_equal(found[i].labels[:, 0], y)
    np.testing.assert_array_equal(found[0].quality, [0.9, 0.8])
    assert found[1].quality[0] > 0.8 > 0.3 > found[1].quality[1]


def test_unrelated_partitions_share_nothing_on_average():
    draw = rng()
    found = [
        information_beyond_chance(*draw.randint(5, size=(2, 300)), 5)
        for _ in range(300)
    ]
    # Without the correction the mean is 0.017.
    assert abs(np.mean(found)) < 0.003


# Translation


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_translated_with_their_errors(kind):
    draw = rng()
    latent = draw.normal(size=(400, 3))
    X, Z = (latent @ draw.normal(size=(3, 7)) for _ in range(2))
    Z = Z * np.arange(1, 8) + 5
    bridge, geometries = bridge_of([X, Z], 200)
    fitted = fit_translation(bridge, kind(Z), 0, 1)
    new = bridge.read(geometries[0].read(X[200:]), 0)
    estimate, error = fitted.estimate(new)
    explained = 1 - ((estimate - Z[200:]) ** 2).mean(axis=0) / Z.var(axis=0)
    assert explained.min() > 0.6
    ratio = ((estimate - Z[200:]) ** 2).mean(axis=0) / (error**2).mean(axis=0)
    assert (ratio > 0.6).all()
    assert (ratio < 1.6).all()


def test_translation_leads_through_a_third_view():
    Xs, _ = clusters(180, n_views=3, seed=2)
    first, second = np.arange(60), np.arange(60, 120)
    bridge, _ = bridge_of(
        Xs, {(0, 1): np.c_[first, first], (1, 2): np.c_[second, second]}
    )
    estimate, error = fit_translation(bridge, Xs[2], 0, 2).estimate(bridge.features[0])
    squares = (estimate - Xs[2]) ** 2
    assert 1 - squares.mean() / Xs[2].var(axis=0).mean() > 0.5
    assert 0.5 < squares.mean() / (error**2).mean() < 1.5
