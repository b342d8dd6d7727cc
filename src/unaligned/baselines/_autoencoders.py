"""The networks of PVC and what they are trained for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.baselines._deep import load_torch, seeded
from unaligned.baselines._soft_assignment import (
    Assignment,
    assign_softly,
    squared_distances,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Sequential

__all__ = [
    "AutoEncoder",
    "assignment_loss",
    "block_loss",
    "build_autoencoder",
    "build_autoencoders",
    "pair_loss",
]


class AutoEncoder(NamedTuple):
    """The two networks of a view."""

    encoder: Sequential
    decoder: Sequential


def mse(one: Tensor, other: Tensor) -> Tensor:
    """Mean of the squared differences of all entries."""
    return (one - other).square().mean()


def build_autoencoder(width: int, hidden: tuple[int, ...], latent: int) -> AutoEncoder:
    """Perceptrons with ReLU between their layers, mirror images of each other."""
    widths = (width, *hidden, latent)
    return AutoEncoder(_perceptron(widths), _perceptron(widths[::-1]))


def build_autoencoders(
    widths: list[int],
    hidden: Sequence[int],
    latent: int,
    device: Any,
    rng: np.random.RandomState,
) -> list[AutoEncoder]:
    """Build an autoencoder for each of some views, on a device."""
    with seeded(rng, device):
        built = [build_autoencoder(width, tuple(hidden), latent) for width in widths]
    return [AutoEncoder(*(part.to(device) for part in net)) for net in built]


def _perceptron(widths: tuple[int, ...]) -> Sequential:
    nn = load_torch().nn
    layers: list[Any] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    perceptron: Sequential = nn.Sequential(*layers[:-1])
    return perceptron


def reconstruct(nets: list[AutoEncoder], Xs: list[Tensor]) -> tuple[list[Tensor], Any]:
    """Latent points of rows of two views, and the loss of reconstructing both."""
    latents = [net.encoder(X) for net, X in zip(nets, Xs, strict=True)]
    decoded = [net.decoder(H) for net, H in zip(nets, latents, strict=True)]
    return latents, sum(mse(Y, X) for Y, X in zip(decoded, Xs, strict=True))


def pair_loss(nets: list[AutoEncoder], Xs: list[Tensor]) -> tuple[list[Tensor], Any]:
    """Latent points of partners, and L_rec + L_con: they shall be the same."""
    (H, partner), loss = reconstruct(nets, Xs)
    return [H, partner], loss + mse(H, partner)


def assignment_loss(
    H: Tensor, partner: Tensor, order: NDArray[np.intp], how: Assignment
) -> Tensor:
    """L_perm: how far partners in another order are from being found."""
    found = assign_softly(squared_distances(H, partner[order]), how)
    right = load_torch().eye(len(H), device=H.device)[:, order]
    return mse(found, right)


def block_loss(nets: list[AutoEncoder], Xs: list[Tensor], weights: Any) -> Any:
    """L_rec + L_con of the rows of a block, with its assignment."""
    (H, other), loss = reconstruct(nets, Xs)
    return loss + mse(H, other if weights is None else weights @ other)
