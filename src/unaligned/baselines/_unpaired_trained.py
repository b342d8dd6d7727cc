"""Base of the networks that need no pair: every view has an autoencoder of its own.

What draws the views together is the method's: an equal share of clusters, or
prototypes that were matched. Rows are then matched by their latent points, as after
training on pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from unaligned.baselines._autoencoders import (
    AutoEncoder,
    build_autoencoders,
    reconstruct,
)
from unaligned.baselines._deep import (
    choose_device,
    count_weights,
    draw_batches,
    encode,
    scale_views,
)
from unaligned.baselines._pair_trained import (
    PAIR_TRAINED,
    PairTrainedClusterer,
    State,
)
from unaligned.kernels.scaling import unit_rows
from unaligned.parameters import POSITIVE, POSITIVE_INT
from unaligned.views import Views, check_reference_view

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["UNPAIRED_TRAINED", "UnpairedTrainedClusterer"]

Array = NDArray[Any]
# Loss of the latent points of a batch of every view.
Loss = Callable[[list[Any]], Any]

UNPAIRED_TRAINED: dict[str, list[Any]] = {
    **PAIR_TRAINED,
    "latent_dim": [POSITIVE_INT],
    "temperature": [POSITIVE],
    "scale": [StrOptions({"none", "minmax", "standard"})],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "final_assignment": [StrOptions({"greedy", "hungarian"})],
}


class UnpairedTrainedClusterer(PairTrainedClusterer):
    """Train an autoencoder per view on all of its rows, match rows, and cluster.

    Latent points have unit length. Known pairs are kept in the end; no network learns
    from them.
    """

    _needs_pairs: ClassVar[bool] = False

    def _n_weights(self, widths: list[int]) -> int:
        return 2 * count_weights(widths, (*self.hidden, self.latent_dim))

    def _memory_need(self, views: Views) -> float:
        """Add the activations of a batch of every view, and its tables of cosines."""
        size = min(self.batch_size, views.n_rows[0])
        activations = 8 * size * (2 * sum(self.hidden) + max(views.widths)) * 4
        tables = 6 * len(views) ** 2 * size**2 * 4
        return super()._memory_need(views) + len(views) * activations + tables

    def _start(
        self, views: Views, rng: np.random.RandomState
    ) -> tuple[State, list[AutoEncoder]]:
        """Scaled views and untrained networks on the device."""
        check_reference_view(self.reference_view, views)
        device = choose_device(self.device)
        scalings, Xs = scale_views(views, self.scale, device)
        networks = build_autoencoders(
            views.widths, self.hidden, self.latent_dim, device, rng
        )
        return State([net.encoder for net in networks], Xs, scalings), networks

    def _train(
        self,
        networks: list[AutoEncoder],
        Xs: list[Tensor],
        optimizer: Any,
        rng: np.random.RandomState,
        loss_of: Loss,
        weight: float = 1.0,
    ) -> float:
        """One epoch over the rows of all views; return the mean loss.

        ``weight`` is that of the squared errors of the decoders.
        """
        losses = []
        for batches in self._draw(Xs, rng):
            rows = [X[batch] for X, batch in zip(Xs, batches, strict=True)]
            latents, error = reconstruct(networks, rows)
            loss = weight * error + loss_of(latents)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return float(sum(losses)) / len(losses)

    def _draw(self, Xs: list[Tensor], rng: np.random.RandomState) -> Iterator[Any]:
        """Batches of every view, drawn apart: rows side by side are no pairs."""
        drawn = [draw_batches(len(X), self.batch_size, rng) for X in Xs]
        return zip(*drawn, strict=True)

    def _latents(self, state: State) -> list[Array]:
        encoded = zip(state.encoders, state.Xs, strict=True)
        return [unit_rows(encode(encoder, X)) for encoder, X in encoded]

    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        placed: NDArray[np.float32] = unit_rows(super()._place_rows(X, view))
        return placed
