"""MvCLN: contrastive encoders that forgive pairs taken for strangers by mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
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
    draw_strangers,
    pair_distances,
    pair_up,
    share_rows,
)
from unaligned.baselines._deep import (
    adam,
    choose_device,
    load_torch,
    scale_views,
    seeded,
    to_tensor,
)
from unaligned.baselines._pair_trained import (
    PAIR_TRAINED,
    Block,
    PairTrainedClusterer,
    State,
    match_rows,
)
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import POSITIVE, POSITIVE_INT
from unaligned.views import Views

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["MvCLN"]

Array = NDArray[Any]
# Goes through the pairs of the template and a view once, in batches.
Source = Callable[[np.random.RandomState], Iterator[Batch]]


class MvCLN(PairTrainedClusterer):
    """Multi-view contrastive learning with noise-robust loss (MvCLN).

    Trains an encoder per view so that known pairs have nearby latent points and random
    pairs of rows distant ones, with a loss that lets strangers who turn out to be near
    come together: they are probably of one class. All other rows then take the nearest
    free row of the other view, and latent points are clustered beside those of their
    partners. It needs ``aligned=``. It aims at partners of the same class, not at the
    same object.

    Parameters
    ----------
    n_clusters : int, default=10
    latent_dim : int, default=10
        Dimension of the latent points.
    hidden : tuple of int, default=(1024, 1024, 1024)
        Widths of the hidden layers.
    dropout : float, default=0.2
    n_negatives : int, default=30
        Strangers for every known row of the template, drawn among the known rows of
        the other view; all of them where there are fewer.
    negatives : {"fixed", "batch"}, default="fixed"
        Strangers are drawn once for the whole fit, and the rows of every pair encoded
        for themselves; or anew among the rows of each batch, which are encoded once.
        The latter is not as published, and up to thirty times cheaper.
    margin : float, default=None
        Distance beyond which strangers are left alone. None: from the distances of the
        untrained encoders.
    switch_ratio : float, default=1.0
        The robust loss is used after the first epoch in which the mean distance of
        strangers is at least this share of the margin; before, and if that never
        happens, the ordinary contrastive loss.
    scale : {"none", "minmax", "standard"}, default="none"
        How columns are scaled first.
    learning_rate : float, default=1e-3
    batch_size : int, default=None
        With ``negatives="fixed"`` pairs per step, partners and strangers; with
        ``"batch"`` partners. None: 1024 or 128. A last, smaller batch is left out
        unless it is the only one.
    epochs : int, default=80
    final_assignment : {"greedy", "hungarian"}, default="greedy"
        How rows are matched in the end: each in turn with the nearest one that is free;
        or with the least sum of squared distances.
    clamp_known_pairs : bool, default=True
        Whether known pairs stay together in the end. The authors' program matches them
        anew.
    align_batch_size : int, default=1024
        Most rows that are matched with each other at once; more are split into random
        blocks. None matches all at once.
    reference_view : int, default=0
        The template, to which all other views are aligned.
    n_init : int, default=10
        Restarts of the final k-means.
    device : str, default=None
        Where to train: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, … None is a CUDA GPU where
        torch sees one, else the CPU. The same seed gives the same result on the CPU;
        on a GPU it may differ in the last digits.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_
        As in `unaligned.PAVuC`.
    alignment_ : Alignment
        One to one. Confidence is the share of the partner among the rivals in its
        block, each counted by how much nearer it is than the mean row. Trust is the
        share of rows whose partner was known.
    margin_ : float
    robust_from_ : int or None
        First epoch with the robust loss.
    latents_ : list of ndarray of shape (n, latent_dim)
        Latent points of each view, in its own row order.
    embedding_ : ndarray of shape (n, n_views × latent_dim)
        What k-means clustered, in the template's row order: latent points of the
        template and of matched partners.
    cluster_centers_ : ndarray of shape (n_clusters, n_views × latent_dim)
    objective_ : ndarray of shape (n_epochs,)
        Mean loss of every epoch.
    n_iter_ : int
        Epochs. The last one counts; the authors' program looks at labels after each.
    converged_ : bool
        Whether all epochs were run.

    Notes
    -----
    More than two views have one encoder each; that of the template learns from all
    other views, with one margin for all.

    There are ``n_negatives`` strangers to every partner, so that partners come together
    only under the robust loss. Where ``robust_from_`` is None or close to ``epochs``,
    that was too late: with few pairs an epoch is a few steps, and more epochs help.
    Which classes share a latent point is a matter of the seed; `LabelFreeSearch` with
    ``n_repeats`` picks one of several fits without labels.

    Where hundreds of pairs are known, one hidden layer and a wide latent space are far
    better than what was published: ``latent_dim=64, hidden=(256,), n_negatives=10,
    negatives="batch", scale="standard", epochs=100``.

    A fit that is interrupted (Ctrl-C) keeps the networks of the last epoch: the
    estimator can be used.

    References
    ----------
    M. Yang, Y. Li, Z. Huang, Z. Liu, P. Hu, X. Peng. Partially View-aligned
    Representation Learning with Noise-robust Contrastive Loss. CVPR 2021.

    Examples
    --------
    >>> from unaligned.baselines import MvCLN
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> data = unalign(digits.Xs[:2], ratio=0.5, random_state=0)
    >>> model = MvCLN(10, hidden=(256,), epochs=5, random_state=0)
    >>> model.fit(data.Xs, aligned=data.n_aligned).labels_.shape  # doctest: +SKIP
    (1797,)
    """

    citation: ClassVar[str] = (
        "@inproceedings{yang2021partially,\n"
        "  author = {Yang, Mouxing and Li, Yunfan and Huang, Zhenyu and\n"
        "            Liu, Zitao and Hu, Peng and Peng, Xi},\n"
        "  title = {Partially View-aligned Representation Learning with Noise-robust\n"
        "           Contrastive Loss},\n"
        "  booktitle = {IEEE/CVF Conference on Computer Vision and Pattern\n"
        "               Recognition},\n"
        "  year = {2021}\n"
        "}"
    )

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
        """Add the pairs, of which a row has as many as strangers, and activations."""
        n_pairs = (len(views) - 1) * views.n_rows[0] * (self.n_negatives + 1)
        activations = 9 * (self.batch_size or 1024) * sum(self.hidden) * 4
        return super()._memory_need(views) + 40 * n_pairs + activations

    def _n_weights(self, widths: list[int]) -> int:
        return sum(
            inputs * outputs
            for width in widths
            for inputs, outputs in pairwise((width, *self.hidden, self.latent_dim))
        )

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        self._check_pairs(views, pairs)
        state, device = self._start(views, rng)
        sources = {i: self._source(i, pairs, rng) for i in self._others(views)}
        optimizer = adam(state.encoders, self.learning_rate)
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
        return State([f.to(device) for f in encoders], Xs, scalings), device

    def _source(
        self, view: int, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Source:
        """Where the batches of a view come from."""
        of_view, of_template = pairs.between(view, self.reference_view)
        known = of_template, of_view
        if self.negatives == "batch" and len(of_view) > 1:  # no batch of one row
            size = self.batch_size or 128
            return partial(share_rows, known, self.n_negatives, size)
        strangers = draw_strangers(len(of_view), self.n_negatives, rng)
        return partial(pair_up, known, strangers, self.batch_size or 1024)

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
                H = state.encoders[t](state.Xs[t][batch.template_rows])
                other = state.encoders[i](state.Xs[i][batch.view_rows])
                d = pair_distances(H[batch.pairs[0]], other[batch.pairs[1]])
                known = to_tensor(batch.known, d.device)
                if optimizer is not None:
                    optimizer.zero_grad()
                    batch_loss(d, known, margin, robust).backward()
                    optimizer.step()
                distances.append(d.detach())
                partners.append(known)
        cat = load_torch().cat
        return cat(distances), cat(partners)

    def _match(self, template: Array, view: Array, block: Block) -> Block:
        return match_rows(template, view, block, self.final_assignment)
