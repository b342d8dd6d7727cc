"""What SURE adds to MvCLN: decoders, and what they cost."""

import numpy as np
import pytest

from tests.conftest import make_blobs
from unaligned.baselines import SURE, MvCLN
from unaligned.baselines import _contrastive as networks
from unaligned.baselines._pair_trained import State

pytestmark = pytest.mark.heavy
SMALL = {"hidden": (16,), "epochs": 3, "device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="needs the extra 'deep'")


def test_decoders_lead_back_to_the_columns(torch):
    decoder = networks.build_decoder((4, 9, 8, 6), dropout=0.2)
    linear = [layer for layer in decoder if isinstance(layer, torch.nn.Linear)]
    assert [(f.in_features, f.out_features) for f in linear] == [(4, 9), (9, 8), (8, 6)]
    assert linear[-1] is decoder[-1]  # no rectifier behind it


def test_the_further_loss_is_that_of_the_literal_means(torch):
    decoders = [networks.build_decoder((3, 5, d), 0.0).eval() for d in (4, 6)]
    state = State([], [], [], decoders=decoders)
    rows = [torch.randn(7, 4), torch.randn(7, 6)]
    latents = [torch.randn(7, 3), torch.randn(7, 3)]
    found = SURE(3, lam=0.5)._further_loss(state, (0, 1), rows, latents)
    expected = 0.0
    for decoder, X, H in zip(decoders, rows, latents, strict=True):
        told = decoder(H).detach().numpy()
        expected += 0.5 * np.mean((told - X.numpy()) ** 2)
    assert float(found.detach()) == pytest.approx(expected, rel=1e-5)


def test_decoders_are_trained_and_change_the_encoders(torch):
    Xs, _ = make_blobs(60)
    plain = MvCLN(3, **SMALL).fit(Xs, aligned=30)
    sure = SURE(3, **SMALL).fit(Xs, aligned=30)
    assert not np.allclose(plain.latents_[0], sure.latents_[0])
    heavier = SURE(3, lam=5.0, **SMALL).fit(Xs, aligned=30)
    assert not np.allclose(heavier.latents_[0], sure.latents_[0])


def test_training_lowers_the_error_of_the_decoders(torch, monkeypatch):
    costs = []
    further = SURE._further_loss

    def watched(self, *batch):
        cost = further(self, *batch)
        costs.append(float(cost.detach()))
        return cost

    monkeypatch.setattr(SURE, "_further_loss", watched)
    Xs, _ = make_blobs(60)
    SURE(3, **{**SMALL, "epochs": 30}, scale="standard").fit(Xs, aligned=30)
    assert costs[-1] < 0.8 * costs[0]
