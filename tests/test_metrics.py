from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_alignment_rates_leave_unmatched_rows_out():
    y_i, y_t = np.array([0, 1, 1]), np.array([1, 0, 1, 0])
    assert metrics.category_alignment_rate(y_i, y_t, [1, -1, 0, -1]) == 0.5
    assert metrics.instance_alignment_rate([7, 8, 9], [8, 7, 9, 5], [1, 0, 0, -1]) == (
        pytest.approx(2 / 3)
    )
    assert np.isnan(metrics.category_alignment_rate(y_i, y_t, [-1] * 4))


def test_alignment_rates_refuse_permutations_that_do_not_fit():
    with pytest.raises(ValueError, match="one entry per template row"):
        metrics.category_alignment_rate([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="names rows 0 to 2, but the view has 2"):
        metrics.instance_alignment_rate([0, 1], [0, 1], [0, 2])


@given(labelings)
def test_chance_is_the_mean_over_random_matchings(pair):
    y_i, y_t = pair
    every_shift = [
        metrics.category_alignment_rate(y_i, y_t, np.roll(np.arange(len(y_i)), shift))
        for shift in range(len(y_i))
    ]
    chance = metrics.category_alignment_chance(y_i, y_t)
    assert chance == pytest.approx(np.mean(every_shift))


def test_single_view_scores_of_separated_blobs(blobs):
    Xs, y = blobs
    for scores in metrics.single_view_scores(Xs, [y] * 3, 3):
        assert scores["acc"] > 0.9
