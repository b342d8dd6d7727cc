"""SAVuC as a user meets it."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from related_views import FEW_RIVALS, measured_views, shuffled_columns, shuffled_pair
from scipy import sparse

from unaligned import SAVuC, checkpoints, load
from unaligned.alignment import TRUSTED
from unaligned.checkpoints import FitCheckpoint
from unaligned.datasets import load_digits_views, unalign
from unaligned.deadline import Deadline
from unaligned.metrics import clustering_scores, instance_alignment_rate
from unaligned.savuc import estimator, outcome
from unaligned.savuc.labels import DOUBTFUL


def quick(n_clusters, **options):
    return SAVuC(n_clusters, **{"effort": FEW_RIVALS, "random_state": 0, **options})


@pytest.fixture(scope="module")
def digits():
    data = load_digits_views()
    return [data.Xs[i][:300] for i in (0, 3)], data.y[:300]


@pytest.fixture(scope="module")
def fitted(digits):
    shuffled = unalign(*digits, random_state=0)
    return quick(10).fit(shuffled.Xs), shuffled


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
    assert [labels.shape for labels in alone] == [(300,), (300,)]
    assert model.single_view_labels_ is alone
    assert clustering_scores(shuffled.ys[0], alone[0])["acc"] > 0.5


def test_predict_agrees_with_the_labels(fitted):
    model, shuffled = fitted
    for i, X in enumerate(shuffled.Xs):
        assert np.mean(model.predict(X, view=i) == model.view_labels_[i]) > 0.9


def test_the_embedding_is_what_transform_says_on_average(fitted):
    model, shuffled = fitted
    rows = model.alignment_.permutations
    said = [model.transform(shuffled.Xs[i], i)[rows[i]] for i in (0, 1)]
    np.testing.assert_allclose(model.embedding_, np.mean(said, axis=0), atol=1e-3)


def test_new_rows_meet_in_the_shared_space_and_are_aligned(fitted):
    model, _ = fitted
    data = load_digits_views()
    new = unalign([data.Xs[i][300:500] for i in (0, 3)], random_state=1)
    one, other = (model.transform(new.Xs[i], view=i) for i in (0, 1))
    other = other[np.argsort(new.order[1])[new.order[0]]]
    apart = np.linalg.norm(one - other, axis=1)
    anyone = np.linalg.norm(one - np.roll(other, 1, axis=0), axis=1)
    assert np.mean(apart < anyone) > 0.95
    found = model.align_new({0: new.Xs[0], 1: new.Xs[1]})
    assert instance_alignment_rate(*new.order[::-1], found.permutations[1]) > 0.8


def test_matched_views_are_translated_without_any_known_pair(fitted):
    model, shuffled = fitted
    estimate, error = model.translate(shuffled.Xs[0], 0, 1, return_std=True)
    truth = shuffled.Xs[1][np.argsort(shuffled.order[1])[shuffled.order[0]]]
    assert estimate.shape == error.shape == truth.shape
    assert explained(estimate, truth) > 0.3
    assert (error >= 0).all()


def explained(estimate, truth):
    """Share of the variance that is explained, R²."""
    return 1 - np.sum((estimate - truth) ** 2) / np.sum((truth - truth.mean(0)) ** 2)


@pytest.fixture(scope="module")
def refused():
    X, Y, order = shuffled_pair(150)
    Xs = [X, Y, shuffled_columns(X)]
    model = quick(4).fit(Xs)
    assert model.fused_views_ == (0, 1)
    return model, Xs, order


def test_a_view_that_was_refused_has_no_place(refused):
    model, Xs, _ = refused
    with pytest.raises(ValueError, match=r"view 2 could not be aligned .* share: 0, 1"):
        model.transform(Xs[2], view=2)
    with pytest.raises(ValueError, match="view 2 could not be aligned"):
        model.align_new({0: Xs[0], 2: Xs[2]})
    with pytest.raises(ValueError, match=r"two or more views as a dict .*got list"):
        model.align_new([Xs[0]])
    assert len(model.predict(Xs[2], view=2)) == 150


@pytest.mark.parametrize(("at", "to"), [(0, 2), (2, 1), (1, 1)])
def test_nothing_leads_to_a_view_that_was_refused(refused, at, to):
    model, Xs, _ = refused
    with pytest.raises(
        ValueError, match=f"Nothing leads from view {at} to view {to}.*aligned="
    ):
        model.translate(Xs[at], at, to)


def test_unrelated_views_are_labelled_from_their_own_structure(digits):
    (pixels, _), y = digits
    model = quick(10).fit([shuffled_columns(pixels), pixels])
    assert model.fused_views_ == (model.template_,) == (1,)
    assert (model.alignment_.permutations[0] == -1).all()
    assert model.alignment_.trust[0] < TRUSTED
    assert clustering_scores(y, model.view_labels_[1])["acc"] > 0.5
    assert len(model.view_labels_[0]) == 300


def test_rows_without_partner_are_labelled_too():
    X, Y, _ = shuffled_pair(200)
    model = quick(4).fit([X, Y[:150]])
    assert [len(labels) for labels in model.view_labels_] == [200, 150]
    assert model.fused_views_ == (0, 1)
    assert model.embedding_.shape[0] == 200


def test_known_pairs_are_kept():
    X, Y, order = shuffled_pair(100)
    pairs = np.column_stack([order[:40], np.arange(40)])
    alignment = quick(4).fit([X, Y], aligned={(0, 1): pairs}).alignment_
    assert_array_equal(alignment.permutations[1][order[:40]], np.arange(40))
    assert_array_equal(alignment.confidence[1][order[:40]], np.ones(40))
    np.testing.assert_allclose(alignment.known, [1, 0.4])


def test_everything_known_is_everything_matched():
    X, Y, _ = shuffled_pair(100)
    model = quick(4).fit([X, Y], aligned="all")
    assert model.alignment_.verdict == ["objects", "objects"]
    assert_array_equal(model.view_labels_[0], model.view_labels_[1])
    assert_array_equal(model.alignment_.permutations[1], np.arange(100))


@pytest.mark.parametrize("kind", [np.float32, sparse.csr_array])
def test_the_same_seed_gives_the_same_labels(kind):
    X, Y, _ = shuffled_pair(70)
    fits = [quick(4, random_state=1).fit([kind(X), kind(Y)]) for _ in range(2)]
    for one, other in zip(*(model.view_labels_ for model in fits), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(*(model.embedding_ for model in fits))
    assert fits[0].embedding_.dtype == np.float32


def test_a_view_that_says_nothing_and_a_handful_of_rows():
    X, _, _ = shuffled_pair(40)
    model = quick(3).fit([X, np.ones((40, 5))])
    assert model.fused_views_ == (0,)
    assert [len(labels) for labels in model.view_labels_] == [40, 40]
    small = quick(2).fit([X[:4], X[:3, :5]])
    assert [len(labels) for labels in small.view_labels_] == [4, 3]


def clusters(n=150, seed=0):
    """Two views of clear clusters that are not linear functions of each other."""
    draw = np.random.RandomState(seed)
    y = np.arange(n) % 3
    latent = np.eye(3)[y] * 3 + draw.normal(size=(n, 3)) * 0.3
    Xs = [
        np.tanh(latent @ draw.normal(size=(3, 24))) + draw.normal(size=(n, 24)) / 10
        for _ in range(2)
    ]
    return Xs, y


@pytest.fixture(scope="module")
def bridged():
    """A fit of views that half of the pairs link, new rows of them, and classes."""
    Xs, y = clusters(250)
    old, new = [X[:150] for X in Xs], [X[150:] for X in Xs]
    order = np.random.RandomState(1).permutation(150)
    pairs = np.column_stack([np.arange(75), np.argsort(order)[:75]])
    Xs = {"a": old[0], "b": old[1][order]}
    model = quick(3).fit(Xs, aligned={("a", "b"): pairs})
    assert model.alignment_.verdict == ["objects", "classes"]
    return model, Xs, new, (y[:150], y[:150][order], y[150:]), pairs


def test_linked_views_have_common_clusters(bridged):
    model, Xs, _, ys, pairs = bridged
    assert model.alignment_.basis == ["structure", "known pairs"]
    assert model.fused_views_ == (0, 1)
    together = np.concatenate(model.view_labels_)
    assert clustering_scores(np.r_[ys[0], ys[1]], together)["acc"] > 0.95
    assert_array_equal(model.alignment_.pairs(0, 1), pairs)
    for name, labels in zip(Xs, model.view_labels_, strict=True):
        assert np.mean(model.predict(Xs[name], view=name) == labels) > 0.9


def test_linked_views_are_translated(bridged):
    model, Xs, new, _, _ = bridged
    for X, at, to, truth in (("a", 0, 1, new[1]), ("b", 1, 0, new[0])):
        estimate, error = model.translate(new[at], X, to, return_std=True)
        assert estimate.shape == error.shape == truth.shape
        assert explained(estimate, truth) > 0.5
        # The errors are of the size that was announced.
        announced = np.sqrt(np.mean(error**2))
        actual = np.sqrt(np.mean((estimate - truth) ** 2))
        assert 0.5 < actual / announced < 2
    assert_array_equal(
        model.translate(Xs["a"], "a", "b"), model.translate(Xs["a"], 0, 1)
    )


def test_linked_views_share_a_space(bridged):
    model, Xs, new, ys, _ = bridged
    one, other = (model.transform(X, view=i) for i, X in enumerate(new))
    assert one.shape == other.shape
    assert one.shape[1] == model.embedding_.shape[1]
    assert len(model.embedding_) == 150
    # Rows of one class meet, whatever view they come from.
    alike = one @ other.T
    same = ys[2][:, None] == ys[2]
    assert alike[same].mean() > alike[~same].mean() + 0.3
    # Rows without a known partner are placed like new ones.
    free = model.transform(Xs["a"], view="a")[75:]
    np.testing.assert_allclose(free, model.embedding_[75:], atol=0.3)
    with pytest.raises(ValueError, match="could not be aligned"):
        model.align_new({0: new[0], 1: new[1]})


def test_a_fit_with_known_pairs_is_saved_and_loaded(bridged, tmp_path):
    model, _, new, _, _ = bridged
    model.set_params(effort="quick")  # settings of one's own are not saved
    model.save(tmp_path / "fit.model")
    again = load(tmp_path / "fit.model")
    assert again.alignment_.verdict == model.alignment_.verdict
    assert again.alignment_.basis == model.alignment_.basis
    assert again.fused_views_ == model.fused_views_
    assert_array_equal(again.alignment_.known, model.alignment_.known)
    for i, X in enumerate(new):
        assert_array_equal(again.view_labels_[i], model.view_labels_[i])
        assert_array_equal(again.predict(X, view=i), model.predict(X, view=i))
        assert_array_equal(again.transform(X, view=i), model.transform(X, view=i))
        ours, theirs = (m.translate(X, i, 1 - i) for m in (again, model))
        assert_array_equal(ours, theirs)
    assert_array_equal(again.embedding_, model.embedding_)


def test_a_fit_without_known_pairs_is_saved_and_loaded(refused, tmp_path):
    model, Xs, _ = refused
    model.set_params(effort="quick")
    model.save(tmp_path / "fit.model")
    again = load(tmp_path / "fit.model")
    for i in (0, 1):
        ours, theirs = (m.translate(Xs[i], i, 1 - i) for m in (again, model))
        assert_array_equal(ours, theirs)
        assert_array_equal(again.transform(Xs[i], i), model.transform(Xs[i], i))


def test_known_partners_of_views_that_share_no_row():
    rng = np.random.RandomState(0)
    objects = rng.normal(size=(80, 5)) + 6 * (np.arange(80)[:, None] % 2)
    Xs = [objects @ rng.normal(size=(5, 4)) for _ in range(3)]
    Xs[1:] = Xs[1][:30], Xs[2][40:70]
    known = {
        (0, 1): np.column_stack([np.arange(30), np.arange(30)]),
        (0, 2): np.column_stack([np.arange(40, 70), np.arange(30)]),
    }
    model = quick(2).fit(Xs, aligned=known)
    assert model.fused_views_ == (0, 1, 2)
    for i in (1, 2):
        assert_array_equal(model.alignment_.pairs(0, i), known[0, i])
    labels = model.view_labels_
    for i, rows in ((1, slice(0, 30)), (2, slice(40, 70))):
        assert_array_equal(labels[i], labels[0][rows])  # one class, one name
    assert np.isfinite(model.embedding_).all()
    assert model.transform(Xs[2], view=2).shape[1] == model.embedding_.shape[1]


def test_pairs_that_the_data_contradict_are_named():
    Xs, _ = clusters(150)
    partner = np.arange(80)
    partner[:8] = np.roll(partner[:8], 1)  # of other clusters
    pairs = np.column_stack([np.arange(80), partner])
    model = quick(3).fit(Xs, aligned={(0, 1): pairs})
    suspects = model.alignment_.suspects[0, 1]
    assert np.mean(suspects[:, 0] < 8) > 0.6
    assert {*map(tuple, suspects)} <= {*map(tuple, pairs)}


class Killed(BaseException):
    """What a test does to a fit."""


def test_a_fit_goes_on_from_its_checkpoint_to_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SHARE_FOR_WRITING", np.inf)
    Xs = measured_views(80, (24, 30, 26))
    expected = quick(4).fit(Xs, aligned=30)
    path, keep = tmp_path / "fit.checkpoint", FitCheckpoint.keep

    def keep_and_die(self, *reached):
        keep(self, *reached)
        raise Killed

    for _ in range(2):  # killed after its first search, and after its second
        with monkeypatch.context() as patch:
            patch.setattr(FitCheckpoint, "keep", keep_and_die)
            with pytest.raises(Killed):
                quick(4, checkpoint=path).fit(Xs, aligned=30)
        assert path.exists()
    found = quick(4, checkpoint=path).fit(Xs, aligned=30)
    assert not path.exists()
    assert_array_equal(found.alignment_.trust, expected.alignment_.trust)
    assert_array_equal(found.embedding_, expected.embedding_)
    for i in range(3):
        assert_array_equal(found.view_labels_[i], expected.view_labels_[i])
        rows = (m.alignment_.permutations[i] for m in (found, expected))
        assert_array_equal(*rows)


@pytest.mark.parametrize("aligned", [None, 20, "all"])
@pytest.mark.parametrize("n_clusters", [3, "auto"])
@pytest.mark.filterwarnings("ignore:The evidence on the number of clusters is flat")
def test_a_time_limit_that_is_over_leaves_a_usable_result(
    aligned, n_clusters, tmp_path, capsys
):
    Xs = measured_views(60, (24, 30, 26, 5))
    options = {"effort": "quick", "time_limit": 1e-9, "verbose": 1}
    model = quick(n_clusters, **options).fit(Xs, aligned=aligned)
    assert "searching" not in capsys.readouterr().out
    assert model.alignment_.verdict.count("none") == 3
    assert model.fused_views_ == (model.template_,)
    model.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    for i, X in enumerate(Xs):
        assert len(np.unique(model.view_labels_[i])) == model.n_clusters_
        assert np.mean(again.predict(X, i) == model.view_labels_[i]) > 0.9


@pytest.mark.parametrize("stage", ["alignment", "bridge", "labels"])
def test_whatever_stage_the_time_is_up_in(stage, monkeypatch):
    """By a clock that jumps when a stage begins."""
    Xs, now = measured_views(60, (24, 30, 26)), [0.0]
    begins = {
        "alignment": "align_steps",
        "bridge": "fit_bridge",
        "labels": "label_views",
    }
    module = estimator if stage == "alignment" else outcome
    begin = getattr(module, begins[stage])

    def jump(*arguments, **options):
        now[0] = 10.0
        return begin(*arguments, **options)

    monkeypatch.setattr(module, begins[stage], jump)
    monkeypatch.setattr(
        estimator, "Deadline", lambda limit: Deadline(limit, lambda: now[0])
    )
    model = quick(3, time_limit=10).fit(Xs, aligned=20)
    assert [labels.shape for labels in model.view_labels_] == [(60,)] * 3
    assert stage == "labels" or model._bridge is None
    assert "classes" not in model.alignment_.verdict
    for i in range(3):
        model.predict(Xs[i], i)


def test_a_time_limit_that_is_met_changes_nothing(digits):
    shuffled = unalign(*digits, random_state=0)
    one, other = (quick(10, time_limit=t).fit(shuffled.Xs) for t in (1e6, None))
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.alignment_.trust, other.alignment_.trust)
    assert vars(one).keys() == vars(other).keys()
