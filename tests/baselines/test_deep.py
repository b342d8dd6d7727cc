"""What pair-trained methods share: known pairs, blocks, frozen encoders, Ctrl-C."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import unaligned
from tests.conftest import make_blobs
from unaligned.baselines import CPMN, PVC, SMILE, SURE, MvCLN, _blocks
from unaligned.baselines._autoencoders import build_autoencoder
from unaligned.baselines._blocks import Block, closeness, draw_blocks, match_rows
from unaligned.baselines._contrastive import build_encoder
from unaligned.baselines._deep import (
    choose_device,
    draw_batches,
    encode,
    freeze,
    measure_scale,
    seeded,
)
from unaligned.datasets import load_digits_views, unalign
from unaligned.known_pairs import KnownPairs
from unaligned.metrics import clustering_scores, single_view_scores
from unaligned.views import check_views

heavy = pytest.mark.heavy
METHODS = [PVC, MvCLN, SURE]
ALL = [*METHODS, SMILE, CPMN]
BRIEF = {
    PVC: {
        "hidden": (8,),
        "pretrain_epochs": 2,
        "align_epochs": 1,
        "finetune_epochs": 1,
        "assign_steps": 2,
    },
    MvCLN: {"hidden": (8,), "epochs": 4},
    SURE: {"hidden": (8,), "epochs": 4},
    SMILE: {"hidden": (8,), "epochs": 4},
    CPMN: {"hidden": (8,), "graph_epochs": 2, "prototype_epochs": 2},
}


def brief(cls, **parameters):
    few = {"n_init": 1, "device": "cpu", "random_state": 0}
    return cls(3, **{**few, **BRIEF[cls], **parameters})


def some_pairs(n, n_known):
    return KnownPairs([np.where(np.arange(n) < n_known, np.arange(n), -1)] * 2)


# Without torch


def test_classes_can_be_looked_at_without_torch_and_say_how_to_get_it():
    code = """
import sys
class NoTorch:
    def find_spec(self, name, *rest):
        if name == "torch":
            raise ImportError("no torch here")
sys.meta_path.insert(0, NoTorch())
import numpy as np
from unaligned.baselines import CPMN, PVC, MvCLN
for cls in (PVC, MvCLN, CPMN):
    assert cls().get_params()["device"] is None and cls.__doc__
    try:
        cls(2).fit([np.eye(4), np.eye(4)], aligned=3)
    except ImportError as error:
        print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.count("pip install unaligned[deep]") == 3


def test_importing_the_baselines_does_not_import_torch():
    code = "import sys, unaligned.baselines; print('torch' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize("cls", METHODS)
def test_without_a_pair_they_refuse_and_name_the_way_out(cls, blobs):
    Xs, _ = blobs
    nothing = "no pair is known between view 0 and view 1.*SAVuC or PAVuC"
    with pytest.raises(ValueError, match=nothing):
        brief(cls).fit(Xs)
    half = {(0, 1): [(3, 4), (5, 6)]}
    with pytest.raises(ValueError, match="between view 0 and view 2"):
        brief(cls).fit(Xs, aligned=half)
    with pytest.raises(ValueError, match="got one view"):
        brief(cls).fit(Xs[0])


def test_a_last_batch_of_one_joins_the_one_before():
    rng = np.random.RandomState(0)
    for n, sizes in ((256, [128, 128]), (257, [128, 129]), (130, [128, 2]), (1, [1])):
        batches = draw_batches(n, 128, rng)
        assert [len(batch) for batch in batches] == sizes
        np.testing.assert_array_equal(np.sort(np.concatenate(batches)), np.arange(n))


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize("size", [None, 7, 100])
def test_blocks_hold_every_row_once_and_known_partners_together(size, clamp):
    pairs = some_pairs(50, 20)
    blocks = draw_blocks(pairs, 1, 0, size, clamp, np.random.RandomState(0))
    expected = np.arange(20, 50) if clamp else np.arange(50)
    for side in ("template_rows", "view_rows"):
        rows = np.concatenate([getattr(block, side) for block in blocks])
        np.testing.assert_array_equal(np.sort(rows), expected)
    assert all(len(b.template_rows) == len(b.view_rows) <= (size or 50) for b in blocks)
    for block in blocks:
        known = block.template_rows[block.template_rows < 20]
        assert set(known) <= set(block.view_rows)


def test_rows_are_matched_by_distance():
    rng = np.random.RandomState(0)
    template, view = rng.normal(size=(2, 30, 4))
    block = Block(np.arange(5, 25), rng.permutation(30)[:20])
    D = cdist(template[block.template_rows], view[block.view_rows])
    best = linear_sum_assignment(D**2)[1]
    found = match_rows(template, view, block, "hungarian")
    np.testing.assert_array_equal(found.view_rows, block.view_rows[best])
    found = match_rows(template, view, block, "greedy")
    free = D.copy()
    for row, partner in enumerate(found.view_rows):
        nearest = free[row].argmin()
        assert partner == block.view_rows[nearest]
        free[:, nearest] = np.inf


