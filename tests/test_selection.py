"""Choices made without labels are right where the right answer is known."""

import json
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    pairwise_distances,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import unaligned
from tests.conftest import make_blobs
from unaligned import PAVuC, SAVuC
from unaligned.alignment import Alignment
from unaligned.baselines import LMVSC
from unaligned.datasets import unalign
from unaligned.deadline import Deadline
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.scores import draw_halves, predictions
from unaligned.savuc.recipes import diffusion_map, space_of_points
from unaligned.selection import (
    LabelFreeSearch,
    n_clusters,
    predictability,
    select_n_clusters,
    self_split,
    self_split_recovery,
    stability,
)
from unaligned.selection.checkpoint import Checkpoint
from unaligned.selection.criteria import draw_rows, pairs_among, scored_views
from unaligned.selection.evidence import weigh
from unaligned.selection.families import branches, make_families, ward_tree
from unaligned.selection.n_clusters import (
    choose_n_clusters,
    mean_agreement,
    numbers_to_try,
)
from unaligned.views import check_views

# predictability


def test_classes_are_predictable_and_shuffled_classes_are_not(blobs):
    Xs, y = blobs
    guessed = np.random.RandomState(0).permutation(y)
    assert (predictability(Xs, y) > 0.95).all()
    assert (predictability(Xs, guessed) < 0.2).all()


def test_every_view_is_asked_for_its_own_labels(blobs):
    Xs, y = blobs
    guessed = np.random.RandomState(0).permutation(y)
    scores = predictability(Xs, [y, guessed, y])
    assert scores[1] < 0.2 < 0.95 < min(scores[0], scores[2])


def test_predictability_ignores_the_names_of_clusters_and_the_kind_of_matrix(blobs):
    Xs, y = blobs
    renamed = np.array(["z", "a", "m"])[y]
    np.testing.assert_array_equal(predictability(Xs, y), predictability(Xs, renamed))
    packed = [sparse.csr_array(X) for X in Xs]
    np.testing.assert_allclose(predictability(Xs, y), predictability(packed, y))


def test_one_cluster_tells_nothing(blobs):
    Xs, y = blobs
    assert (predictability(Xs, np.zeros_like(y)) == 0.01).all()


def test_many_rows_are_sampled():
    Xs, y = make_blobs(n=4000)
    seen = predictability(Xs, y, random_state=1)
    assert (seen > 0.95).all()
    np.testing.assert_array_equal(seen, predictability(Xs, y, random_state=1))


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([np.zeros(60), np.zeros(60)], "2 arrays, but there are 3 views"),
        (np.zeros(59), r"view 0 has 60 rows, but its labels have shape \(59,\)"),
        ([np.zeros(60), np.zeros(60), np.zeros(61)], "view 2 has 60 rows"),
    ],
)
def test_labels_that_do_not_fit_get_a_complaint(blobs, labels, complaint):
    with pytest.raises(ValueError, match=complaint):
        predictability(blobs[0], labels)


def test_only_scored_views_count(blobs):
    Xs, _ = blobs
    paired = LMVSC(3, random_state=0, reference_view=1)
    assert scored_views(paired.fit(Xs)) == [1]
    assert scored_views(paired.fit(Xs, aligned="all")) == [0, 1, 2]
    assert scored_views(
        paired.fit(Xs, aligned={(1, 2): [[r, r] for r in range(40)]})
    ) == [1, 2]


# stability


def test_clear_clusters_are_stable_and_noise_is_not(blobs):
    Xs, _ = blobs
    noise = [np.random.RandomState(i).normal(size=X.shape) for i, X in enumerate(Xs)]
    model = LMVSC(3, n_init=1)
    assert stability(model, Xs, aligned="all") > 0.9
    assert stability(model, noise, aligned="all") < 0.6


def test_stability_of_two_fits_is_their_agreement_on_shared_rows(blobs):
    Xs = [X[:, :2] for X in blobs[0]]
    found = stability(
        LMVSC(4, n_init=1), Xs, aligned="all", n_repeats=2, random_state=3
    )
    rng = np.random.RandomState(3)
    pairs = check_aligned("all", check_views(Xs))
    whole = np.full((2, 60), -1)
    for labels in whole:
        rows = draw_rows(pairs, 0.8, rng)[0]
        seed = int(rng.randint(np.iinfo(np.int32).max))
        model = LMVSC(4, n_init=1, random_state=seed)
        labels[rows] = model.fit([X[rows] for X in Xs], aligned="all").labels_
    shared = (whole >= 0).all(axis=0)
    assert found == pytest.approx(adjusted_mutual_info_score(*whole[:, shared]))


