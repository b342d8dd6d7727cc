from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from related_views import QUICK, shuffled_pair

from unaligned.alignment import TRUSTED, Alignment
from unaligned.known_pairs import check_aligned
from unaligned.metrics import clustering_accuracy
from unaligned.savuc.align import only_known
from unaligned.savuc.bridge import fit_bridge
from unaligned.savuc.geometry import read_geometry
from unaligned.savuc.labels import (
    DOUBTFUL,
    ENOUGH_PER_CLUSTER,
    bridged_groups,
    clustered_together,
    has_partner,
    label_together,
    label_views,
    rename,
)
from unaligned.views import check_views


def rng(seed=0):
    return np.random.RandomState(seed)


def clusters(n=150, n_views=2, k=3, seed=0):
    """Views of clear clusters that are not linear functions of each other."""
    draw = rng(seed)
    y = np.arange(n) % k
    latent = np.eye(k)[y] * 3 + draw.normal(size=(n, k)) * 0.3
    Xs = [
        np.tanh(latent @ draw.normal(size=(k, 12))) + draw.normal(size=(n, 12)) / 10
        for _ in range(n_views)
    ]
    return Xs, y


def aligned_all(n, n_views, trust=1.0, sure=1.0):
    rows = [np.arange(n)] * n_views
    confidence = [np.ones(n), *[np.full(n, sure)] * (n_views - 1)]
    return Alignment(0, rows, confidence, np.array([1.0, *[trust] * (n_views - 1)]))


def setting(Xs, aligned=None):
    """Views, known pairs, an alignment by known pairs alone, and their bridge."""
    views = check_views(Xs)
    pairs = check_aligned(aligned, views)
    alignment = only_known(0, np.full(len(Xs), 0.1), views, pairs)
    geometries = [read_geometry(X, QUICK.n_directions, rng()) for X in Xs]
    return views, pairs, alignment, fit_bridge(geometries, pairs, QUICK, rng())


def test_matched_views_are_labelled_as_one():
    Xs, y = clusters()
    order = rng().permutation(150)
    Xs[1] = Xs[1][order]
    views = check_views(Xs)
    partner = np.argsort(order)
    alignment = Alignment(0, [np.arange(150), partner], [np.ones(150)] * 2, np.ones(2))
    pairs = check_aligned(None, views)
    found = label_views(views, pairs, alignment, None, 3, rng())
    assert_array_equal(found.view_labels[0], found.view_labels[1][partner])
    assert clustering_accuracy(y, found.view_labels[0]) == 1
    assert found.common == (0, 1)
    assert found.alignment is alignment


@pytest.mark.parametrize("is_clear", [True, False])
def test_the_best_view_need_not_be_one_of_those_that_are_matched(is_clear):
    Xs, y = clusters(n_views=3)
    noise = rng(3).normal(size=(3, 150, 12))
    for i in (0, 1) if is_clear else (2,):
        Xs[i] = Xs[i] / 5 + noise[i]
    views, rows = check_views(Xs), [np.arange(150)] * 2 + [np.full(150, -1)]
    alignment = Alignment(0, rows, [np.ones(150)] * 3, np.array([1, 1, 0.1]))
    found = label_views(views, check_aligned(None, views), alignment, None, 3, rng())
    assert found.best_view == (2 if is_clear else 0)
    assert clustering_accuracy(y, found.view_labels[found.best_view]) > 0.95
    # What is matched stays matched.
    assert found.alignment is alignment
    assert found.common == (0, 1)


def test_views_that_are_linked_get_one_naming_by_known_pairs():
    Xs, y = clusters()
    order = rng(1).permutation(150)
    Xs[1] = Xs[1][order]
    pairs = np.column_stack([np.arange(40), np.argsort(order)[:40]])
    views, known, alignment, bridge = setting(Xs, {(0, 1): pairs})
    found = label_views(views, known, alignment, bridge, 3, rng())
    assert found.alignment.verdict == ["objects", "classes"]
    assert found.alignment.basis == ["structure", "known pairs"]
    assert found.alignment.trust[1] == bridge.trust(0, 1) >= TRUSTED
    assert found.common == (0, 1)
    together = np.r_[found.view_labels[0], found.view_labels[1]]
    assert clustering_accuracy(np.r_[y, y[order]], together) > 0.95
    # Rows that are no known pairs still have no partner.
    assert (found.alignment.permutations[1] >= 0).sum() == 40


