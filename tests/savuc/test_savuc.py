"""SAVuC as a user meets it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unaligned import SAVuC
from unaligned.alignment import Alignment
from unaligned.datasets import load_digits_views, unalign
from unaligned.metrics import clustering_scores
from unaligned.savuc.estimator import (
    DOUBTFUL,
    label_together,
    matched_objects,
    rename,
)
from unaligned.views import check_views


@pytest.fixture(scope="module")
def digits():
    data = load_digits_views()
    return [data.Xs[i][:400] for i in (0, 3)], data.y[:400]


@pytest.fixture(scope="module")
def fitted(digits):
    shuffled = unalign(*digits, random_state=0)
    return SAVuC(10, effort="quick", random_state=0).fit(shuffled.Xs), shuffled


def test_every_row_of_every_view_gets_a_label_that_means_something(fitted):
    model, shuffled = fitted
    assert model.fused_views_ == (0, 1)
    for y, labels in zip(shuffled.ys, model.view_labels_, strict=True):
        assert clustering_scores(y, labels)["acc"] > 0.6
    assert model.labels_ is model.view_labels_[0]


def test_partners_share_their_label(fitted):
    model, _ = fitted
    sure = np.min(model.alignment_.confidence, axis=0) >= DOUBTFUL
    rows = [at[sure] for at in model.alignment_.permutations]
    assert_array_equal(model.view_labels_[0][rows[0]], model.view_labels_[1][rows[1]])
    assert sure.mean() > 0.5


def test_single_views_are_the_floor_and_kept(fitted):
    model, shuffled = fitted
    alone = model.single_view_labels_
    assert [labels.shape for labels in alone] == [(400,), (400,)]
    assert model.single_view_labels_ is alone
    assert clustering_scores(shuffled.ys[0], alone[0])["acc"] > 0.5


def test_predict_agrees_with_the_labels(fitted):
    model, shuffled = fitted
    for i, X in enumerate(shuffled.Xs):
        assert np.mean(model.predict(X, view=i) == model.view_labels_[i]) > 0.9


def test_unrelated_views_are_labelled_from_their_own_structure(digits):
    (pixels, _), y = digits
    rng = np.random.RandomState(0)
    noise = np.column_stack([rng.permutation(column) for column in pixels.T])
    model = SAVuC(10, effort="quick", random_state=0).fit([noise, pixels])
    assert model.fused_views_ == (model.template_,) == (1,)
    assert (model.alignment_.permutations[0] == -1).all()
    assert model.alignment_.trust[0] < 0.5
    assert clustering_scores(y, model.view_labels_[1])["acc"] > 0.5
    assert len(model.view_labels_[0]) == 400


def test_rows_without_partner_are_labelled_too(digits):
    shuffled = unalign(*digits, random_state=0)
    Xs = [shuffled.Xs[0], shuffled.Xs[1][:330]]
    model = SAVuC(10, effort="quick", random_state=0).fit(Xs)
    assert [len(labels) for labels in model.view_labels_] == [400, 330]
    assert len(model.fused_views_) == 2
    assert clustering_scores(shuffled.ys[0], model.view_labels_[0])["acc"] > 0.55


def test_known_pairs_are_kept(digits):
    shuffled = unalign(*digits, ratio=0.5, random_state=0)
    p = shuffled.n_aligned
    model = SAVuC(10, effort="quick", random_state=0).fit(shuffled.Xs, aligned=p)
    for rows in model.alignment_.permutations:
        assert_array_equal(rows[:p], np.arange(p))


def test_the_same_seed_gives_the_same_labels(digits):
    Xs = [X[:120] for X in digits[0]]
    fits = [SAVuC(5, effort="quick", random_state=1).fit(Xs) for _ in range(2)]
    for one, other in zip(*(model.view_labels_ for model in fits), strict=True):
        assert_array_equal(one, other)


def test_views_matched_by_class_alone_keep_their_own_clusters():
    template, view = np.array([0, 0, 1, 1, 2]), np.array([2, 2, 2, 0, 1, 0])
    rows = np.array([3, 5, 0, 1, 4])  # of the view, beside every row of the template
    sure = [np.ones(5), np.full(5, 0.1)]
    alignment = Alignment(0, [np.arange(5), rows], sure, np.ones(2), ["a", "b"])
    assert matched_objects(alignment, 3) == (0,)
    renamed = rename(view, template, alignment, 1)
    # Cluster 0 stands beside cluster 0, 2 beside 1, 1 beside 2.
    np.testing.assert_array_equal(renamed, [1, 1, 1, 0, 2, 0])
    sure[1] = np.full(5, 0.9)
    close = Alignment(0, [np.arange(5), rows], sure, np.ones(2), ["a", "b"])
    assert matched_objects(close, 3) == (0, 1)


def test_a_doubtful_partner_is_not_listened_to():
    rng = np.random.RandomState(0)
    y = np.arange(90) % 3
    Xs = [rng.normal(size=(90, 4)) + 9 * np.eye(3, 4)[y] for _ in range(2)]
    wrong = np.arange(0, 90, 10)
    rows, sure = np.arange(90), np.ones(90)
    rows[wrong] = np.roll(wrong, 1)  # of another class, each of them
    sure[wrong] = DOUBTFUL / 2
    assert (y[rows] != y).sum() == len(wrong)
    alignment = Alignment(0, [np.arange(90), rows], [np.ones(90), sure], np.ones(2))
    labels = label_together(check_views(Xs), alignment, (0, 1), 3, rng)
    for i in (0, 1):
        assert clustering_scores(y, labels[i])["acc"] == 1


def partners(n, there):
    """Partners of n template rows, all but some of them missing."""
    rows = np.full(n, -1)
    rows[there] = np.arange(len(there))
    return rows


def test_a_view_of_few_rows_leaves_clusters_to_the_others():
    rows = [np.arange(100), partners(100, np.arange(9)), partners(100, np.arange(40))]
    sure = [(at >= 0).astype(float) for at in rows]
    trusted = {"all": [1, 1, 1], "ab": [1, 1, 0], "ac": [1, 0, 1]}
    told = {
        who: Alignment(0, rows, sure, np.array(trust)) for who, trust in trusted.items()
    }
    # Of the third, 40 rows are ten of every cluster; of the second, 9 are not.
    assert matched_objects(told["all"], 4) == (0, 2)
    assert matched_objects(told["ab"], 4) == (0,)
    assert matched_objects(told["ac"], 5) == (0,)


def test_known_partners_of_views_that_share_no_row():
    rng = np.random.RandomState(0)
    objects = rng.normal(size=(40, 5)) + 6 * (np.arange(40)[:, None] % 2)
    Xs = [objects @ rng.normal(size=(5, 4)) for _ in range(3)]
    Xs[1:] = Xs[1][:10], Xs[2][20:30]
    known = {
        (0, 1): np.column_stack([np.arange(10), np.arange(10)]),
        (0, 2): np.column_stack([np.arange(20, 30), np.arange(10)]),
    }
    model = SAVuC(2, effort="quick", random_state=0).fit(Xs, aligned=known)
    assert model.fused_views_ == (0, 1, 2)
    for i in (1, 2):
        _, mine = model.alignment_.pairs(0, i).T
        assert_array_equal(model.alignment_.pairs(0, i), known[0, i])
        assert_array_equal(mine, np.arange(10))
    labels = [model.view_labels_[i] for i in (0, 1, 2)]
    for i, rows in ((1, slice(0, 10)), (2, slice(20, 30))):
        assert_array_equal(labels[i], labels[0][rows])  # one class, one name
    assert np.isfinite(model.embedding_).all()
    assert model.transform(Xs[2], view=2).shape[1] == model.embedding_.shape[1]


def test_where_half_of_the_rows_have_no_partner_the_template_is_the_clearest_view():
    rng = np.random.RandomState(0)
    y = np.arange(200) % 4
    clear = 4 * rng.normal(size=(4, 6))[y] + rng.normal(size=(200, 6))
    noise = rng.normal(size=(200, 6)) + 0.1 * y[:, None]
    known = {(0, 1): np.column_stack([np.arange(100), np.arange(100)])}
    model = SAVuC(4, effort="quick", random_state=0)
    model.fit([noise, clear], aligned=known)
    assert model.fused_views_ == (0, 1)
    assert model.template_ == 1
    assert_array_equal(model.alignment_.permutations[0][:100], np.arange(100))
    assert clustering_scores(y, model.view_labels_[1])["acc"] > 0.9
    partners = model.view_labels_[0][:100], model.view_labels_[1][:100]
    assert_array_equal(*partners)
