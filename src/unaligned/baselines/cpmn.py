"""CPMN: clusters of single views, matched by their prototypes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from unaligned.base import Iterate
from unaligned.baselines._deep import adam, load_torch, to_tensor
from unaligned.baselines._pair_trained import State
from unaligned.baselines._unpaired_losses import (
    cluster_spherically,
    cosines,
    graph_loss,
    match_prototypes,
    mutual_neighbors,
    prototype_loss,
    sharpening_loss,
    student_clusters,
    unit,
)
from unaligned.baselines._unpaired_trained import (
    UNPAIRED_TRAINED,
    UnpairedTrainedClusterer,
)
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import NON_NEGATIVE, POSITIVE_INT
from unaligned.views import Views

__all__ = ["CPMN"]

Array = NDArray[Any]


class CPMN(UnpairedTrainedClusterer):
    """Contrastive prototype matching network (CPMN): **a reconstruction**.

    Every view has an autoencoder. Rows that are among the nearest of each other, within
    a view and across views, are drawn together. k-means then finds prototypes in every
    view; those of different views are matched, and rows are drawn to their prototype
    and to the matched ones of the other views. No pair is needed. A row has the cluster
    of its nearest prototype, in every view for itself; rows are matched by their latent
    points.

    It is written from the text of the paper. Our readings: latent points and
    prototypes start at unit length, since most likenesses of the paper are cosines;
    graphs and target distributions are those of a batch; the widths, the number of
    neighbours, the temperature and the epochs, which the paper does not give. What it
    does with rows that are missing from a view is not here.

    Parameters
    ----------
    n_clusters : int, default=10
    lam : float, default=0.1
        Weight λ of the graphs beside the loss of the decoders; published from 0.001
        to 1.
    gamma : float, default=0.1
        Weight γ of the prototypes beside the sharpening of clusters; published from
        0.01 to 1.
    n_neighbors : int, default=10
        Rows of a batch among which mutual neighbours are.
    temperature : float, default=0.5
        τ of the contrastive losses.
    latent_dim : int, default=16
        Dimension of the latent points; the best of those that the paper tries.
    hidden : tuple of int, default=(512, 512)
        Widths of the hidden layers of encoders; decoders mirror them.
    scale : {"none", "minmax", "standard"}, default="standard"
        How columns are scaled first.
    learning_rate : float, default=1e-3
    batch_size : int, default=256
        Rows of every view per step.
    graph_epochs, prototype_epochs : int, default=100, 50
        Epochs before prototypes are matched, and after.
    final_assignment, clamp_known_pairs, align_batch_size, reference_view, n_init
        As in `MvCLN`. Prototypes are named after those of ``reference_view``.
    device : str, default=None
        As in `MvCLN`.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_
        As in `unaligned.PAVuC`.
    alignment_ : Alignment
        As in `MvCLN`. It has no trust: the method has no test of its matches.
    latents_ : list of ndarray of shape (n, latent_dim)
        Latent points of each view at unit length, in its own row order.
    embedding_ : ndarray of shape (n, n_views × latent_dim)
        Latent points beside those of the partners, in the template's row order.
    cluster_centers_ : ndarray of shape (n_clusters, n_views × latent_dim)
        Prototypes of all views side by side, matched ones in a row.
    objective_ : ndarray of shape (graph_epochs + prototype_epochs,)
        Mean loss of every epoch; it changes its kind between the stages.

    Notes
    -----
    First L_rec + λ (Σ_v L_v + Σ_{v≠w} L_vw), the losses of the graphs within and
    across views; then Σ_v KL(P_v ‖ Q_v) + γ (Σ_v L_v + Σ_{v≠w} L_vw), those of the
    prototypes. A view's prototypes are matched to the template's by the Hungarian
    method on cosines.

    Published figures are for NoisyMNIST, MNIST-USPS, Caltech-101, CUB and
    YouTubeFaces; none of these data is at hand here, so none was reproduced.

    References
    ----------
    Y. Wang, Q. Li, D. Chang, J. Wen, H. Dai, F. Xiao, Y. Zhao. Learning from Disjoint
    Views: A Contrastive Prototype Matching Network for Fully Incomplete Multi-View
    Clustering. NeurIPS 2025.

    Examples
    --------
    >>> from unaligned.baselines import CPMN
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> data = unalign(digits.Xs[:2], random_state=0)
    >>> model = CPMN(10, hidden=(256,), graph_epochs=5, random_state=0)
    >>> model.fit(data.Xs).labels_.shape  # doctest: +SKIP
    (1797,)
    """

    reconstruction: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "@inproceedings{wang2025learning,\n"
        "  author = {Wang, Yiming and Li, Qun and Chang, Dongxia and Wen, Jie and\n"
        "            Dai, Hua and Xiao, Fu and Zhao, Yao},\n"
        "  title = {Learning from Disjoint Views: A Contrastive Prototype Matching\n"
        "           Network for Fully Incomplete Multi-View Clustering},\n"
        "  booktitle = {Advances in Neural Information Processing Systems},\n"
        "  year = {2025}\n"
        "}"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **UNPAIRED_TRAINED,
        "lam": [NON_NEGATIVE],
        "gamma": [NON_NEGATIVE],
        "n_neighbors": [POSITIVE_INT],
        "graph_epochs": [POSITIVE_INT],
        "prototype_epochs": [POSITIVE_INT],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        lam: float = 0.1,
        gamma: float = 0.1,
        n_neighbors: int = 10,
        temperature: float = 0.5,
        latent_dim: int = 16,
        hidden: tuple[int, ...] = (512, 512),
        scale: str = "standard",
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        graph_epochs: int = 100,
        prototype_epochs: int = 50,
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
        self.lam = lam
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.temperature = temperature
        self.latent_dim = latent_dim
        self.hidden = hidden
        self.scale = scale
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.graph_epochs = graph_epochs
        self.prototype_epochs = prototype_epochs
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
        """Epochs of both stages together."""
        return self.graph_epochs + self.prototype_epochs

    def _iterate(
        self, views: Views, pairs: KnownPairs, rng: np.random.RandomState
    ) -> Iterator[Iterate]:
        state, networks = self._start(views, rng)
        parts = [part for net in networks for part in net]
        optimizer = adam(parts, self.learning_rate)
        for _ in range(self.graph_epochs):
            loss = self._train(networks, state.Xs, optimizer, rng, self._graph_losses)
            yield Iterate(state, loss, False)
        prototypes = self._learnable(state, int(rng.randint(2**31 - 1)))
        optimizer = adam([*state.encoders, prototypes], self.learning_rate)

        def loss_of(latents: list[Any]) -> Any:
            return self._prototype_losses(latents, list(prototypes))

        for epoch in range(1, self.prototype_epochs + 1):
            loss = self._train(networks, state.Xs, optimizer, rng, loss_of, weight=0.0)
            reached = [C.detach().cpu().numpy().copy() for C in prototypes]
            yield Iterate(
                state._replace(attributes={"_prototypes": reached}),
                loss,
                epoch == self.prototype_epochs,
            )

    def _graph_losses(self, latents: list[Any]) -> Any:
        """λ times the losses of the graphs within views and across them."""
        k, tau = self.n_neighbors, self.temperature
        total: Any = 0.0
        for i, H in enumerate(latents):
            for j, other in enumerate(latents):
                S = cosines(H, other)
                positive = mutual_neighbors(S.detach(), k, same_rows=i == j)
                total = total + graph_loss(S, positive, tau, same_rows=i == j)
        return self.lam * total

    def _prototype_losses(self, latents: list[Any], prototypes: list[Any]) -> Any:
        """Sharpening of clusters, and γ times the losses of the prototypes."""
        total: Any = 0.0
        assigned = []
        for H, C in zip(latents, prototypes, strict=True):
            q = student_clusters(unit(H), C)
            assigned.append(q.detach().argmax(dim=1))
            total = total + sharpening_loss(q)
            total = total + self.gamma * prototype_loss(
                H, C, assigned[-1], self.temperature
            )
        for i, j in permutations(range(len(latents)), 2):
            total = total + self.gamma * prototype_loss(
                latents[i], prototypes[j], assigned[i], self.temperature
            )
        return total

    def _learnable(self, state: State, seed: int) -> Any:
        """Make parameters of the matched prototypes of all views."""
        nn = load_torch().nn
        found = self._matched_prototypes(self._latents(state), seed)
        device = state.Xs[0].device
        return nn.ParameterList([nn.Parameter(to_tensor(C, device)) for C in found])

    def _matched_prototypes(self, latents: list[Array], seed: int) -> list[Array]:
        """Prototypes of every view, in the order of the template's."""
        found = [
            cluster_spherically(H, self.n_clusters_, self.n_init, seed).astype(H.dtype)
            for H in latents
        ]
        return [match_prototypes(found[self.reference_view], C) for C in found]

    def _describe(
        self, state: State, views: Views, pairs: KnownPairs, seed: int
    ) -> dict[str, Any]:
        prototypes = state.attributes.get("_prototypes")
        found = super()._describe(state._replace(attributes={}), views, pairs, seed)
        latents = found["latents_"]
        if prototypes is None:  # stopped before they were matched
            prototypes = self._matched_prototypes(latents, seed)
        view_labels = [
            np.asarray(pairwise_distances_argmin(H, C), dtype=np.intp)
            for H, C in zip(latents, prototypes, strict=True)
        ]
        return found | {
            "labels_": view_labels[0],
            "view_labels_": view_labels,
            "cluster_centers_": np.hstack(prototypes),
        }
