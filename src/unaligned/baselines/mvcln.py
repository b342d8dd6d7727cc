"""MvCLN: contrastive encoders that forgive pairs taken for strangers by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.random import sample_without_replacement

from unaligned.base import Iterate
from unaligned.baselines._deep import (
    adam,
    choose_device,
    load_torch,
    measure_scale,
    seeded,
    to_tensor,
)
from unaligned.baselines._pair_trained import (
    PAIR_TRAINED,
    Block,
    PairTrainedClusterer,
    State,
    draw_blocks,
    known_blocks,
    match_rows,
)
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import POSITIVE, POSITIVE_INT
from unaligned.views import Views

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Sequential

__all__ = ["MvCLN"]

Array = NDArray[Any]
Indices = NDArray[np.intp]


class TrainingPairs(NamedTuple):
    """Rows of the template and of another view, known partners or random strangers."""

    template_rows: Indices
    view_rows: Indices
    known: NDArray[np.float32]
    """1 for partners, 0 for strangers, who may be of one class by chance."""


def draw_pairs(
    of_template: Indices, of_view: Indices, n_strangers: int, rng: np.random.RandomState
) -> TrainingPairs:
    """Add strangers to the known pairs: for every row some known rows of the view.

    Its own partner may be among them, as in the authors' program.
    """
    n = len(of_template)
    m = min(n_strangers, n)
    strangers = [sample_without_replacement(n, m, random_state=rng) for _ in range(n)]
    return TrainingPairs(
        np.concatenate([of_template, np.repeat(of_template, m)]),
        np.concatenate([of_view, of_view[np.concatenate(strangers)]]),
        np.repeat([1, 0], [n, n * m]).astype(np.float32),
    )


def draw_full_batches(n: int, size: int, rng: np.random.RandomState) -> Indices:
    """Shuffle n pairs into batches of one size, a row each; what is left over rests."""
    size = min(size, n)
    return rng.permutation(n)[: n // size * size].reshape(-1, size)


def pair_distances(one: Tensor, other: Tensor) -> Tensor:
    """‖h − g + 10⁻⁶‖, row by row; the offset keeps its gradient finite at zero."""
    return (one - other + 1e-6).norm(dim=1)


def contrastive_loss(d: Tensor, margin: float) -> Tensor:
    """Drive strangers apart up to the margin: max(m − d, 0)²."""
    return (margin - d).clamp(min=0).square()


def robust_loss(d: Tensor, margin: float) -> Tensor:
    """Do so from m/3 on, and draw nearer ones together: d max(m − d, 0)² / m."""
    return d * contrastive_loss(d, margin) / margin


def batch_loss(d: Tensor, known: Tensor, margin: float, robust: bool) -> Tensor:
    """Half the mean over pairs: d² of partners, the chosen loss of strangers."""
    apart = (robust_loss if robust else contrastive_loss)(d, margin)
    return (known * d.square() + (1 - known) * apart).mean() / 2


def choose_margin(d: Tensor, known: Tensor) -> float:
    """Mean distance of partners plus that of strangers, as an integer above 0."""
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
        Strangers for every known row of the template, drawn once among the known rows
        of the other view; all of them where there are fewer.
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
    batch_size : int, default=1024
        Pairs per step. A last, smaller batch is left out unless it is the only one.
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
        "margin": [POSITIVE, None],
        "switch_ratio": [POSITIVE],
        "scale": [StrOptions({"none", "minmax", "standard"})],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
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
        margin: float | None = None,
        switch_ratio: float = 1.0,
        scale: str = "none",
        learning_rate: float = 1e-3,
        batch_size: int = 1024,
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

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        self._check_pairs(views, pairs)
        state, device = self._start(views, rng)
        drawn = {}
        for i in self._others(views):
            of_view, of_template = pairs.between(i, self.reference_view)
            drawn[i] = draw_pairs(of_template, of_view, self.n_negatives, rng)
        optimizer = adam(state.encoders, self.learning_rate)
        margin, robust_from = self.margin, None
        if margin is None:
            with seeded(rng, device), load_torch().no_grad():
                margin = choose_margin(*self._train(state, drawn, rng))
        for epoch in range(1, self.epochs + 1):
            robust = robust_from is not None
            with seeded(rng, device):
                d, known = self._train(state, drawn, rng, optimizer, margin, robust)
            facts = {"margin_": margin, "robust_from_": robust_from}
            loss = float(batch_loss(d, known, margin, robust))
            yield Iterate(state._replace(attributes=facts), loss, epoch == self.epochs)
            if not robust and d[known == 0].mean() >= self.switch_ratio * margin:
                robust_from = epoch + 1

    def _start(self, views: Views, rng: np.random.RandomState) -> tuple[State, Any]:
        """Scaled views and untrained encoders on the device."""
        device = choose_device(self.device)
        scalings = [measure_scale(X, self.scale) for X in views.arrays]
        scaled = zip(scalings, views.arrays, strict=True)
        Xs = [to_tensor(scaling.apply(X), device) for scaling, X in scaled]
        with seeded(rng, device):
            encoders = [
                build_encoder(d, tuple(self.hidden), self.latent_dim, self.dropout)
                for d in views.widths
            ]
        return State([f.to(device) for f in encoders], Xs, scalings), device

    def _train(
        self,
        state: State,
        drawn: dict[int, TrainingPairs],
        rng: np.random.RandomState,
        optimizer: Any = None,
        margin: float = 1.0,
        robust: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """One epoch over the drawn pairs; without an optimiser, only measure.

        Returns the distances of all pairs, and which of them are known partners.
        """
        t, distances, partners = self.reference_view, [], []
        for i, pairs in drawn.items():
            for batch in draw_full_batches(len(pairs.known), self.batch_size, rng):
                d = pair_distances(
                    state.encoders[t](state.Xs[t][pairs.template_rows[batch]]),
                    state.encoders[i](state.Xs[i][pairs.view_rows[batch]]),
                )
                known = to_tensor(pairs.known[batch], d.device)
                if optimizer is not None:
                    optimizer.zero_grad()
                    batch_loss(d, known, margin, robust).backward()
                    optimizer.step()
                distances.append(d.detach())
                partners.append(known)
        cat = load_torch().cat
        return cat(distances), cat(partners)

    def _align(
        self, latents: list[Array], pairs: KnownPairs, rng: np.random.RandomState
    ) -> dict[int, list[Block]]:
        t, size, clamp = (
            self.reference_view,
            self.align_batch_size,
            self.clamp_known_pairs,
        )
        aligned = {}
        for i in self._others(latents):
            found = [
                match_rows(latents[t], latents[i], block, self.final_assignment)
                for block in draw_blocks(pairs, i, t, size, clamp, rng)
            ]
            aligned[i] = found + (known_blocks(pairs, i, t, size) if clamp else [])
        return aligned
