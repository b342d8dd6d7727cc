"""Base of the methods that bring partners nearer than a margin, and negatives apart.

The loss of negatives turns robust once they are far apart, so that those that turn out
to be near may come together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from unaligned.base import Iterate
from unaligned.baselines._contrastive import (
    Batch,
    batch_loss,
    build_encoder,
    choose_margin,
    draw_negatives,
    pair_distances,
    pair_up,
    share_rows,
)
from unaligned.baselines._deep import (
    adam,
    choose_device,
    count_weights,
    load_torch,
    scale_views,
    seeded,
    to_tensor,
)
from unaligned.baselines._pair_trained import (
    PAIR_TRAINED,
    PairTrainedClusterer,
    State,
)
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import POSITIVE, POSITIVE_INT
from unaligned.views import Views

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["MarginTrainedClusterer"]

Array = NDArray[Any]
# Goes through the pairs of the template and a view once, in batches.
Source = Callable[[np.random.RandomState], Iterator[Batch]]


class MarginTrainedClusterer(PairTrainedClusterer):
    """Train encoders on partners and negatives, match the other rows, and cluster.

    A method may have decoders, and add to the loss of a batch what they cost.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIR_TRAINED,
        "latent_dim": [POSITIVE_INT],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "n_negatives": [POSITIVE_INT],
        "negatives": [StrOptions({"fixed", "batch"})],
        "margin": [POSITIVE, None],
        "switch_ratio": [POSITIVE],
        "scale": [StrOptions({"none", "minmax", "standard"})],
        "batch_size": [Interval(Integral, 2, None, closed="left"), None],
        "epochs": [POSITIVE_INT],
        "final_assignment": [StrOptions({"greedy", "hungarian"})],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        latent_dim: int = 10,
        hidden: tuple[int, ...] = (1024, 1024, 1024),
        dropout: float = 0.2,
        n_negatives: int = 30,
        negatives: str = "fixed",
        margin: float | None = None,
        switch_ratio: float = 1.0,
        scale: str = "none",
        learning_rate: float = 1e-3,
        batch_size: int | None = None,
        epochs: int = 80,
        final_assignment: str = "greedy",
        clamp_known_pairs: bool = True,
        align_batch_size: int | None = 1024,
        reference_view: int = 0,
        n_init: int = 10,
        device: str | None = None,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.latent_dim = latent_dim
        self.hidden = hidden
        self.dropout = dropout
        self.n_negatives = n_negatives
        self.negatives = negatives
        self.margin = margin
        self.switch_ratio = switch_ratio
        self.scale = scale
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.final_assignment = final_assignment
        self.clamp_known_pairs = clamp_known_pairs
        self.align_batch_size = align_batch_size
        self.reference_view = reference_view
        self.n_init = n_init
        self.device = device
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    @property
    def max_iter(self) -> int:
        """Epochs."""
        return self.epochs

    def _memory_need(self, views: Views) -> float:
        """Add the pairs, of which a row has as many as negatives, and activations."""
        n_pairs = (len(views) - 1) * views.n_rows[0] * (self.n_negatives + 1)
        activations = 9 * (self.batch_size or 1024) * sum(self.hidden) * 4
        return super()._memory_need(views) + 40 * n_pairs + activations

    def _n_weights(self, widths: list[int]) -> int:
        return count_weights(widths, (*self.hidden, self.latent_dim))

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        self._check_pairs(views, pairs)
        state, device = self._start(views, rng)
        sources = {i: self._source(i, pairs, rng) for i in self._others(views)}
        networks = [*state.encoders, *state.decoders]
        optimizer = adam(networks, self.learning_rate)
        margin, robust_from = self.margin, None
        if margin is None:
            with seeded(rng, device), load_torch().no_grad():
                margin = choose_margin(*self._train(state, sources, rng))
        for epoch in range(1, self.epochs + 1):
            robust = robust_from is not None
            with seeded(rng, device):
                d, known = self._train(state, sources, rng, optimizer, margin, robust)
            facts = {"margin_": margin, "robust_from_": robust_from}
            loss = float(batch_loss(d, known, margin, robust))
            yield Iterate(state._replace(attributes=facts), loss, epoch == self.epochs)
            if not robust and d[known == 0].mean() >= self.switch_ratio * margin:
                robust_from = epoch + 1

    def _start(self, views: Views, rng: np.random.RandomState) -> tuple[State, Any]:
        """Scaled views and untrained encoders on the device."""
        device = choose_device(self.device)
        scalings, Xs = scale_views(views, self.scale, device)
        with seeded(rng, device):
            encoders = [
                build_encoder(d, tuple(self.hidden), self.latent_dim, self.dropout)
                for d in views.widths
            ]
            decoders = self._build_decoders(views.widths)
        encoders, decoders = (
            [network.to(device) for network in networks]
            for networks in (encoders, decoders)
        )
        return State(encoders, Xs, scalings, decoders=decoders), device

    def _build_decoders(self, widths: list[int]) -> list[Any]:
        """Networks that lead back from latent points, one for each view; or none."""
        return []

    def _further_loss(
        self, state: State, views: tuple[int, int], rows: list[Any], latents: list[Any]
    ) -> Any:
        """Loss of the rows of a batch beside that of their pairs."""
        return 0.0

    def _source(
        self, view: int, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Source:
        """Where the batches of a view come from."""
        of_view, of_template = pairs.between(view, self.reference_view)
        known = of_template, of_view
        if self.negatives == "batch" and len(of_view) > 1:  # no batch of one row
            size = self.batch_size or 128
            return partial(share_rows, known, self.n_negatives, size)
        negatives = draw_negatives(len(of_view), self.n_negatives, rng)
        return partial(pair_up, known, negatives, self.batch_size or 1024)

    def _train(
        self,
        state: State,
        sources: dict[int, Source],
        rng: np.random.RandomState,
        optimizer: Any = None,
        margin: float = 1.0,
        robust: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """One epoch over all pairs; without an optimiser, only measure.

        Returns the distances of all pairs, and which of them are known partners.
        """
        t, distances, partners = self.reference_view, [], []
        for i, source in sources.items():
            for batch in source(rng):
                rows = [
                    state.Xs[t][batch.template_rows],
                    state.Xs[i][batch.view_rows],
                ]
                H, other = state.encoders[t](rows[0]), state.encoders[i](rows[1])
                d = pair_distances(H[batch.pairs[0]], other[batch.pairs[1]])
                known = to_tensor(batch.known, d.device)
                if optimizer is not None:
                    optimizer.zero_grad()
                    loss = batch_loss(d, known, margin, robust)
                    further = self._further_loss(state, (t, i), rows, [H, other])
                    (loss + further).backward()
                    optimizer.step()
                distances.append(d.detach())
                partners.append(known)
        cat = load_torch().cat
        return cat(distances), cat(partners)
