"""What MvCLN and SURE learn from: pairs of rows, their losses, and the networks.

Pairs are partners, known to be one object, or negatives, two known rows drawn at
random, which may be of one class by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from unaligned.baselines._deep import load_torch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Sequential

__all__ = [
    "Batch",
    "batch_loss",
    "build_decoder",
    "build_encoder",
    "choose_margin",
    "draw_negatives",
    "pair_distances",
    "pair_up",
    "share_rows",
]

Indices = NDArray[np.intp]


class Batch(NamedTuple):
    """Rows of the template and of a view to encode, and the pairs that they form."""

    template_rows: Indices
    view_rows: Indices
    pairs: tuple[Any, Any]
    """Positions among the rows of the template and among those of the view."""
    known: NDArray[np.float32]
    """1 for partners, 0 for negatives."""


def draw_negatives(
    n: int, n_negatives: int, rng: np.random.RandomState
) -> tuple[Indices, Indices]:
    """For each of n rows of the template some of the n rows of the view, or all.

    A row's own partner may be among them, as in the authors' program.
    """
    m = min(n_negatives, n)
    drawn = [sample_without_replacement(n, m, random_state=rng) for _ in range(n)]
    return np.repeat(np.arange(n), m), np.concatenate(drawn)


def pair_up(
    known: tuple[Indices, Indices],
    negatives: tuple[Indices, Indices],
    size: int,
    rng: np.random.RandomState,
) -> Iterator[Batch]:
    """Go through partners and negatives once, ``size`` pairs in a batch.

    Every pair has its rows encoded for itself, as in the authors' program.
    """
    all_rows = np.arange(len(known[0]))
    rows = [
        side[np.concatenate([all_rows, drawn])]
        for side, drawn in zip(known, negatives, strict=True)
    ]
    partner = np.arange(len(rows[0])) < len(all_rows)
    for batch in draw_full_batches(len(partner), size, rng):
        of_template, of_view = (side[batch] for side in rows)
        as_they_stand = slice(None), slice(None)
        yield Batch(
            of_template, of_view, as_they_stand, partner[batch].astype(np.float32)
        )


def share_rows(
    known: tuple[Indices, Indices],
    n_negatives: int,
    size: int,
    rng: np.random.RandomState,
) -> Iterator[Batch]:
    """Go through the partners once, ``size`` in a batch, negatives drawn among them."""
    for batch in draw_full_batches(len(known[0]), size, rng):
        n, m = len(batch), min(n_negatives, len(batch))
        all_rows = np.arange(n)
        drawn = rng.uniform(size=(n, n)).argpartition(m - 1, axis=1)[:, :m]
        left = np.concatenate([all_rows, np.repeat(all_rows, m)])
        right = np.concatenate([all_rows, drawn.ravel()])
        partner = np.arange(len(left)) < n
        of_template, of_view = (side[batch] for side in known)
        yield Batch(of_template, of_view, (left, right), partner.astype(np.float32))


def draw_full_batches(n: int, size: int, rng: np.random.RandomState) -> Indices:
    """Shuffle n items into batches of one size, a row each; what is left over rests."""
    size = min(size, n)
    return rng.permutation(n)[: n // size * size].reshape(-1, size)


def pair_distances(one: Tensor, other: Tensor) -> Tensor:
    """‖h − g + 10⁻⁶‖, row by row; the offset keeps its gradient finite at zero."""
    return (one - other + 1e-6).norm(dim=1)


def contrastive_loss(d: Tensor, margin: float) -> Tensor:
    """Drive negatives apart up to the margin: max(m − d, 0)²."""
    return (margin - d).clamp(min=0).square()


def robust_loss(d: Tensor, margin: float) -> Tensor:
    """Do so from m/3 on, and draw nearer ones together: d max(m − d, 0)² / m."""
    return d * contrastive_loss(d, margin) / margin


def batch_loss(d: Tensor, known: Tensor, margin: float, robust: bool) -> Tensor:
    """Half the mean over pairs: d² of partners, the chosen loss of negatives."""
    apart = (robust_loss if robust else contrastive_loss)(d, margin)
    return (known * d.square() + (1 - known) * apart).mean() / 2


def choose_margin(d: Tensor, known: Tensor) -> float:
    """Mean distance of partners plus that of negatives, as an integer above 0."""
    between = d[known == 1].mean() + d[known == 0].mean()
    return max(1.0, float(round(between.item())))


def build_encoder(
    width: int, hidden: tuple[int, ...], latent: int, dropout: float
) -> Sequential:
    """Linear layers with batch normalisation and ReLU; dropout after all but the last.

    Latent points are therefore non-negative.
    """
    nn = load_torch().nn
    layers: list[Any] = []
    for inputs, outputs in pairwise((width, *hidden, latent)):
        layers += [
            nn.Linear(inputs, outputs),
            nn.BatchNorm1d(outputs),
            nn.ReLU(),
            nn.Dropout(dropout),
        ]
    encoder: Sequential = nn.Sequential(*layers[:-1])
    return encoder


def build_decoder(widths: tuple[int, ...], dropout: float) -> Sequential:
    """Layers as those of an encoder, through some widths; the last is linear alone."""
    nn = load_torch().nn
    body = build_encoder(widths[0], widths[1:-2], widths[-2], dropout)
    last = nn.Linear(widths[-2], widths[-1])
    decoder: Sequential = nn.Sequential(*body, nn.Dropout(dropout), last)
    return decoder