def test_partners_are_drawn_together():
    identities = [np.array([0, 1, 2, 3, -1, -1]), np.array([-1, 3, 2, 1, 0, -1])]
    rng = np.random.RandomState(0)
    for _ in range(20):
        rows = draw_rows(KnownPairs(identities), 0.5, rng)
        assert [len(kept) for kept in rows] == [3, 3]
        pairs = pairs_among(KnownPairs(identities), rows) or {(0, 1): []}
        for at_one, at_other in pairs[0, 1]:
            one, other = rows[0][at_one], rows[1][at_other]
            assert identities[0][one] == identities[1][other] >= 0


def test_all_aligned_rows_stay_aligned_when_drawn():
    views = check_views([np.eye(9), np.eye(9)])
    one, other = draw_rows(check_aligned("all", views), 2 / 3, np.random.RandomState(0))
    assert len(one) == 6
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("wrong", [{"share": 0}, {"share": 1.5}, {"n_repeats": 1}])
def test_stability_compares_at_least_two_fits(blobs, wrong):
    with pytest.raises(ValueError, match="stability compares fits"):
        stability(LMVSC(3), blobs[0], **wrong)


# self-split


@pytest.mark.parametrize("pack", [np.asarray, sparse.csr_array])
def test_halves_hold_all_columns_once_and_their_rows_are_known(pack):
    X = np.arange(70.0).reshape(10, 7)
    split = self_split(pack(X), random_state=0)
    halves = [half.toarray() if sparse.issparse(half) else half for half in split.Xs]
    restored = np.hstack(
        [half[np.argsort(rows)] for half, rows in zip(halves, split.order, strict=True)]
    )
    np.testing.assert_array_equal(np.sort(restored, axis=1), X)
    assert [half.shape[1] for half in halves] == [4, 3]


def test_a_view_of_three_columns_cannot_be_split():
    with pytest.raises(ValueError, match="X has 3 columns, and each half needs 2"):
        self_split(np.eye(3))
    assert np.isnan(self_split_recovery(LMVSC(2), [np.eye(3)]))


def known_answer(Xs):
    """Align halves by a column sum that was planted in both."""
    orders = [np.argsort(X.sum(axis=1)) for X in Xs]
    rows = np.empty(len(orders[0]), dtype=int)
    rows[orders[0]] = orders[1]
    rows[orders[0][:10]] = -1  # and without an answer for ten rows
    return Alignment(
        0, [np.arange(len(rows)), rows], [np.ones(len(rows))] * 2, np.ones(2)
    )


def test_recovery_is_the_share_of_rows_that_find_their_other_half():
    X = np.repeat(np.arange(40.0)[:, None], 6, axis=1)
    assert self_split_recovery(known_answer, [X])[0] == 0.75


def test_an_estimator_is_cloned_and_judged_by_its_alignment(blobs):
    model = LMVSC(3, n_init=1, random_state=0)
    found = self_split_recovery(model, blobs[0])
    assert found.shape == (3,)
    assert (found < 0.2).all()  # it takes row r of both halves for one object
    assert not hasattr(model, "labels_")


# the number of clusters


@pytest.mark.parametrize("k", [3, 6])
def test_the_number_of_clear_clusters_is_found(k):
    Xs, _ = make_blobs(n=180, k=k, widths=(8, 9), seed=k, spread=0.3)
    choice = select_n_clusters(Xs, range(2, 10))
    assert choice.n_clusters == k
    assert choice.interval[0] <= k <= choice.interval[1]
    assert not choice.flat
    assert choice.agreement.shape == choice.modularity.shape == (2, 8)
    np.testing.assert_array_equal(choice.scores, choice.modularity.mean(axis=0))


def test_a_view_of_noise_does_not_hide_the_clusters_of_another():
    Xs, _ = make_blobs(n=150, k=4, widths=(8,), spread=0.2)
    noise = np.random.RandomState(0).normal(size=(150, 8))
    assert select_n_clusters([noise, Xs[0]], range(2, 8)).n_clusters == 4


