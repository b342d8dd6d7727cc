"""MvCLN's losses, rules and pairs against literal computations."""

import numpy as np
import pytest

from tests.conftest import make_blobs
from unaligned.baselines import MvCLN
from unaligned.baselines import _contrastive as m
from unaligned.datasets import unalign
from unaligned.metrics import category_alignment_rate, clustering_scores

pytestmark = pytest.mark.heavy

BRIEF = {"hidden": (32,), "epochs": 10, "n_init": 3, "device": "cpu"}
DISTANCES = [0, 1, 5 / 3, 2, 4, 6]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs the extra 'deep'")


def fit(Xs, aligned, **parameters):
    model = MvCLN(3, random_state=0, **{**BRIEF, **parameters})
    return model.fit(Xs, aligned=aligned)


def test_losses_of_known_distances(torch):
    d = torch.tensor(DISTANCES, dtype=torch.float64)
    ordinary = [25, 16, 11.111111, 9, 1, 0]
    robust = [0, 3.2, 3.703704, 3.6, 0.8, 0]
    np.testing.assert_allclose(m.contrastive_loss(d, 5), ordinary, atol=1e-6)
    np.testing.assert_allclose(m.robust_loss(d, 5), robust, atol=1e-6)


def test_robust_loss_draws_near_negatives_together_and_drives_others_apart(torch):
    d = torch.tensor([0.0, 1.0, 5 / 3, 3.0, 5.0, 6.0], dtype=torch.float64)
    d.requires_grad_()
    (slope,) = torch.autograd.grad(m.robust_loss(d, 5).sum(), d)
    x = d.detach().numpy()
    expected = np.where(x <= 5, 3 * x**2 / 5 - 4 * x + 5, 0)
    np.testing.assert_allclose(slope, expected, atol=1e-12)
    assert slope[1] > 0 > slope[3]


@pytest.mark.parametrize("robust", [False, True])
def test_batch_loss_is_half_the_mean_over_pairs(torch, robust):
    rng = np.random.RandomState(0)
    d, known = rng.uniform(0, 8, size=20), (rng.uniform(size=20) < 0.4).astype(float)
    apart = np.maximum(5 - d, 0) ** 2 * (d / 5 if robust else 1)
    expected = np.sum(np.where(known == 1, d**2, apart)) / 40
    found = m.batch_loss(torch.from_numpy(d), torch.from_numpy(known), 5.0, robust)
    np.testing.assert_allclose(found, expected)


def test_gradients_of_the_loss_are_right_and_finite(torch):
    one = torch.randn(6, 3, dtype=torch.float64).requires_grad_()
    other = torch.randn(6, 3, dtype=torch.float64)
    known = torch.tensor([1.0, 0, 0, 1, 0, 0], dtype=torch.float64)

    def loss(one):
        return m.batch_loss(m.pair_distances(one, other), known, 3.0, robust=True)

    assert torch.autograd.gradcheck(loss, one)
    twins = torch.zeros(2, 3).requires_grad_()
    m.robust_loss(m.pair_distances(twins, torch.zeros(2, 3)), 3.0).sum().backward()
    assert torch.isfinite(twins.grad).all()


@pytest.mark.parametrize(
    ("partners", "negatives", "margin"),
    [([1.0, 2.0], [2.2, 3.0], 4), ([0.1], [0.2, 0.2], 1), ([2.0], [3.6], 6)],
)
def test_margin_is_the_rounded_sum_of_mean_distances(
    torch, partners, negatives, margin
):
    d = torch.tensor(partners + negatives)
    known = torch.tensor([1.0] * len(partners) + [0.0] * len(negatives))
    assert m.choose_margin(d, known) == margin


def test_negatives_are_drawn_without_repetition():
    left, right = m.draw_negatives(5, 3, np.random.RandomState(0))
    np.testing.assert_array_equal(left, np.repeat(np.arange(5), 3))
    for row in range(5):
        assert len(set(right[left == row])) == 3
    assert right.min() >= 0
    assert right.max() < 5
    # Where there are fewer, all of them.
    assert len(m.draw_negatives(5, 30, np.random.RandomState(0))[0]) == 25


KNOWN = np.array([3, 5, 8, 9, 1, 0]), np.array([7, 2, 4, 0, 6, 1])
PARTNERS = set(zip(*KNOWN, strict=True))


def pairs_of(batches):
    """Rows of the template, rows of the view and whether they are partners."""
    for batch in batches:
        rows = batch.template_rows[batch.pairs[0]], batch.view_rows[batch.pairs[1]]
        yield list(zip(*rows, batch.known, strict=True))