def test_confidence_is_a_share_among_rivals():
    template = np.array([[0.0], [0.0], [9.0]])
    block = Block(np.arange(3), np.arange(3))
    np.testing.assert_allclose(closeness(template, template, block), [0.5, 0.5, 1])


def test_scaling():
    X = np.array([[1.0, 5, 2], [3, 5, 4]])
    ranged = measure_scale(X, "range").apply(X)
    np.testing.assert_allclose(ranged, (X - 1) / 4)
    assert ranged.dtype == np.float32
    columns = measure_scale(X, "minmax").apply(X)
    np.testing.assert_allclose(columns, [[0, 0, 0], [1, 0, 1]])
    standard = measure_scale(X, "standard").apply(X)
    np.testing.assert_allclose(standard, [[-1, 0, -1], [1, 0, 1]])
    np.testing.assert_allclose(measure_scale(X, "none").apply(X), X)
    np.testing.assert_array_equal(measure_scale(X * 0 + 7, "range").apply(X), X - 7)


# With torch


@heavy
def test_a_device_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="device='abacus' cannot be used"):
        choose_device("abacus")
    assert choose_device("cpu").type == "cpu"


@heavy
def test_seeding_leaves_the_generators_of_torch_alone():
    torch = pytest.importorskip("torch", reason="needs the extra 'deep'")
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with seeded(np.random.RandomState(0), torch.device("cpu")):
        drawn = torch.rand(3)
    np.testing.assert_array_equal(torch.rand(3), expected)
    with seeded(np.random.RandomState(0), torch.device("cpu")):
        np.testing.assert_array_equal(torch.rand(3), drawn)


@heavy
@pytest.mark.parametrize("kind", ["MvCLN", "PVC"])
def test_frozen_encoders_are_the_encoders_in_use(kind):
    torch = pytest.importorskip("torch", reason="needs the extra 'deep'")
    torch.manual_seed(0)
    if kind == "MvCLN":
        encoder = build_encoder(6, (9, 8), 4, dropout=0.3)
        for _ in range(5):
            encoder(3 * torch.randn(50, 6) + 1)  # statistics move
    else:
        encoder = build_autoencoder(6, (9, 8), 4).encoder
    X = np.random.RandomState(0).normal(size=(20, 6))
    scaling = measure_scale(X, "standard")
    expected = encode(encoder, torch.from_numpy(scaling.apply(X)))
    assert encoder.training
    found = freeze(encoder, scaling).encode(X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.dtype == np.float32


@heavy
@pytest.mark.parametrize("cls", ALL)
def test_new_rows_are_encoded_and_labelled(cls):
    Xs, _ = make_blobs()
    model = brief(cls).fit(dict(zip("abc", Xs, strict=True)), aligned=30)
    for view, X in zip("abc", Xs, strict=True):
        latent = model.transform(X, view)
        np.testing.assert_allclose(latent, model.latents_["abc".index(view)], atol=1e-5)
    first = brief(cls).fit_transform(Xs, aligned=30)
    np.testing.assert_allclose(first, model.latents_[0], atol=1e-5)
    width = latent.shape[1]
    centers = model.cluster_centers_[:, width : 2 * width]
    nearest = cdist(model.latents_[1], centers).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(Xs[1], "b"), nearest)
    thin = sparse.csr_array(Xs[1])
    np.testing.assert_array_equal(model.predict(thin, view=1), nearest)
    with pytest.raises(TypeError, match="sparse"):
        brief(cls).fit([sparse.csr_array(X) for X in Xs], aligned=30)


@heavy
@pytest.mark.parametrize("cls", METHODS)
def test_pairs_may_be_anywhere_and_the_template_any_view(cls):
    Xs, _ = make_blobs()
    orders = [np.random.RandomState(i).permutation(60) for i in range(3)]
    where = [np.argsort(order) for order in orders]
    pairs = {(1, i): np.column_stack([where[1], where[i]])[:25] for i in (0, 2)}
    views = [X[order] for X, order in zip(Xs, orders, strict=True)]
    model = brief(cls, reference_view=1).fit(views, aligned=pairs)
    assert model.template_ == 1
    for i in (0, 2):
        permutation = model.alignment_.permutations[i]
        np.testing.assert_array_equal(permutation[where[1][:25]], where[i][:25])
        np.testing.assert_array_equal(
            model.view_labels_[i][permutation], model.view_labels_[1]
        )
    np.testing.assert_allclose(model.alignment_.known, [25 / 60, 1, 25 / 60])


@heavy
@pytest.mark.parametrize("cls", ALL)
def test_the_same_seed_gives_the_same_bits(cls):
    torch = pytest.importorskip("torch", reason="needs the extra 'deep'")
    Xs, _ = make_blobs()
    fits = []
    for unrelated in (1, 2):
        torch.manual_seed(unrelated)
        fits.append(brief(cls).fit(Xs, aligned=30))
    one, two = fits
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.objective_, two.objective_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    another = brief(cls, random_state=1).fit(Xs, aligned=30)
    assert (another.embedding_ != one.embedding_).any()