def test_groups_of_groups_are_all_named():
    rng = np.random.RandomState(0)
    groups = 6 * rng.normal(size=(3, 10))[np.arange(240) % 3]
    parts = rng.normal(size=(12, 10))[np.arange(240) % 12]
    X = groups + parts + 0.5 * rng.normal(size=(240, 10))
    choice = select_n_clusters(X, range(2, 16))
    assert 3 in {choice.n_clusters, *choice.alternatives}
    assert 12 in {choice.n_clusters, *choice.alternatives}


def test_a_view_of_few_different_rows_has_no_more_clusters_than_those():
    few = np.eye(3)[np.arange(90) % 3]
    choice = select_n_clusters(few, range(2, 8))
    assert choice.n_clusters == 3
    assert (choice.scores[2:] == 0).all()


def test_agreement_is_the_mean_of_all_pairs():
    pool = [np.random.RandomState(seed).randint(4, size=60) for seed in range(4)]
    pool[1] = pool[0]
    pairs = [adjusted_rand_score(pool[i], pool[j]) for i in range(4) for j in range(i)]
    assert mean_agreement(pool) == pytest.approx(np.mean(pairs))


def test_ward_is_scipys():
    points = np.random.RandomState(0).normal(size=(60, 4))
    expected = cut_tree(linkage(points, "ward"), 5).ravel()
    assert adjusted_rand_score(expected, branches(ward_tree(points), 5)) == 1


def test_families_hold_every_number_of_clusters_and_k_means_has_come_to_rest():
    points = np.random.RandomState(0).normal(size=(120, 4))
    space = space_of_points(points)
    families = make_families(space, [2, 5, 9], np.random.RandomState(0))
    for family in families:
        assert {k: len(np.unique(labels)) for k, labels in family.items()} == {
            k: k for k in (2, 5, 9)
        }
    near_means, diffused = families
    for k in (2, 5, 9):
        tree = AgglomerativeClustering(k).fit_predict(space.points)
        start = np.array([space.points[tree == i].mean(axis=0) for i in range(k)])
        expected = KMeans(k, init=start, n_init=1).fit_predict(space.points)
        assert adjusted_rand_score(expected, near_means[k]) == 1
        embedded = diffusion_map(space, k + k // 2, np.random.RandomState(0))
        for rows, labels in ((space.points, near_means[k]), (embedded, diffused[k])):
            means = np.array([rows[labels == name].mean(axis=0) for name in range(k)])
            nearest = pairwise_distances(rows, means).argmin(axis=1)
            assert np.mean(nearest == labels) > 0.98  # but for its tolerance


CANDIDATES = np.array([2, 3, 4, 6, 9, 13, 20])


def test_the_interval_holds_what_comes_near_the_best_of_either_score():
    modularity = np.array([[0.1, 0.2, 0.3, 0.5, 0.6, 0.56, 0.3]])
    agreement = np.array([[0.5, 0.8, 0.9, 0.82, 0.5, 0.85, 0.2]])
    found = weigh(CANDIDATES, modularity, agreement)
    assert found.n_clusters == 9
    # Modularity: 9 and 13; agreement: 4 and 6.
    assert found.interval == (4, 13)
    assert found.alternatives == (4, 13)
    assert found.flat  # 13/4 is more than the root of 20/2
    assert "flat: anything from 4 to 13" in found.sentence()
    sure = weigh(CANDIDATES, agreement, agreement)
    assert sure.interval == (4, 6)
    assert not sure.flat
    expected = "The number of clusters, 4, was chosen without labels; 4 to 6 may be "
    assert sure.sentence() == f"{expected}right; other peaks: 13."


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_clusters": 5},
        {"interval": (2, 5)},
        {"interval": (2,)},
        {"alternatives": (99,)},
        {"candidates": CANDIDATES[::-1].copy()},
        {"candidates": CANDIDATES[:-1]},
        {"modularity": np.ones((1, 3))},
    ],
)
def test_made_up_evidence_is_refused(wrong):
    found = weigh(CANDIDATES, np.ones((1, 7)), np.ones((1, 7)))
    with pytest.raises(ValueError, match="evidence must be"):
        replace(found, **wrong)