def test_every_pair_is_met_once_in_an_epoch():
    rng = np.random.RandomState(0)
    negatives = m.draw_negatives(6, 4, rng)
    batches = list(pairs_of(m.pair_up(KNOWN, negatives, 10, rng)))
    assert [len(batch) for batch in batches] == [10, 10, 10]
    met = sorted(pair for batch in batches for pair in batch)
    others = zip(KNOWN[0][negatives[0]], KNOWN[1][negatives[1]], strict=True)
    assert met == sorted([(*p, 1) for p in PARTNERS] + [(*p, 0) for p in others])


def test_rows_of_a_batch_are_shared_by_its_pairs():
    batches = list(m.share_rows(KNOWN, 2, 3, np.random.RandomState(0)))
    assert [len(batch.view_rows) for batch in batches] == [3, 3]
    met = list(pairs_of(batches))
    assert {pair[:2] for batch in met for pair in batch if pair[2]} == PARTNERS
    for batch, pairs in zip(batches, met, strict=True):
        negatives = [pair[:2] for pair in pairs if not pair[2]]
        assert len(set(negatives)) == len(negatives) == 6
        assert {row for row, _ in negatives} == set(batch.template_rows)


def test_batches_are_full_or_alone():
    rng = np.random.RandomState(0)
    assert m.draw_full_batches(2500, 1024, rng).shape == (2, 1024)
    alone = m.draw_full_batches(56, 1024, rng)
    np.testing.assert_array_equal(np.sort(alone), [np.arange(56)])


def test_encoder_normalises_rectifies_and_drops_out(torch):
    encoder = m.build_encoder(5, (8, 7), 2, 0.2)
    block = ["Linear", "BatchNorm1d", "ReLU", "Dropout"]
    kinds = [type(layer).__name__ for layer in encoder]
    assert kinds == block * 2 + block[:3]
    assert [layer.out_features for layer in encoder[::4]] == [8, 7, 2]


def test_the_robust_loss_begins_after_negatives_are_far_enough(torch):
    Xs, _ = make_blobs(widths=(5, 4))
    early = fit(Xs, 40, switch_ratio=1e-9)
    assert early.robust_from_ == 2
    assert fit(Xs, 40, switch_ratio=1e9).robust_from_ is None
    assert early.margin_ >= 1
    assert early.margin_ == int(early.margin_)
    assert fit(Xs, 40, margin=2.5).margin_ == 2.5


def make_twins(n=240, k=6):
    """Two bent projections of the same points in k classes."""
    rng = np.random.RandomState(0)
    y = np.arange(n) % k
    points = 3 * rng.normal(size=(k, 8))[y] + rng.normal(size=(n, 8))
    return [np.tanh(points @ rng.normal(size=(8, d)) / 6) for d in (12, 10)], y


@pytest.mark.parametrize(
    "parameters",
    [
        {"batch_size": 128, "epochs": 40, "final_assignment": "greedy"},
        {"batch_size": 128, "epochs": 40, "final_assignment": "hungarian"},
        {"batch_size": 40, "epochs": 200, "negatives": "batch"},
    ],
)
def test_half_of_the_pairs_align_the_classes_of_all_rows(torch, parameters):
    Xs, y = make_twins()
    data = unalign(Xs, y, ratio=0.5, random_state=0)
    model = MvCLN(
        6, hidden=(64,), n_negatives=10, device="cpu", random_state=0, **parameters
    ).fit(data.Xs, aligned=data.n_aligned)
    permutation = model.alignment_.permutations[1]
    np.testing.assert_array_equal(np.sort(permutation), np.arange(240))
    assert category_alignment_rate(data.ys[1], data.ys[0], permutation) > 0.9
    for y_i, labels in zip(data.ys, model.view_labels_, strict=True):
        assert clustering_scores(y_i, labels)["acc"] > 0.9
    assert model.embedding_.shape == (240, 20)
    assert (model.latents_[0] >= 0).all()


@pytest.mark.parametrize("negatives", ["fixed", "batch"])
@pytest.mark.parametrize("n_pairs", [1, 2, 7, 24, 29])
def test_very_few_pairs_are_enough_to_run(torch, n_pairs, negatives):
    Xs, _ = make_blobs(widths=(5, 4))
    model = fit(Xs, n_pairs, epochs=2, negatives=negatives)
    assert np.isfinite(model.objective_).all()
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_scaled_columns_make_units_irrelevant(torch, scale):
    Xs, _ = make_blobs(widths=(5, 4))
    other = [Xs[0] * [1e3, 1, 1e-3, 7, 2] + 5, Xs[1]]
    one, two = (fit(views, 30, scale=scale, epochs=3) for views in (Xs, other))
    np.testing.assert_allclose(one.latents_[0], two.latents_[0], atol=1e-3)
    np.testing.assert_allclose(one.transform(Xs[0]), two.transform(other[0]), atol=1e-3)
