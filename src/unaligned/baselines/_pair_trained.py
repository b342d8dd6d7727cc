"""Base of the methods that learn from known pairs who else belongs together.

Rows are matched in blocks, see `unaligned.baselines._blocks`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from unaligned.alignment import Alignment
from unaligned.base import ViewClusterer
from unaligned.baselines._blocks import (
    Block,
    closeness,
    draw_blocks,
    gather,
    harden,
    known_blocks,
    match_rows,
    partners,
)
from unaligned.baselines._deep import Scaling, encode, freeze
from unaligned.baselines._paired import PAIRED
from unaligned.known_pairs import KnownPairs
from unaligned.new_rows import NewRowsMixin, SharedSpaceMixin
from unaligned.parameters import POSITIVE, POSITIVE_INT
from unaligned.partitions.kmeans import cluster_rows
from unaligned.progress import say
from unaligned.shapes import check_shapes
from unaligned.untested import untested_alignment
from unaligned.views import Views, check_reference_view, label

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Sequential

__all__ = [
    "PAIR_TRAINED",
    "PairTrainedClusterer",
    "State",
]

Array = NDArray[Any]

# Parameters of every such method.
PAIR_TRAINED: dict[str, list[Any]] = {
    **PAIRED,
    "hidden": ["array-like"],
    "learning_rate": [POSITIVE],
    "clamp_known_pairs": ["boolean"],
    "align_batch_size": [POSITIVE_INT, None],
    "device": [str, None],
}


class State(NamedTuple):
    """What training changes, and what is needed to make something of it."""

    encoders: list[Sequential]
    Xs: list[Tensor]
    """Scaled views, on the device."""
    scalings: list[Scaling]
    blocks: dict[int, list[Block]] | None = None
    """Matched rows of every view but the template, once training has fixed them."""
    attributes: dict[str, Any] = {}
    """Further fitted attributes."""
    decoders: list[Sequential] = []
    """Networks that lead back, where a method has them."""


class PairTrainedClusterer(SharedSpaceMixin, NewRowsMixin, ViewClusterer):
    """Train encoders on known pairs, match the other rows by them, and cluster.

    Every view has an encoder; all views but the template are trained with it and
    matched to it. What k-means clusters is, for every row of the template, its latent
    point and those of its partners side by side. ``template_`` is ``reference_view``.

    A method supplies `_iterate`, `_match`, `_n_weights` and the property ``max_iter``,
    its epochs.
    """

    _accepts_sparse = False

    _fitted_shapes: ClassVar[dict[str, Any]] = {
        "latents_": ["n l"],
        "embedding_": "t e",
        "cluster_centers_": "k e",
    }

    latents_: list[NDArray[np.float32]]
    _needs_pairs: ClassVar[bool] = True

    @property
    @abstractmethod
    def max_iter(self) -> int:
        """Epochs of all stages."""

    def _match(self, template: Array, view: Array, block: Block) -> Block:
        """Bring the rows of a block together by their latent points."""
        return match_rows(template, view, block, self.final_assignment)

    def _align(
        self, latents: list[Array], pairs: KnownPairs, rng: np.random.RandomState
    ) -> dict[int, list[Block]]:
        """Match the rows of every view but the template, block by block."""
        t, size = self.reference_view, self.align_batch_size
        clamp = self.clamp_known_pairs
        aligned = {}
        for i in self._others(latents):
            blocks = draw_blocks(pairs, i, t, size, clamp, rng)
            if self.verbose:
                name = type(self).__name__
                say(f"[{name}] matching the rows of view {i} in {len(blocks)} blocks")
            found = [self._match(latents[t], latents[i], block) for block in blocks]
            aligned[i] = found + (known_blocks(pairs, i, t, size) if clamp else [])
        return aligned

    def _latents(self, state: State) -> list[Array]:
        """Latent points of all rows of every view."""
        return [encode(f, X) for f, X in zip(state.encoders, state.Xs, strict=True)]

    def _place_rows(self, X: Any, view: int) -> NDArray[np.float32]:
        return self._encoders[view].encode(X.toarray() if sparse.issparse(X) else X)

    def _predict_rows(self, X: Any, view: int) -> NDArray[np.intp]:
        # A new row has no partner: it sees its own view's part of the centres.
        latent = self._place_rows(X, view)
        width = latent.shape[1]
        centers = self.cluster_centers_[:, view * width : (view + 1) * width]
        return np.asarray(pairwise_distances_argmin(latent, centers), dtype=np.intp)

    def _restore_state(self, state: dict[str, Any]) -> None:
        super()._restore_state(state)
        if "labels_" in state:
            latents = zip(state["n_features_per_view_"], state["latents_"], strict=True)
            for encoder, (n_features, latent) in zip(
                state["_encoders"], latents, strict=True
            ):
                encoder.check(n_features, latent.shape[1])
            widths = [latent.shape[1] for latent in state["latents_"]]
            check_shapes(state, {"cluster_centers_": "k e"}, {"e": sum(widths)})

    def _memory_need(self, views: Views) -> float:
        """Count views in single precision; networks, their gradients and moments."""
        scaled = sum(n * d * 4 for n, d in zip(views.n_rows, views.widths, strict=True))
        return scaled + 2 * max(views.n_bytes) + 16 * self._n_weights(views.widths)

    @abstractmethod
    def _n_weights(self, widths: list[int]) -> int:
        """Count the weights of all networks, given the columns of the views."""

    def _others(self, views: Views | list[Any]) -> Iterator[int]:
        """All views but the template."""
        return (i for i in range(len(views)) if i != self.reference_view)

    def _check_pairs(self, views: Views, pairs: KnownPairs) -> None:
        """Complain where there is nothing to learn from."""
        check_reference_view(self.reference_view, views)
        name = type(self).__name__
        if len(views) == 1:
            raise ValueError(
                f"{name} learns from rows that are known to belong together in two "
                "views, but got one view. Bring another, or use PAVuC or SAVuC."
            )
        for i in self._others(views):
            if not len(pairs.between(i, self.reference_view)[0]):
                one, other = (label(views.names[v]) for v in (self.reference_view, i))
                raise ValueError(
                    f"{name} learns from known pairs of rows which others belong "
                    f"together, and no pair is known between {one} and {other}. Give "
                    "some as aligned=, or use a method that needs none: SAVuC or PAVuC."
                )

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        latents = self._latents(state)
        blocks = state.blocks
        if blocks is None:
            blocks = self._align(latents, pairs, np.random.RandomState(seed))
        t = self.reference_view
        points = np.hstack(
            [
                H if i == t else gather(blocks[i], [partners(b, H) for b in blocks[i]])
                for i, H in enumerate(latents)
            ]
        )
        labels, centers = cluster_rows(
            points, self.n_clusters, n_init=self.n_init, seed=seed
        )
        alignment = self._alignment(latents, blocks, views, pairs)
        view_labels = [labels[np.argsort(rows)] for rows in alignment.permutations]
        return state.attributes | {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "template_": t,
            "alignment_": alignment,
            "latents_": latents,
            "embedding_": points,
            "cluster_centers_": centers,
            "_encoders": [
                freeze(f, scaling)
                for f, scaling in zip(state.encoders, state.scalings, strict=True)
            ],
        }

    def _alignment(
        self,
        latents: list[Array],
        blocks: dict[int, list[Block]],
        views: Views,
        pairs: KnownPairs,
    ) -> Alignment:
        """One partner for every row."""
        t = self.reference_view
        all_rows = np.arange(views.n_rows[t])
        permutations, confidence = [], []
        for i, H in enumerate(latents):
            if i == t:
                permutations.append(all_rows)
                confidence.append(np.ones(len(all_rows)))
                continue
            hard = [
                (block, closeness(latents[t], H, block))
                if block.weights is None
                else harden(block)
                for block in blocks[i]
            ]
            permutation = gather(blocks[i], [block.view_rows for block, _ in hard])
            sure = gather(blocks[i], [share for _, share in hard])
            permutations.append(permutation)
            confidence.append(sure)
        return untested_alignment(t, permutations, confidence, views, pairs)