@given(
    arrays(np.float64, (2, 7), elements=st.floats(0, 1)),
    arrays(np.float64, (2, 7), elements=st.floats(0, 1)),
    st.floats(0.5, 1),
)
def test_intervals_by_brute_force(modularity, agreement, near):
    found = weigh(CANDIDATES, modularity, agreement, near)
    supported = set()
    for scores in (agreement.mean(axis=0), modularity.mean(axis=0)):
        best = int(np.argmax(scores))
        for at in range(7):
            between = scores[min(at, best) : max(at, best) + 1]
            if (between >= near * scores[best]).all():
                supported.add(int(CANDIDATES[at]))
    assert found.interval == (min(supported), max(supported))
    assert found.n_clusters in supported
    assert found.n_clusters not in found.alternatives
    assert found.n_clusters == CANDIDATES[np.argmax(modularity.mean(axis=0))]


def test_where_no_time_is_left_the_first_view_decides(capsys):
    Xs, _ = make_blobs(n=150, k=4, widths=(8, 9, 7), spread=0.2)
    views = check_views(Xs)
    rng = np.random.RandomState(0)
    found = choose_n_clusters(views, rng, verbose=1, deadline=Deadline(0))
    assert found.n_clusters == 4
    assert len(found.modularity) == 1
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 1
    assert told[0].startswith("[n_clusters] view 0: 4 clusters are best, ")


def test_where_time_is_up_in_the_first_view_one_of_its_scales_decides(monkeypatch):
    """By a clock that jumps when a space has been clustered."""
    Xs, _ = make_blobs(n=150, k=4, widths=(8, 9), spread=0.2)
    now, spaces = [0.0], []

    def jump(space, *arguments):
        now[0] = 10.0
        spaces.append(space)
        return make_families(space, *arguments)

    monkeypatch.setattr(n_clusters, "make_families", jump)
    deadline = Deadline(10, lambda: now[0])
    rng = np.random.RandomState(0)
    found = choose_n_clusters(check_views(Xs), rng, deadline=deadline)
    assert found.n_clusters == 4
    assert len(spaces) == len(found.modularity) == 1


def test_one_row_is_not_enough():
    with pytest.raises(ValueError, match=r"\[60, 1\] rows\. Bring at least 2"):
        select_n_clusters([np.ones((60, 2)), np.ones((1, 2))])


def test_predictions_of_separate_clusters_are_the_clusters():
    Xs, y = make_blobs(n=80, k=4, widths=(6,))
    features = view_features(Xs[0])
    half = draw_halves(80, np.random.RandomState(0))
    for answer in predictions([features], y, 4, half):
        np.testing.assert_array_equal(answer, y)


def test_numbers_grow_and_leave_five_rows_to_a_cluster():
    assert list(numbers_to_try(1)) == [1]
    assert list(numbers_to_try(12)) == [2]
    assert list(numbers_to_try(50)) == list(range(2, 11))
    many = numbers_to_try(10**6)
    assert 150 < many[-1] <= 200
    assert (np.diff(many) >= 1).all()
    assert (np.diff(many) <= np.maximum(1, 0.15 * many[1:])).all()


@pytest.mark.parametrize("k_range", [[], [1, 2], [2, 61]])
def test_a_range_outside_the_rows_gets_a_complaint(blobs, k_range):
    with pytest.raises(ValueError, match="from 2 to the 60 rows"):
        select_n_clusters(blobs[0], k_range)


@pytest.mark.parametrize(
    "model",
    [PAVuC("auto", max_iter=5), SAVuC("auto", effort="quick")],
    ids=["PAVuC", "SAVuC"],
)
def test_auto_is_the_number_that_would_be_selected(model):
    Xs, _ = make_blobs(n=90, k=4, widths=(7, 8), spread=0.2)
    model.set_params(random_state=0).fit(Xs)
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == model.clusters_evidence_.n_clusters == 4
    # PAVuC leaves a cluster empty with some seeds, also where 4 are asked for.
    assert {*model.view_labels_[model.template_]} <= {0, 1, 2, 3}
    assert len(model.single_view_labels_) == 2
    same = type(model)(**model.get_params() | {"n_clusters": 4}).fit(Xs)
    assert same.n_clusters_ == 4
    assert same.clusters_evidence_ is None


def test_flat_evidence_is_a_warning_and_travels_with_the_model(tmp_path):
    noise = [np.random.RandomState(i).normal(size=(60, 6)) for i in range(2)]
    with pytest.warns(UserWarning, match="number of clusters is flat"):
        model = PAVuC("auto", max_iter=3, random_state=0).fit(noise)
    model.save(tmp_path / "model")
    back = unaligned.load(tmp_path / "model").clusters_evidence_
    assert back.flat
    assert back.interval == model.clusters_evidence_.interval
    np.testing.assert_array_equal(back.agreement, model.clusters_evidence_.agreement)


