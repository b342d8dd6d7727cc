"""PVC: auto-encoders whose latent points a differentiable assignment brings together.

D is the matrix of squared latent distances, P an assignment: row i of it weighs the
rows of the other view as partners of row i of the template.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from unaligned.base import Iterate
from unaligned.baselines._autoencoders import (
    AutoEncoder,
    assignment_loss,
    block_loss,
    build_autoencoders,
    pair_loss,
)
from unaligned.baselines._blocks import Block, match_rows
from unaligned.baselines._deep import (
    adam,
    choose_device,
    count_weights,
    draw_batches,
    encode,
    load_torch,
    scale_views,
    to_tensor,
)
from unaligned.baselines._pair_trained import (
    PAIR_TRAINED,
    PairTrainedClusterer,
    State,
)
from unaligned.baselines._soft_assignment import (
    Assignment,
    assign_softly,
    squared_distances,
)
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import NON_NEGATIVE, POSITIVE, POSITIVE_INT
from unaligned.views import Views

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PVC"]

Array = NDArray[Any]
Indices = NDArray[np.intp]
NON_NEGATIVE_INT = Interval(Integral, 0, None, closed="left")


class PVC(PairTrainedClusterer):
    """Partially view-aligned clustering (PVC): learns from the pairs that are known.

    Trains an auto-encoder per view on the known pairs, so that partners have the same
    latent point and a differentiable assignment of shuffled partners finds them. By it,
    all rows of a view are assigned to those of the template; training goes on with that
    assignment, and latent points are clustered beside those of their partners. It needs
    ``aligned=``, and many pairs: auto-encoders that saw one row in a hundred tell
    little about the others.

    Parameters
    ----------
    n_clusters : int, default=10
    latent_dim : int, default=None
        Dimension of the latent points. None: ``n_clusters``, and two at least.
    hidden : tuple of int, default=(1024, 1024)
        Widths of the hidden layers of the encoders, and in reverse of the decoders.
    lam : float, default=10.0
        Weight λ of finding the known pairs by assignment.
    learning_rate : float, default=1e-3
    weight_decay : float, default=1e-5
    batch_size : int, default=128
        Known pairs per step of the first two stages.
    pretrain_epochs : int, default=2000
        Epochs on known pairs, without assignment.
    align_epochs : int, default=2000
        Epochs on known pairs, with it.
    finetune_epochs : int, default=200
        Epochs on all rows, as they were assigned.
    assign_steps : int, default=30
        Gradient steps of an assignment.
    assign_sweeps : int, default=10
        Dykstra sweeps after each of them.
    assign_step_size : float, default=0.1
        Length of a gradient step.
    reset_corrections : bool, default=False
        Whether Dykstra's corrections start anew at every gradient step, as textbooks
        have it, or are carried over, as in the authors' program.
    cost_scale : {"none", "mean"}, default="none"
        ``"mean"`` divides latent distances by their mean before an assignment. As
        published, sweeps are too few where distances are large, and rows of the
        assignment then sum to much more than one.
    normalise_rows : bool, default=False
        Whether rows of the final assignment are made to sum to one.
    final_assignment : {"soft", "hungarian", "greedy"}, default="soft"
        How the rows are assigned in the end: as in training; one to one with the least
        sum of distances; or each in turn to the nearest one that is free.
    clamp_known_pairs : bool, default=True
        Whether known pairs stay together in the end. The authors' program assigns them
        anew.
    align_batch_size : int, default=4096
        Most rows that are assigned to each other at once; more are split into random
        blocks. None assigns all at once, as in the authors' program, in n × n memory.
    reference_view : int, default=0
        The template, to which all other views are aligned.
    n_init : int, default=20
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
        One to one: soft assignments are rounded, the heaviest pair first. Confidence is
        the share of the partner in the weight of its row. Trust is the share of rows
        whose partner was known.
    latents_ : list of ndarray of shape (n, latent_dim)
        Latent points of each view, in its own row order.
    embedding_ : ndarray of shape (n, n_views × latent_dim)
        What k-means clustered, in the template's row order: latent points of the
        template and of assigned partners.
    cluster_centers_ : ndarray of shape (n_clusters, n_views × latent_dim)
    objective_ : ndarray of shape (n_epochs,)
        Mean loss of every epoch. It jumps where a stage begins and adds or drops terms.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether all epochs were run.

    Notes
    -----
    Views are scaled to [0, 1], each as a whole. More than two views have one
    auto-encoder each; those of the template learn from all other views.

    A fit that is interrupted (Ctrl-C) keeps the networks of the last epoch: the
    estimator can be used.

    References
    ----------
    Z. Huang, P. Hu, J. T. Zhou, J. Lv, X. Peng. Partially View-aligned Clustering.
    NeurIPS 2020.

    Examples
    --------
    >>> from unaligned.baselines import PVC
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> data = unalign(digits.Xs[:2], ratio=0.5, random_state=0)
    >>> model = PVC(10, pretrain_epochs=200, align_epochs=50, random_state=0)
    >>> model.fit(data.Xs, aligned=data.n_aligned).labels_  # doctest: +SKIP
    """

    citation: ClassVar[str] = (
        "@inproceedings{huang2020partially,\n"
        "  author = {Huang, Zhenyu and Hu, Peng and Zhou, Joey Tianyi and\n"
        "            Lv, Jiancheng and Peng, Xi},\n"
        "  title = {Partially View-aligned Clustering},\n"
        "  booktitle = {Advances in Neural Information Processing Systems},\n"
        "  year = {2020}\n"
        "}"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PAIR_TRAINED,
        "latent_dim": [POSITIVE_INT, None],
        "lam": [NON_NEGATIVE],
        "weight_decay": [NON_NEGATIVE],
        "batch_size": [POSITIVE_INT],
        "pretrain_epochs": [POSITIVE_INT],
        "align_epochs": [NON_NEGATIVE_INT],
        "finetune_epochs": [NON_NEGATIVE_INT],
        "assign_steps": [POSITIVE_INT],
        "assign_sweeps": [POSITIVE_INT],
        "assign_step_size": [POSITIVE],
        "reset_corrections": ["boolean"],
        "cost_scale": [StrOptions({"none", "mean"})],
        "normalise_rows": ["boolean"],
        "final_assignment": [StrOptions({"soft", "hungarian", "greedy"})],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        latent_dim: int | None = None,
        hidden: tuple[int, ...] = (1024, 1024),
        lam: float = 10.0,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-5,
        batch_size: int = 128,
        pretrain_epochs: int = 2000,
        align_epochs: int = 2000,
        finetune_epochs: int = 200,
        assign_steps: int = 30,
        assign_sweeps: int = 10,
        assign_step_size: float = 0.1,
        reset_corrections: bool = False,
        cost_scale: str = "none",
        normalise_rows: bool = False,
        final_assignment: str = "soft",
        clamp_known_pairs: bool = True,
        align_batch_size: int | None = 4096,
        reference_view: int = 0,
        n_init: int = 20,
        device: str | None = None,
        view_sizes: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.latent_dim = latent_dim
        self.hidden = hidden
        self.lam = lam
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.pretrain_epochs = pretrain_epochs
        self.align_epochs = align_epochs
        self.finetune_epochs = finetune_epochs
        self.assign_steps = assign_steps
        self.assign_sweeps = assign_sweeps
        self.assign_step_size = assign_step_size
        self.reset_corrections = reset_corrections
        self.cost_scale = cost_scale
        self.normalise_rows = normalise_rows
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
        """Epochs of the three stages together."""
        return self.pretrain_epochs + self.align_epochs + self.finetune_epochs

    def _memory_need(self, views: Views) -> float:
        """Add soft assignments, a block of them in the making, and its activations."""
        n = views.n_rows[0]
        block = min(self.align_batch_size or n, n)
        kept = (len(views) - 1) * n * block * 4 * (self.final_assignment == "soft")
        activations = 8 * block * (2 * sum(self.hidden) + max(views.widths)) * 4
        return super()._memory_need(views) + kept + max(6 * block**2 * 4, activations)

    def _n_weights(self, widths: list[int]) -> int:
        latent = self.latent_dim or max(2, self.n_clusters)
        return 2 * count_weights(widths, (*self.hidden, latent))

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        self._check_pairs(views, pairs)
        device = choose_device(self.device)
        scalings, Xs = scale_views(views, "range", device)
        latent = self.latent_dim or max(2, self.n_clusters)
        networks = build_autoencoders(views.widths, self.hidden, latent, device, rng)
        state = State([net.encoder for net in networks], Xs, scalings)
        known = {i: pairs.between(i, self.reference_view) for i in self._others(Xs)}
        optimizer = self._optimizer(networks)
        n_epochs = self.pretrain_epochs + self.align_epochs
        for epoch in range(1, n_epochs + 1):
            lam = self.lam if epoch > self.pretrain_epochs else 0.0
            loss = self._train_on_pairs(networks, Xs, known, optimizer, lam, rng)
            yield Iterate(state, loss, epoch == self.max_iter)
        latents = [encode(f, X) for f, X in zip(state.encoders, Xs, strict=True)]
        state = state._replace(blocks=self._align(latents, pairs, rng))
        optimizer = self._optimizer(networks)
        for epoch in range(n_epochs + 1, self.max_iter + 1):
            loss = self._train_on_all(networks, state, optimizer)
            yield Iterate(state, loss, epoch == self.max_iter)

    def _optimizer(self, networks: list[AutoEncoder]) -> Any:
        parts = [part for net in networks for part in net]
        return adam(parts, self.learning_rate, self.weight_decay)

    def _train_on_pairs(
        self,
        networks: list[AutoEncoder],
        Xs: list[Tensor],
        known: dict[int, tuple[Indices, Indices]],
        optimizer: Any,
        lam: float,
        rng: np.random.RandomState,
    ) -> float:
        """One epoch over the known pairs; return the mean loss."""
        t, losses = self.reference_view, []
        for i, (of_view, of_template) in known.items():
            nets = [networks[t], networks[i]]
            for batch in draw_batches(len(of_view), self.batch_size, rng):
                rows = [Xs[t][of_template[batch]], Xs[i][of_view[batch]]]
                (H, partner), loss = pair_loss(nets, rows)
                if lam > 0:
                    order = rng.permutation(len(batch))
                    loss += lam * assignment_loss(H, partner, order, self._assignment())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
        return float(sum(losses)) / len(losses)

    def _train_on_all(
        self, networks: list[AutoEncoder], state: State, optimizer: Any
    ) -> float:
        """One step on all rows, which are gone through block by block."""
        t, total = self.reference_view, 0.0
        optimizer.zero_grad()
        for i, blocks in (state.blocks or {}).items():
            nets = [networks[t], networks[i]]
            for block in blocks:
                rows = [state.Xs[t][block.template_rows], state.Xs[i][block.view_rows]]
                share = len(block.view_rows) / len(state.Xs[i])
                loss = share * block_loss(nets, rows, block.weights)
                loss.backward()
                total += loss.detach()
        optimizer.step()
        return float(total)

    def _match(self, template: Array, view: Array, block: Block) -> Block:
        if self.final_assignment != "soft":
            return match_rows(template, view, block, self.final_assignment)
        device = choose_device(self.device)
        with load_torch().no_grad():
            D = squared_distances(
                to_tensor(template[block.template_rows], device),
                to_tensor(view[block.view_rows], device),
            )
            weights = assign_softly(D, self._assignment())
            if self.normalise_rows:
                weights /= weights.sum(1, keepdim=True).clamp(min=1e-12)
        return block._replace(weights=weights)

    def _assignment(self) -> Assignment:
        return Assignment(
            self.assign_steps,
            self.assign_sweeps,
            self.assign_step_size,
            self.reset_corrections,
            self.cost_scale,
        )
