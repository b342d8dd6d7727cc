"""What is measured, against fits and scores made by hand."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from unaligned import PAVuC
from unaligned.baselines import CMVNMF, LMVSC
from unaligned.benchmark.cells import Cell
from unaligned.benchmark.measure import measure
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import clustering_accuracy
from unaligned.selection import predictability

ROWS = 150
SETTING = {"alpha": 1.5, "mu": 0.1, "anchors_per_cluster": 2, "max_iter": 5}


def digits(seed, ratio=0.0):
    """The digits as the protocol takes them, from its description."""
    data = load_digits_views()
    rows = np.sort(np.random.RandomState(0).choice(len(data.y), ROWS, replace=False))
    views = [X[rows] - X[rows].mean(axis=0) for X in data.Xs]
    return unalign(views, data.y[rows], ratio=ratio, random_state=seed)


def cell(method, setting=None, **more):
    return Cell("digits", method, setting or {}, rows=ROWS, **more)


@pytest.fixture(scope="module")
def pavuc():
    return measure(cell("PAVuC", SETTING, shuffle=3, ratio=0.2))


def fitted_pavuc():
    data = digits(3, ratio=0.2)
    model = PAVuC(10, n_anchors=20, alpha=1.5, mu=0.1, max_iter=5, random_state=3)
    with pytest.warns(ConvergenceWarning):
        model.fit(data.Xs, aligned=data.n_aligned)
    return model, data


def test_pavuc_is_scored_on_its_template_by_five_runs_of_k_means(pavuc):
    model, data = fitted_pavuc()
    y = data.ys[model.template_]
    runs = [
        KMeans(10, n_init=20, max_iter=200, random_state=seed).fit(model.embedding_)
        for seed in range(5)
    ]
    acc = np.mean([clustering_accuracy(y, run.labels_) for run in runs])
    nmi = np.mean([normalized_mutual_info_score(y, run.labels_) for run in runs])
    assert pavuc["acc"] == pytest.approx(100 * acc, abs=0.01)
    assert pavuc["nmi"] == pytest.approx(100 * nmi, abs=0.01)
    assert pavuc["template"] == model.template_
    assert pavuc["iterations"] == 5


def test_the_alignment_is_compared_with_chance(pavuc):
    model, data = fitted_pavuc()
    t = model.template_
    others = [i for i in range(4) if i != t]
    same = [
        np.mean(data.ys[i][model.alignment_.permutations[i]] == data.ys[t])
        for i in others
    ]
    assert pavuc["same_class"] == pytest.approx(100 * np.mean(same), abs=0.01)
    shares = np.bincount(data.ys[0]) / ROWS
    assert pavuc["by_chance"] == pytest.approx(100 * shares @ shares, abs=0.01)
    assert pavuc["matched"] == 1


def test_pavuc_is_scored_in_the_order_of_the_first_view_too(pavuc):
    model, data = fitted_pavuc()
    acc = clustering_accuracy(data.ys[0], model.view_labels_[0])
    assert pavuc["first_view"]["acc"] == pytest.approx(100 * acc, abs=0.01)


def test_cost_and_the_template_alone_are_told(pavuc):
    assert pavuc["seconds"] > 0
    assert pavuc["cpu_seconds"] > 0
    assert 0 < pavuc["template_alone"]["acc"] <= 100
    if "peak_mb" in pavuc:
        assert pavuc["peak_mb"] > 10


def test_one_naming_of_all_views_is_scored_beside_its_floor(pavuc):
    model, data = fitted_pavuc()
    y, labels = np.concatenate(data.ys), np.concatenate(model.view_labels_)
    joint = pavuc["joint"]
    assert joint["acc"] == pytest.approx(100 * clustering_accuracy(y, labels), abs=0.01)
    assert 0 < joint["floor_acc"] < 100
    assert "joint" not in measure(cell("single view", {"view": 0}))


def test_others_are_scored_by_the_labels_they_return():
    found = measure(cell("LMVSC", {"alpha": 0.1}, shuffle=1))
    data = digits(1)
    labels = LMVSC(10, alpha=0.1, random_state=1).fit(data.Xs).labels_
    acc = clustering_accuracy(data.ys[0], labels)
    assert found["acc"] == pytest.approx(100 * acc, abs=0.01)


def test_cmvnmf_is_scored_in_every_view():
    found = measure(cell("CMVNMF", {"beta": 1.0, "max_iter": 3}))
    data = digits(0)
    with pytest.warns(ConvergenceWarning):
        model = CMVNMF(10, max_iter=3, random_state=0).fit(data.Xs)
    accs = [
        clustering_accuracy(*one)
        for one in zip(data.ys, model.view_labels_, strict=True)
    ]
    assert found["acc"] == pytest.approx(100 * np.mean(accs), abs=0.01)


def test_the_single_view_needs_no_other():
    alone = measure(cell("single view", {"view": 0}, views=(2,)))
    among = measure(cell("single view", {"view": 2}))
    assert set(alone) >= {"acc", "label_free"}
    assert "same_class" not in among
    assert abs(alone["acc"] - among["acc"]) < 15


def test_random_labels_are_at_chance():
    assert measure(cell("random labels"))["acc"] < 30


def test_a_trace_ends_where_the_fit_ends():
    found = measure(cell("PAVuC", SETTING, shuffle=3, ratio=0.2, measure="trace"))
    model, _ = fitted_pavuc()
    objective = found["trace"]["objective"]
    np.testing.assert_allclose(objective, model.objective_, rtol=1e-8)
    assert len(found["trace"]["acc"]) == len(found["trace"]["nmi"]) == 5


def test_a_map_has_a_point_for_every_row_of_every_view_and_of_the_graph():
    few = Cell("digits", "PAVuC", {"max_iter": 2}, rows=40, views=(0, 1), measure="map")
    panels = measure(few)["map"]
    assert len(panels) == 3
    for panel in panels:
        assert np.array(panel["points"]).shape == (40, 2)
        assert len(panel["classes"]) == 40


def test_the_straightforward_version_is_timed_and_not_scored():
    found = measure(Cell("synthetic", "plain NumPy in 15 iterations", rows=50))
    assert found["seconds"] > 0
    assert "acc" not in found


def test_clusters_are_judged_by_how_well_their_view_predicts_them(pavuc):
    model, data = fitted_pavuc()
    t = model.template_
    judged = predictability(data.Xs[t], model.view_labels_[t])
    assert pavuc["label_free"] == pytest.approx(judged[0], abs=1e-4)