@pytest.mark.parametrize("cls", [PAVuC, SAVuC])
def test_no_other_word_than_auto_is_a_number(cls, blobs):
    with pytest.raises(ValueError, match="'auto'"):
        cls("many").fit(blobs[0])


# LabelFreeSearch

GRID = {"n_anchors": [3, 4], "alpha": [0.1, 1.0]}


def by_anchors(model, Xs, aligned=None):
    """A criterion whose answer is known: the more anchors the better."""
    return model.n_anchors - model.alpha


def test_the_search_keeps_what_the_criterion_prefers(blobs):
    Xs, _ = blobs
    model = LMVSC(3, n_init=1)
    search = LabelFreeSearch(model, GRID, criterion=by_anchors, n_repeats=2).fit(Xs)
    assert search.best_params_ == {"alpha": 0.1, "n_anchors": 4}
    assert search.best_score_ == pytest.approx(3.9)
    assert search.best_estimator_.n_anchors == 4
    np.testing.assert_array_equal(search.labels_, search.best_estimator_.labels_)
    table = pd.DataFrame(search.results_)
    assert list(table["rank_score"]) == [3, 1, 4, 2]
    assert table["mean_score"][search.best_index_] == search.best_score_
    assert {"param_alpha", "param_n_anchors", "repeat1_score"} <= set(table)
    assert not hasattr(model, "labels_")


def test_candidates_meet_the_same_seeds_and_the_best_fit_is_kept(blobs):
    seeds = {}

    def noting(model, Xs, aligned=None):
        seeds.setdefault(model.n_anchors, []).append(model.random_state)
        return model.random_state / 2**31

    search = LabelFreeSearch(
        LMVSC(3), {"n_anchors": [3, 4]}, criterion=noting, n_repeats=3
    )
    search.fit(blobs[0])
    assert seeds[3] == seeds[4]
    assert len(set(seeds[3])) == 3
    assert search.best_estimator_.random_state == max(seeds[3])


def test_good_settings_are_told_from_bad_ones_without_labels():
    Xs, y = make_blobs(n=90, k=3, spread=0.5)
    data = unalign(Xs, y, random_state=0)
    grid = {"n_anchors": [2, 3, 9], "mu": [0.001, 100.0]}
    search = LabelFreeSearch(PAVuC(3, max_iter=20), grid).fit(data.Xs)
    true = []
    for parameters in search.results_["params"]:
        model = clone(search.best_estimator_).set_params(**parameters).fit(data.Xs)
        found = model.view_labels_[model.template_]
        true.append(clustering_accuracy(data.ys[model.template_], found))
    assert true[search.best_index_] == max(true) > min(true) + 0.2


@pytest.mark.parametrize("criterion", ["predictability", "stability", "recovery"])
def test_every_named_criterion_works_with_and_without_view_sizes(criterion, blobs):
    Xs, _ = blobs
    model, grid = LMVSC(3, n_init=1), {"alpha": [0.1]}
    search = LabelFreeSearch(model, grid, criterion=criterion)
    apart = search.fit(Xs).best_score_
    model.set_params(view_sizes=[X.shape[1] for X in Xs])
    together = LabelFreeSearch(model, grid, criterion=criterion).fit(np.hstack(Xs))
    assert np.isfinite(apart)
    assert together.best_score_ == pytest.approx(apart)


def test_side_by_side_gives_what_one_after_the_other_gives(blobs):
    search = LabelFreeSearch(LMVSC(3, n_init=1), GRID, n_repeats=2)
    one = search.fit(blobs[0]).results_
    two = search.set_params(n_jobs=2).fit(blobs[0]).results_
    np.testing.assert_array_equal(one["mean_score"], two["mean_score"])


ASKED = []


def counted(model, Xs, aligned=None):
    """Tell how often it was asked."""
    ASKED.append(model.alpha)
    return model.alpha