@heavy
@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("clamp", [False, True])
def test_no_more_rows_than_a_block_meet_at_once(cls, clamp, monkeypatch):
    Xs, _ = make_blobs(n=100)
    sizes = []

    def recorded(compare):
        def compare_and_record(one, other):
            sizes.append((len(one), len(other)))
            return compare(one, other)

        return compare_and_record

    for name in ("match_optimal", "pairwise_distances"):
        compare = recorded(getattr(_blocks, name))
        monkeypatch.setattr(_blocks, name, compare)
    model = brief(
        cls, align_batch_size=16, clamp_known_pairs=clamp, final_assignment="hungarian"
    ).fit(Xs, aligned=40)
    assert len(sizes) > 10
    assert np.max(sizes) <= 16
    for permutation in model.alignment_.permutations:
        np.testing.assert_array_equal(np.sort(permutation), np.arange(100))


@heavy
@pytest.mark.parametrize("cls", ALL)
def test_models_are_saved_and_pickled(cls, tmp_path):
    Xs, _ = make_blobs()
    model = brief(cls).fit(Xs, aligned=30)
    model.save(tmp_path / "model")
    for copy in (
        unaligned.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(copy.labels_, model.labels_)
        np.testing.assert_array_equal(copy.predict(Xs[1], 1), model.predict(Xs[1], 1))


@heavy
@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("finished", [0, 1, 3])
def test_an_interrupted_fit_keeps_what_is_finished(cls, finished, monkeypatch):
    Xs, _ = make_blobs()
    model = brief(cls)
    solve = type(model)._iterate

    def interrupted(self, views, pairs, rng):
        for epoch, iterate in enumerate(solve(self, views, pairs, rng)):
            if epoch == finished:
                raise KeyboardInterrupt
            yield iterate

    monkeypatch.setattr(cls, "_iterate", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(Xs, aligned=30)
    if finished == 0:
        assert not hasattr(model, "labels_")
        return
    assert model.n_iter_ == len(model.objective_) == finished
    assert f"after iteration {finished} of 4" in caught.value.__notes__[0]
    assert not model.converged_
    assert model.predict(Xs[0]).shape == model.labels_.shape == (60,)


@heavy
@pytest.mark.parametrize("cls", METHODS)
def test_digits_with_half_of_the_pairs_beat_the_weaker_view(cls):
    digits = load_digits_views()
    data = unalign([digits.Xs[i] for i in (0, 3)], digits.y, 0.5, random_state=0)
    parameters = {
        PVC: {"pretrain_epochs": 150, "align_epochs": 2, "finetune_epochs": 60},
        MvCLN: {"epochs": 20, "batch_size": 128, "n_negatives": 10},
        SURE: {"epochs": 20, "batch_size": 128, "n_negatives": 10},
    }[cls]
    model = cls(10, hidden=(128,), n_init=5, device="cpu", random_state=0, **parameters)
    model.fit(data.Xs, aligned=data.n_aligned)
    alone = [s["acc"] for s in single_view_scores(data.Xs, data.ys, 10, n_init=5)]
    assert clustering_scores(data.ys[0], model.labels_)["acc"] > min(alone)


class OneArrayMixin:
    """Takes the one array of scikit-learn's checks for both of two views."""

    def fit(self, X, y=None, *, aligned=None):
        X = check_views(X, estimator=self, accept_sparse=False).arrays[0]
        super().fit([X, X], aligned=-(-len(X) // 2))
        self.n_views_, self.n_features_in_ = 1, X.shape[1]
        self.view_names_in_, self.n_features_per_view_ = ["0"], [X.shape[1]]
        return self


class PVCOfOneArray(OneArrayMixin, PVC):
    pass


class MvCLNOfOneArray(OneArrayMixin, MvCLN):
    pass


ONE_ARRAY = [
    PVCOfOneArray(**BRIEF[PVC], n_init=1, device="cpu"),
    MvCLNOfOneArray(**BRIEF[MvCLN], n_init=1, device="cpu"),
    SMILE(**BRIEF[SMILE], n_init=1, device="cpu"),
    CPMN(**BRIEF[CPMN], n_init=1, device="cpu"),
]


@heavy
@parametrize_with_checks(ONE_ARRAY)
def test_sklearn_checks_of_networks(estimator, check, monkeypatch):
    # Outputs are float32, and on some processors a row of a product is rounded
    # otherwise in another place; tolerances are those of float64.
    compare = partial(estimator_checks.assert_allclose_dense_sparse, rtol=1e-5)
    monkeypatch.setattr(
        estimator_checks,
        "assert_allclose_dense_sparse",
        lambda *args, **options: compare(*args, **{**options, "atol": 1e-6}),
    )
    check(estimator)