def test_links_that_say_nothing_are_no_verdict():
    draw = rng()
    Xs = [draw.normal(size=(80, 6)) for _ in range(2)]
    pairs = np.column_stack([np.arange(15), np.arange(15)])
    views, known, alignment, bridge = setting(Xs, {(0, 1): pairs})
    # A link is not trusted by chance here, whatever the data are.
    links = {(0, 1): bridge.links[0, 1]._replace(trust=0.2)}
    bridge = bridge._replace(links=links)
    found = label_views(views, known, alignment, bridge, 3, rng())
    template = found.alignment.template
    other = 1 - template
    assert found.alignment.verdict[template] == "objects"
    assert found.alignment.verdict[other] == "none"
    assert found.alignment.trust[other] == 0.2
    assert found.common == (template,)
    assert [len(labels) for labels in found.view_labels] == [80, 80]


def test_the_template_is_one_that_others_are_linked_with():
    (one, other), y = clusters()
    noise = rng(3).normal(size=(150, 5))
    pairs = np.column_stack([np.arange(60), np.arange(60)])
    views, known, alignment, bridge = setting([noise, one, other], {(1, 2): pairs})
    found = label_views(views, known, alignment, bridge, 3, rng())
    assert found.alignment.template == found.best_view == 1
    assert found.alignment.verdict == ["none", "objects", "classes"]
    assert found.alignment.trust[0] < TRUSTED
    assert found.common == (1, 2)
    assert_array_equal(found.alignment.permutations[2][:60], np.arange(60))
    together = np.r_[found.view_labels[1], found.view_labels[2]]
    assert clustering_accuracy(np.r_[y, y], together) > 0.95


def test_the_template_is_the_view_that_says_most_of_the_clusters():
    (dim, clear), _ = clusters()
    dim = dim + rng(3).normal(size=dim.shape)
    pairs = np.column_stack([np.arange(75), np.arange(75)])
    for Xs, best in (([dim, clear], 1), ([clear, dim], 0)):
        views, known, alignment, bridge = setting(Xs, {(0, 1): pairs})
        found = label_views(views, known, alignment, bridge, 3, rng())
        assert found.alignment.template == best
        assert found.alignment.verdict[best] == "objects"
        assert found.alignment.verdict[1 - best] == "classes"
        assert found.alignment.trust[1 - best] == bridge.trust(0, 1)
        assert_array_equal(found.alignment.pairs(0, 1)[:75], pairs)


def test_where_nothing_corresponds_the_clearest_view_is_the_template():
    (clear, _), y = clusters()
    noise = rng(3).normal(size=(150, 12))
    views = check_views([noise, clear])
    pairs = check_aligned({(0, 1): [(4, 9)]}, views)
    alignment = only_known(0, np.array([1.0, 0.3]), views, pairs)
    found = label_views(views, pairs, alignment, None, 3, rng())
    assert found.alignment.template == 1
    assert found.alignment.verdict == ["none", "objects"]
    assert found.alignment.trust[1] == 1
    assert found.alignment.trust[0] < TRUSTED
    assert found.common == (1,)
    assert_array_equal(found.alignment.pairs(0, 1), [[4, 9]])
    assert clustering_accuracy(y, found.view_labels[1]) == 1


def test_views_of_another_group_are_labelled_together_too():
    Xs, y = clusters(n_views=4)
    views = check_views(Xs)
    rows = [np.arange(150), np.arange(150), np.full(150, -1), np.full(150, -1)]
    sure = [(at >= 0).astype(float) for at in rows]
    apart = Alignment(2, rows[::-1], sure[::-1], np.array([0.1, 0.1, 1, 0.9]))
    alignment = Alignment(0, rows, sure, np.array([1, 0.9, 0.1, 0.1]), others=[apart])
    pairs = check_aligned(None, views)
    found = label_views(views, pairs, alignment, None, 3, rng())
    assert found.common == (0, 1)
    for i, j in ((0, 1), (2, 3)):
        assert_array_equal(found.view_labels[i], found.view_labels[j])
        assert clustering_accuracy(y, found.view_labels[i]) == 1


def test_linked_groups_are_those_that_no_matching_covers():
    Xs, _ = clusters(n_views=3)
    pairs = np.column_stack([np.arange(30), np.arange(30)])
    *_, alignment, bridge = setting(Xs, {(0, 1): pairs})
    assert bridge.groups == [(0, 1), (2,)]
    assert bridged_groups(alignment, bridge) == [(0, 1)]
    assert bridged_groups(alignment, None) == []
    matched = replace(alignment, verdict=["objects", "objects", "none"])
    assert bridged_groups(matched, bridge) == []
    apart = replace(alignment, template=1, verdict=["objects", "objects", "none"])
    assert bridged_groups(replace(alignment, others=[apart]), bridge) == []