def test_a_search_goes_on_from_its_checkpoint(blobs, tmp_path):
    ASKED.clear()
    path, model = tmp_path / "search.jsonl", LMVSC(3, n_init=1)
    search = LabelFreeSearch(model, GRID, criterion=counted, checkpoint=path)
    first = search.fit(blobs[0]).results_
    assert len(ASKED) == 4
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "no JSON", '{"key": 1}', lines[2][:30]]))
    again = search.fit(blobs[0]).results_
    assert len(ASKED) == 6  # two were lost: one torn, one cut off
    np.testing.assert_array_equal(first["mean_score"], again["mean_score"])
    larger = search.set_params(param_grid=GRID | {"alpha": [0.1, 1.0, 2.0]})
    assert larger.fit(blobs[0]).best_params_["alpha"] == 2.0
    assert len(ASKED) == 8
    search.fit([X + 1 for X in blobs[0]])  # other data: nothing can be taken over
    assert len(ASKED) == 14


def test_a_line_after_a_torn_one_can_be_read(tmp_path):
    path = tmp_path / "search.jsonl"
    path.write_text('{"key": "torn", "sco')
    checkpoint = Checkpoint(path)
    checkpoint.append("whole", "alpha=1", 0.5, 2.0)
    assert checkpoint.read() == {"whole": {"score": 0.5, "seconds": 2.0}}
    assert json.loads(path.read_text().splitlines()[1])["setting"] == "alpha=1"


def test_a_candidate_that_fails_is_passed_over_and_named(blobs):
    grid = {"n_anchors": [0, 3]}
    search = LabelFreeSearch(LMVSC(3, n_init=1), grid)
    with pytest.warns(FitFailedWarning, match="n_anchors=0 is passed over"):
        search.fit(blobs[0])
    assert search.best_params_ == {"n_anchors": 3}
    assert list(search.results_["rank_score"]) == [2, 1]
    assert np.isnan(search.results_["mean_score"][0])


def test_where_all_fail_the_first_error_is_raised(blobs):
    with pytest.raises(ValueError, match="'n_anchors' parameter of LMVSC"):
        LabelFreeSearch(LMVSC(3), {"n_anchors": [0, -1]}).fit(blobs[0])
    with pytest.raises(ValueError, match="no finite number for any candidate"):
        LabelFreeSearch(LMVSC(3), GRID, criterion=lambda *_: float("nan")).fit(blobs[0])


def test_a_checkpoint_needs_a_criterion_it_can_name(blobs, tmp_path):
    search = LabelFreeSearch(
        LMVSC(3), GRID, criterion=lambda *_: 1.0, checkpoint=tmp_path / "c"
    )
    with pytest.raises(ValueError, match="at the top of a module"):
        search.fit(blobs[0])


def test_progress_names_every_fit(blobs, capsys, tmp_path):
    path = tmp_path / "search.jsonl"
    search = LabelFreeSearch(LMVSC(3), {"alpha": [0.1]}, checkpoint=path, verbose=1)
    search.fit(blobs[0])
    assert "[LabelFreeSearch] 1/1 alpha=0.1: score" in capsys.readouterr().out
    search.fit(blobs[0])
    assert f"1/1 found in {path}" in capsys.readouterr().out


def test_new_rows_are_labelled_by_the_best(blobs):
    Xs, _ = blobs
    search = LabelFreeSearch(PAVuC(3, max_iter=5), {"mu": [0.1, 1.0]}).fit(Xs)
    best = search.best_estimator_
    np.testing.assert_array_equal(search.predict(Xs[1], 1), best.predict(Xs[1], 1))
    assert not hasattr(LabelFreeSearch(LMVSC(3), {}), "predict")


def test_a_search_can_be_saved(blobs, tmp_path):
    search = LabelFreeSearch(
        PAVuC(3, max_iter=5), {"mu": [0.1, 1.0]}, checkpoint=tmp_path / "c"
    )
    search.fit(blobs[0]).save(tmp_path / "model")
    back = unaligned.load(tmp_path / "model")
    assert back.best_params_ == search.best_params_
    assert back.checkpoint == search.checkpoint
    np.testing.assert_array_equal(
        back.predict(blobs[0][0]), search.predict(blobs[0][0])
    )


SEARCH = LabelFreeSearch(PAVuC(n_clusters=3, max_iter=3, n_init=1), {"mu": [0.1]})


@parametrize_with_checks([SEARCH])
def test_sklearn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        check(estimator)


def test_no_check_was_lost():
    (mark,) = [m for m in test_sklearn_checks.pytestmark if m.name == "parametrize"]
    checks = list(mark.args[1])
    assert not [check for check in checks if getattr(check, "marks", ())]
    assert Counter(type(e).__name__ for e, _ in checks)["LabelFreeSearch"] >= 40
