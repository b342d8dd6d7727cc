"""PVC's assignment and losses against literal computations, and what it finds."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from tests.conftest import make_blobs
from unaligned.baselines import PVC
from unaligned.baselines import _autoencoders as ae
from unaligned.baselines._blocks import Block
from unaligned.baselines._soft_assignment import (
    Assignment,
    assign_softly,
    first_assignment,
    squared_distances,
)
from unaligned.datasets import unalign
from unaligned.known_pairs import KnownPairs
from unaligned.metrics import category_alignment_rate, clustering_scores

pytestmark = pytest.mark.heavy

EASY = [[0.1, 0.9, 0.5], [0.6, 0.2, 0.8], [0.3, 0.25, 0.4]]
HARD = [[0.10, 0.20, 0.90], [0.15, 0.60, 0.80], [0.70, 0.30, 0.25]]
BRIEF = {
    "hidden": (32,),
    "pretrain_epochs": 60,
    "align_epochs": 5,
    "finetune_epochs": 20,
    "n_init": 3,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs the extra 'deep'")


def fit(Xs, aligned, **parameters):
    model = PVC(3, random_state=0, **{**BRIEF, **parameters})
    return model.fit(Xs, aligned=aligned)


def literal_start(D):
    nearest = D.argmin(axis=0)
    masked = np.full(D.shape, D.max())
    for column, row in enumerate(nearest):
        masked[row, column] = D[row, column]
    return np.eye(len(D))[masked.argmin(axis=1)]


def literal_assignment(D, n_steps=30, n_sweeps=10, step=0.1, restart=False):
    """The published loop with its three corrections."""
    n = len(D)
    project = [
        lambda P: P - (P.sum(axis=1, keepdims=True) - 1) / n,
        lambda P: P - (P.sum(axis=0, keepdims=True) - 1) / n,
        lambda P: np.maximum(P, 0),
    ]
    P, corrections = literal_start(D), [np.zeros_like(D)] * 3
    for _ in range(n_steps):
        P = P - step * D
        if restart:
            corrections = [np.zeros_like(D)] * 3
        for _ in range(n_sweeps):
            before = P
            for i in range(3):
                shifted = P + corrections[i]
                P = project[i](shifted)
                corrections[i] = shifted - P
            if np.array_equal(P, before):
                break
    return P


@pytest.mark.parametrize(
    ("n_steps", "n_sweeps", "expected"),
    [
        (
            1,
            1,
            [[0.683889, 0.345556, 0], [0.690556, 0.317222, 0], [0, 0.337222, 1.037222]],
        ),
        (
            1,
            10,
            [
                [0.497630, 0.438685, 0.063685],
                [0.504297, 0.410352, 0.085352],
                [0, 0.150963, 0.850963],
            ],
        ),
        (30, 10, [[0.237548, 0.762547, 0], [0.762547, 0.237546, 0], [0, 0, 1.000188]]),
        (300, 10, [[0, 1.000646, 0], [1.000647, 0, 0], [0, 0, 1.000648]]),
    ],
)
def test_assignment_of_a_known_problem(torch, n_steps, n_sweeps, expected):
    D = torch.tensor(HARD, dtype=torch.float64)
    found = assign_softly(D, Assignment(n_steps, n_sweeps))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_assignment_keeps_a_start_that_is_right(torch):
    D = torch.tensor(EASY, dtype=torch.float64)
    np.testing.assert_array_equal(first_assignment(D), np.eye(3))
    expected = np.diag([1.000574, 1.000574, 1.000573])
    np.testing.assert_allclose(assign_softly(D, Assignment()), expected, atol=1e-6)


def test_rows_that_are_nobodys_nearest_start_at_the_first_column(torch):
    start = first_assignment(torch.tensor(HARD))
    np.testing.assert_array_equal(start.argmax(1), [0, 0, 2])


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("scale", [0.01, 1, 30])
@pytest.mark.parametrize("n", [2, 7, 40])
def test_one_matrix_does_what_three_corrections_do(torch, n, scale, restart):
    D = scale * np.random.RandomState(n).uniform(size=(n, n))
    found = assign_softly(torch.from_numpy(D), Assignment(restart=restart))
    expected = literal_assignment(D, restart=restart)
    np.testing.assert_allclose(found, expected, atol=1e-12 * max(1, scale))


def test_long_assignment_is_the_optimal_one(torch):
    rng = np.random.RandomState(0)
    points = rng.normal(size=(30, 5))
    noisy = points[rng.permutation(30)] + 0.05 * rng.normal(size=(30, 5))
    D = cdist(points, noisy, "sqeuclidean")
    how = Assignment(n_steps=300, n_sweeps=100, cost_scale="mean")
    found = assign_softly(torch.from_numpy(D), how)
    np.testing.assert_array_equal(found.argmax(1), linear_sum_assignment(D)[1])
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-2)


def test_cost_scale_makes_the_unit_of_distance_irrelevant(torch):
    D = torch.from_numpy(np.random.RandomState(0).uniform(size=(40, 40)))
    how = Assignment(cost_scale="mean")
    small, large = assign_softly(D, how), assign_softly(1000 * D, how)
    np.testing.assert_allclose(small, large)
    # As published, large distances inflate the rows.
    assert assign_softly(1000 * D, Assignment()).sum(1).max() > 100


@pytest.mark.parametrize("restart", [False, True])
def test_gradients_flow_through_the_assignment(torch, restart):
    rng = np.random.RandomState(1)
    D = torch.from_numpy(rng.uniform(size=(4, 4))).requires_grad_()
    how = Assignment(n_steps=3, n_sweeps=2, restart=restart)
    assert torch.autograd.gradcheck(lambda D: assign_softly(D, how), D)
    size = assign_softly(D, how).square().sum()
    assert torch.autograd.grad(size, D)[0].abs().sum() > 0


def test_squared_distances_are_squared_distances(torch):
    rng = np.random.RandomState(0)
    one, other = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    found = squared_distances(torch.from_numpy(one), torch.from_numpy(other))
    np.testing.assert_allclose(found, cdist(one, other, "sqeuclidean"))


def test_autoencoder_is_a_mirror_with_linear_ends(torch):
    encoder, decoder = ae.build_autoencoder(5, (8, 7), 2)
    shapes = [[layer.out_features for layer in net[::2]] for net in (encoder, decoder)]
    assert shapes == [[8, 7, 2], [7, 8, 5]]
    for net in (encoder, decoder):
        assert [type(layer).__name__ for layer in net] == ["Linear", "ReLU"] * 2 + [
            "Linear"
        ]


def test_losses_are_means_over_all_entries(torch):
    torch.manual_seed(0)
    nets = [ae.build_autoencoder(d, (6,), 2) for d in (4, 3)]
    Xs = [torch.randn(5, d) for d in (4, 3)]
    (H, partner), loss = ae.pair_loss(nets, Xs)
    numbers = [[t.detach().numpy() for t in (net.decoder(net.encoder(X)), X)]
               for net, X in zip(nets, Xs, strict=True)]  # fmt: skip
    rec = sum(np.mean((a - b) ** 2) for a, b in numbers)
    con = np.mean((H - partner).detach().numpy() ** 2)
    np.testing.assert_allclose(loss.item(), rec + con, rtol=1e-5)
    # A block whose weights are a permutation is a block of partners in that order.
    order = np.array([3, 1, 0, 4, 2])
    soft = ae.block_loss(nets, Xs, torch.eye(5)[order])
    hard = ae.block_loss(nets, [Xs[0], Xs[1][order]], None)
    np.testing.assert_allclose(soft.item(), hard.item(), rtol=1e-5)


def test_assignment_loss_knows_the_right_answer(torch):
    H = torch.eye(6) * 3
    order = np.random.RandomState(0).permutation(6)
    long = Assignment(n_steps=50, n_sweeps=50)
    assert ae.assignment_loss(H, H, order, long) < 1e-3
    assert ae.assignment_loss(H, H.flip(0), order, long) > 0.2


def test_blocks_together_are_one_step_on_all_rows(torch):
    rng = np.random.RandomState(0)
    Xs = [torch.from_numpy(rng.normal(size=(12, d))) for d in (4, 3)]
    whole = [Block(np.arange(12), np.arange(12))]
    parts = [Block(rows, rows) for rows in np.split(np.arange(12), [5, 7])]
    gradients = []
    for blocks in (whole, parts):
        torch.manual_seed(0)
        nets = [ae.build_autoencoder(d, (6,), 2) for d in (4, 3)]
        nets = [ae.AutoEncoder(*(part.double() for part in net)) for net in nets]
        model = PVC(3, learning_rate=1e-12)
        state = type("State", (), {"Xs": Xs, "blocks": {1: blocks}})
        loss = model._train_on_all(nets, state, model._optimizer(nets))
        gradients.append((loss, nets[0].encoder[0].weight.grad))
    np.testing.assert_allclose(gradients[0][0], gradients[1][0])
    np.testing.assert_allclose(gradients[0][1], gradients[1][1])


def test_epochs_of_every_stage_are_counted(torch):
    Xs, _ = make_blobs(widths=(5, 4))
    model = fit(Xs, 20, pretrain_epochs=4, align_epochs=3, finetune_epochs=2)
    assert model.n_iter_ == len(model.objective_) == 9
    assert model.converged_
    # The assignment enters with the fifth epoch.
    assert model.objective_[4] > model.objective_[3]
    assert fit(Xs, 20, align_epochs=0, finetune_epochs=0).n_iter_ == 60


@pytest.mark.parametrize("how", ["soft", "hungarian", "greedy"])
def test_few_pairs_align_separated_classes(torch, how):
    Xs, y = make_blobs(n=90, widths=(5, 4))
    data = unalign(Xs, y, ratio=0.3, random_state=0)
    model = fit(
        data.Xs,
        data.n_aligned,
        final_assignment=how,
        cost_scale="mean",
        normalise_rows=True,
    )
    permutation = model.alignment_.permutations[1]
    np.testing.assert_array_equal(np.sort(permutation), np.arange(90))
    assert category_alignment_rate(data.ys[1], data.ys[0], permutation) > 0.9
    for y_i, labels in zip(data.ys, model.view_labels_, strict=True):
        assert clustering_scores(y_i, labels)["acc"] > 0.9


def test_known_pairs_stay_together_if_they_are_clamped(torch):
    Xs, _ = make_blobs(widths=(5, 4), spread=3)  # hopeless
    clamped, free = (fit(Xs, 30, clamp_known_pairs=clamp) for clamp in (True, False))
    np.testing.assert_array_equal(clamped.alignment_.permutations[1][:30], range(30))
    np.testing.assert_array_equal(clamped.alignment_.confidence[1][:30], 1)
    assert (free.alignment_.permutations[1][:30] != np.arange(30)).any()
    np.testing.assert_array_equal(clamped.alignment_.known, [1, 0.5])


def test_blocks_bound_the_size_of_an_assignment(torch):
    pairs = KnownPairs([np.where(np.arange(60) < 10, np.arange(60), -1)] * 2)
    model = PVC(3, align_batch_size=16, **BRIEF)
    latents = [np.random.RandomState(0).normal(size=(60, 2)).astype("f")] * 2
    blocks = model._align(latents, pairs, np.random.RandomState(0))[1]
    assert sum(block.weights is None for block in blocks) == 1  # the known pairs
    assert max(len(block.view_rows) for block in blocks) <= 16
    rows = np.concatenate([block.template_rows for block in blocks])
    np.testing.assert_array_equal(np.sort(rows), np.arange(60))
    model.set_params(normalise_rows=True)
    (block, *_) = model._align(latents, pairs, np.random.RandomState(0))[1]
    np.testing.assert_allclose(block.weights.sum(1), 1, rtol=1e-5)
