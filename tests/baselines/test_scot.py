"""SCOT's steps against general computations, and its published figures."""

import numpy as np
import pytest
from scipy.sparse.csgraph import floyd_warshall
from scipy.spatial.distance import cdist

from unaligned.baselines import SCOT
from unaligned.baselines._graph_transport import (
    barycentres,
    couple,
    graph_distances,
    one_to_one,
)
from unaligned.datasets import load
from unaligned.metrics import foscttm, label_transfer_accuracy

NONE = np.array([], dtype=np.intp)


def literal_distances(X, k):
    """The same by SciPy's correlation distances and Floyd and Warshall."""
    near = np.argsort(cdist(X, X, "correlation"), axis=1, kind="stable")[:, :k]
    edges = np.zeros((len(X), len(X)))
    np.put_along_axis(edges, near, 1, axis=1)
    steps = floyd_warshall(np.maximum(edges, edges.T), directed=False, unweighted=True)
    farthest = steps[np.isfinite(steps)].max()
    return np.where(np.isfinite(steps), steps, farthest) / farthest


@pytest.mark.parametrize("k", [3, 8])
def test_distances_count_steps_between_correlated_rows(k):
    X = np.random.RandomState(0).normal(size=(40, 6))
    np.testing.assert_allclose(graph_distances(X, k), literal_distances(X, k))


def test_rows_that_no_path_joins_are_farthest():
    rng = np.random.RandomState(0)
    up, down = np.arange(6.0), -np.arange(6.0)
    X = np.vstack([up + 0.1 * rng.normal(size=(8, 6)), down + 0.1 * rng.normal(
        size=(8, 6))])  # fmt: skip
    steps = graph_distances(X, 4)
    assert (steps[:8, 8:] == 1).all()
    np.testing.assert_allclose(steps, literal_distances(X, 4))


def test_equal_and_constant_rows_have_distances():
    assert np.isfinite(graph_distances(np.ones((5, 3)), 2)).all()
    assert np.isfinite(graph_distances(np.arange(5.0)[:, None], 2)).all()


def test_a_plan_has_even_margins_and_its_distance_is_the_literal_sum():
    rng = np.random.RandomState(1)
    tables = [graph_distances(rng.normal(size=(n, 5)), 4) for n in (12, 15)]
    plan, distance, epsilon = couple(*tables, 0.05, 100, 1e-9)
    assert epsilon == 0.05
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 12, atol=1e-6)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / 15, atol=1e-6)
    differences = tables[0][:, :, None, None] - tables[1][None, None]
    literal = np.einsum("ikjl,ij,kl->", differences**2, plan, plan)
    assert distance == pytest.approx(literal, rel=1e-4)


def test_where_the_kernel_underflows_the_weight_of_the_entropy_grows():
    rng = np.random.RandomState(2)
    tables = [graph_distances(rng.normal(size=(20, 5)), 4) for _ in range(2)]
    plan, _, epsilon = couple(*tables, 1e-7, 20, 1e-9)
    assert epsilon > 1e-7
    assert np.isfinite(plan).all()


def test_rows_are_placed_at_the_mean_of_their_partners():
    rng = np.random.RandomState(3)
    plan, reference = rng.uniform(size=(4, 3)), rng.normal(size=(4, 2))
    places = barycentres(plan, reference, (NONE, NONE))
    for j in range(3):
        expected = np.average(reference, axis=0, weights=plan[:, j])
        np.testing.assert_allclose(places[j], expected)
    known = np.array([2]), np.array([0])
    np.testing.assert_allclose(barycentres(plan, reference, known)[0], reference[2])


def test_matches_have_the_largest_weight_and_known_ones_stay():
    plan = np.array([[0.3, 0.2], [0.2, 0.0], [0.1, 0.2]])
    partner, confidence = one_to_one(plan, (NONE, NONE))
    np.testing.assert_array_equal(partner, [0, -1, 1])
    np.testing.assert_allclose(confidence, [0.6, 0, 2 / 3])
    partner, _ = one_to_one(plan, (np.array([1]), np.array([1])))
    np.testing.assert_array_equal(partner, [0, 1, -1])


def two_curves(n=60, m=60):
    """A curve seen in two ways; parts of it differ, so that it is no mirror image."""

    def curve(size):
        t = np.linspace(0, 1, size) ** 2
        return np.column_stack([np.cos(4 * t), np.sin(4 * t), t, np.exp(-6 * t)])

    turn = np.linalg.qr(np.random.RandomState(0).normal(size=(4, 4)))[0]
    return curve(n), curve(m) @ turn


def test_unequal_numbers_of_rows_leave_some_without_partner():
    one, other = two_curves(50, 40)
    model = SCOT(3, epsilon=0.01, random_state=0).fit([one, other])
    partner = model.alignment_.permutations[1]
    assert (partner >= 0).sum() == 40
    assert [len(labels) for labels in model.view_labels_] == [50, 40]


def test_new_rows_are_placed_like_their_nearest():
    one, other = two_curves()
    model = SCOT(3, epsilon=0.01, random_state=0).fit([one, other])
    placed = model.transform(other[:5] * 2, view=1)
    assert placed.dtype == np.float32
    assert np.abs(placed - model.places_[1][:5]).max() < 0.2
    np.testing.assert_allclose(
        model.transform(one, view=0), model.places_[0], atol=1e-6
    )


def test_tuning_takes_the_smallest_distance(monkeypatch):
    tried = []

    def couple_views(self, one, other, k, epsilon):
        from unaligned.baselines.scot import Coupling

        tried.append((k, epsilon))
        distance = abs((k or 7) - 20) + abs(np.log10(epsilon) + 2)
        return Coupling(np.eye(len(one)), distance, k or 7, epsilon)

    monkeypatch.setattr(SCOT, "_couple", couple_views)
    X = np.random.RandomState(0).normal(size=(177, 3))
    model = SCOT(2, self_tune=True, random_state=0).fit([X, X])
    assert model.n_neighbors_[1] == 18  # the one of 8, 13, 18, 23 and 29 next to 20
    assert abs(np.log10(model.epsilons_[1]) + 2) < 0.1
    assert len(tried) == 12 + 5


def test_published_figure_on_scgem(shared, monkeypatch):
    """FOSCTTM 0.19 with k = 35 and ε = 5e-3, as its authors set them."""
    monkeypatch.setenv("UNALIGNED_DATA", str(shared / "data"))
    data = load("scGEM")
    model = SCOT(5, n_neighbors=35, epsilon=5e-3, random_state=0).fit(data.Xs)
    assert foscttm(*model.places_) == pytest.approx(0.19, abs=0.02)


def test_the_smallest_distance_reverses_scgem(shared, monkeypatch):
    """The fewest neighbours tried have a smaller distance, and a reversed answer."""
    monkeypatch.setenv("UNALIGNED_DATA", str(shared / "data"))
    data = load("scGEM")
    few, published = (
        SCOT(5, n_neighbors=k, epsilon=1e-2, random_state=0).fit(data.Xs)
        for k in (8, 35)
    )
    assert few.gw_distances_[1] < published.gw_distances_[1]
    assert foscttm(*published.places_) < 0.25
    assert foscttm(*few.places_) > 0.6
    classes = label_transfer_accuracy(few.places_[0], data.y, few.places_[1], data.y)
    assert classes < 0.2
