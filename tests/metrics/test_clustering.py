from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from unaligned import metrics

labelings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(0, 3), min_size=n, max_size=n).map(np.array)] * 2
    )
)


@given(labelings)
def test_accuracy_is_the_best_naming_of_the_clusters(pair):
    y, labels = pair
    best = max(
        np.mean(y == np.array(naming)[labels]) for naming in permutations(range(4))
    )
    assert metrics.clustering_accuracy(y, labels) == pytest.approx(best)


@given(labelings)
def test_pair_f_counts_pairs(pair):
    y, labels = pair
    same_class = {p for p in combinations(range(len(y)), 2) if y[p[0]] == y[p[1]]}
    together = {
        p for p in combinations(range(len(y)), 2) if labels[p[0]] == labels[p[1]]
    }
    hits = len(same_class & together)
    pairs = len(same_class) + len(together)
    expected = 2 * hits / pairs if pairs else 1.0
    assert metrics.pair_f_score(y, labels) == pytest.approx(expected)


@given(labelings)
def test_purity_is_the_commonest_class_of_each_cluster(pair):
    y, labels = pair
    hits = sum(np.bincount(y[labels == c]).max() for c in np.unique(labels))
    assert metrics.purity(y, labels) == pytest.approx(hits / len(y))


@given(labelings)
def test_information_and_adjusted_pairs_are_those_of_scikit_learn(pair):
    scores = metrics.clustering_scores(*pair)
    expected = normalized_mutual_info_score(*pair)
    assert scores["nmi"] == pytest.approx(expected, abs=1e-9)
    assert scores["ari"] == pytest.approx(adjusted_rand_score(*pair), abs=1e-9)


@given(labelings, st.permutations(range(4)))
def test_names_of_clusters_do_not_matter(pair, naming):
    y, labels = pair
    scores = metrics.clustering_scores(y, labels)
    assert list(scores) == ["acc", "nmi", "f", "ari", "purity"]
    renamed = metrics.clustering_scores(y, np.array(naming)[labels])
    assert renamed == pytest.approx(scores, abs=1e-9)


def test_scores_refuse_labels_of_another_length():
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(2,\)"):
        metrics.clustering_scores([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="above 0"):
        metrics.clustering_scores([], [])


def test_single_view_scores_of_separated_blobs(blobs):
    Xs, y = blobs
    for scores in metrics.single_view_scores(Xs, [y] * 3, 3):
        assert scores["acc"] > 0.9


@given(labelings, st.integers(0, 12))
def test_joint_scores_are_those_of_all_rows_under_one_naming(pair, cut):
    y, labels = pair
    cut = min(cut, len(y) - 1)
    parts = [slice(cut), slice(cut, None)] if cut else [slice(None)]
    found = metrics.joint_scores(
        [y[part] for part in parts], [labels[part] for part in parts], n_namings=2
    )
    expected = metrics.clustering_scores(y, labels)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert set(found) == {*expected, *(f"floor_{name}" for name in expected)}


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_the_floor_is_the_mean_over_all_namings_of_the_views(data):
    names = range(3)
    ys, labels = (
        [
            np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
            for n in (7, 5)
        ]
        for _ in range(2)
    )
    labels[0][:3] = names  # all names are in use
    scores = [
        metrics.clustering_scores(
            np.concatenate(ys), np.concatenate([labels[0], np.array(naming)[labels[1]]])
        )
        for naming in permutations(names)
    ]
    found = metrics.joint_scores(ys, labels, n_namings=300)
    for name in scores[0]:
        values = [one[name] for one in scores]
        # Five standard errors of a mean of 300.
        error = 5 * np.std(values) / np.sqrt(300) + 1e-9
        assert found[f"floor_{name}"] == pytest.approx(np.mean(values), abs=error)


def test_right_partitions_under_wrong_names_are_at_the_floor_and_below():
    y = np.repeat(np.arange(10), 20)
    right = metrics.joint_scores([y, y], [y, y])
    wrong = metrics.joint_scores([y, y], [y, (y + 1) % 10])
    assert right["acc"] == right["nmi"] == right["ari"] == 1
    assert wrong["acc"] == 0.5 < wrong["floor_acc"] < 0.65
    # The same partitions have the same floor, but for the draw of namings.
    assert right["floor_acc"] == pytest.approx(wrong["floor_acc"], abs=0.03)
    one = metrics.joint_scores([y], [(y + 3) % 10])
    assert one["acc"] == one["floor_acc"] == 1  # a single view has nobody to agree with


def test_names_and_classes_may_be_text_and_views_of_any_size():
    scores = metrics.joint_scores([["a", "b"], ["a"]], [["x", "y"], ["x"]])
    assert scores["acc"] == 1
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        metrics.joint_scores([[0, 1]], [[0]])