def test_views_of_doubtful_matches_keep_their_own_clusters():
    template, view = np.array([0, 0, 1, 1, 2]), np.array([2, 2, 2, 0, 1, 0])
    rows = np.array([3, 5, 0, 1, 4])  # of the view, beside every row of the template
    sure = [np.ones(5), np.full(5, DOUBTFUL / 2)]
    alignment = Alignment(0, [np.arange(5), rows], sure, np.ones(2), ["a", "b"])
    assert clustered_together(alignment, [0, 1], 3) == (0,)
    renamed = rename(view, template, alignment, 1)
    # Cluster 0 stands beside cluster 0, 2 beside 1, 1 beside 2.
    assert_array_equal(renamed, [1, 1, 1, 0, 2, 0])
    sure[1] = np.full(5, 0.9)
    close = Alignment(0, [np.arange(5), rows], sure, np.ones(2), ["a", "b"])
    assert clustered_together(close, [0, 1], 3) == (0, 1)


@pytest.mark.parametrize("seed", range(4))
def test_renaming_keeps_the_clusters_and_agrees_most(seed):
    from itertools import permutations

    draw = rng(seed)
    template, view = draw.randint(4, size=40), draw.randint(4, size=40)
    rows = draw.permutation(40)
    rows[:8] = -1
    alignment = Alignment(0, [np.arange(40), rows], [np.ones(40)] * 2, np.ones(2))
    found = rename(view, template, alignment, 1)
    assert clustering_accuracy(view, found) == 1
    there = rows >= 0
    agree = (found[rows[there]] == template[there]).sum()
    best = max(
        (np.array(names)[view[rows[there]]] == template[there]).sum()
        for names in permutations(range(4))
    )
    assert agree == best


def test_a_doubtful_partner_does_not_count():
    draw = rng()
    y = np.arange(90) % 3
    Xs = [draw.normal(size=(90, 4)) + 9 * np.eye(3, 4)[y] for _ in range(2)]
    wrong = np.arange(0, 90, 10)
    rows, sure = np.arange(90), np.ones(90)
    rows[wrong] = np.roll(wrong, 1)  # of another class, each of them
    sure[wrong] = DOUBTFUL / 2
    assert (y[rows] != y).sum() == len(wrong)
    alignment = Alignment(0, [np.arange(90), rows], [np.ones(90), sure], np.ones(2))
    labels, _ = label_together(check_views(Xs), alignment, (0, 1), 3, draw)
    for i in (0, 1):
        assert clustering_accuracy(y, labels[i]) == 1


def partners(n, there):
    """Partners of n template rows, all but some of them missing."""
    rows = np.full(n, -1)
    rows[there] = np.arange(len(there))
    return rows


def test_a_view_of_few_rows_leaves_clusters_to_the_others():
    many = 4 * ENOUGH_PER_CLUSTER
    rows = [
        np.arange(100),
        partners(100, np.arange(many // 4 - 1)),
        partners(100, np.arange(many)),
    ]
    sure = [(at >= 0).astype(float) for at in rows]
    alignment = Alignment(0, rows, sure, np.ones(3))
    # Of the third there are enough rows of every cluster; of the second there are not.
    assert clustered_together(alignment, [0, 1, 2], 4) == (0, 2)
    assert clustered_together(alignment, [0, 1], 4) == (0,)
    assert clustered_together(alignment, [0, 2], 5) == (0,)
    assert clustered_together(alignment, [1, 2], 4) == ()


def test_a_partner_is_there_and_not_doubtful():
    rows = [np.arange(3), np.array([2, -1, 0])]
    sure = [np.ones(3), np.array([DOUBTFUL, 0, DOUBTFUL / 2])]
    alignment = Alignment(0, rows, sure, np.ones(2))
    assert_array_equal(has_partner(alignment, 1), [True, False, False])


def test_rows_without_partner_are_labelled_by_likeness():
    Xs, y = clusters()
    views = check_views([Xs[0], Xs[1][:100]])
    rows = np.where(np.arange(150) < 100, np.arange(150), -1)
    sure = [np.ones(150), (rows >= 0).astype(float)]
    alignment = Alignment(0, [np.arange(150), rows], sure, np.ones(2))
    labels, _ = label_together(views, alignment, (0, 1), 3, rng())
    assert [len(labels[i]) for i in (0, 1)] == [150, 100]
    assert clustering_accuracy(y, labels[0]) == 1
    assert_array_equal(labels[0][:100], labels[1])


def test_labels_are_the_same_for_the_same_random_numbers():
    X, Y, _ = shuffled_pair(100)
    views = check_views([X, Y])
    pairs, alignment = check_aligned("all", views), aligned_all(100, 2)
    one, other = (
        label_views(views, pairs, alignment, None, 4, rng(3)) for _ in range(2)
    )
    for ours, theirs in zip(one.view_labels, other.view_labels, strict=True):
        assert_array_equal(ours, theirs)
