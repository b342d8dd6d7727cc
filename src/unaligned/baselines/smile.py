"""SMILE: clusters that occur equally often in every view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from unaligned.base import Iterate
from unaligned.baselines._deep import adam, to_tensor
from unaligned.baselines._unpaired_losses import (
    cluster_spherically,
    semantic_loss,
    soft_clusters,
)
from unaligned.baselines._unpaired_trained import (
    UNPAIRED_TRAINED,
    UnpairedTrainedClusterer,
)
from unaligned.known_pairs import KnownPairs
from unaligned.parameters import NON_NEGATIVE, POSITIVE_INT
from unaligned.views import Views

__all__ = ["SMILE"]


class SMILE(UnpairedTrainedClusterer):
    """Semantic invariance learning (SMILE): **a reconstruction**.

    Every view has an autoencoder. Latent points of all views are assigned softly to
    common centres; the share of each cluster shall be the same in every view, and the
    cluster of a row shall be certain. No pair is needed. Which cluster of one view
    meets which of another is left to the start: equal shares do not tell clusters of
    equal size apart. Rows are then matched by their latent points, and clustered
    beside their partners.

    It is written from the paper's idea and its information-theoretic objective. The
    settings, the way centres are found and the architecture are ours; what the paper
    does with known pairs and with missing rows is not here.

    Parameters
    ----------
    n_clusters : int, default=10
    lam : float, default=1.0
        Weight λ of the loss of the clusters beside that of the decoders; of 0.1 and 1,
        the one with better scores by labels on the digits that come with the library.
    gamma : float, default=1.0
        Weight γ of the information of clusters about rows beside that about views.
    temperature : float, default=0.1
        τ of the soft assignment, a softmax of cosines with the centres over τ.
    latent_dim : int, default=64
        Dimension of the latent points.
    hidden : tuple of int, default=(512, 512)
        Widths of the hidden layers of encoders; decoders mirror them.
    scale : {"none", "minmax", "standard"}, default="standard"
        How columns are scaled first.
    learning_rate : float, default=1e-3
    batch_size : int, default=256
        Rows of every view per step.
    epochs : int, default=100
    final_assignment, clamp_known_pairs, align_batch_size, reference_view, n_init
        As in `MvCLN`.
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
        What k-means clustered, in the template's row order.
    cluster_centers_ : ndarray of shape (n_clusters, n_views × latent_dim)
    objective_ : ndarray of shape (epochs,)
        Mean loss of every epoch.

    Notes
    -----
    The loss of a batch is L_rec + λ (I(C; V) − γ I(C; X)). At the start of every
    epoch, centres are those of k-means on the latent points of all views.

    Published figures are for NoisyMNIST, MNIST-USPS, Caltech-101, CUB and
    YouTubeFaces; none of these data is at hand here, so none was reproduced.

    References
    ----------
    P. Zeng, M. Yang, Y. Lu, C. Zhang, P. Hu, X. Peng. Semantic Invariant Multi-view
    Clustering with Fully Incomplete Information. IEEE TPAMI 46(4), 2024.

    Examples
    --------
    >>> from unaligned.baselines import SMILE
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> data = unalign(digits.Xs[:2], random_state=0)
    >>> model = SMILE(10, hidden=(256,), epochs=5, random_state=0)
    >>> model.fit(data.Xs).labels_.shape  # doctest: +SKIP
    (1797,)
    """

    reconstruction: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "@article{zeng2024semantic,\n"
        "  author = {Zeng, Pengxin and Yang, Mouxing and Lu, Yiding and\n"
        "            Zhang, Changqing and Hu, Peng and Peng, Xi},\n"
        "  title = {Semantic Invariant Multi-view Clustering with Fully Incomplete\n"
        "           Information},\n"
        "  journal = {IEEE Transactions on Pattern Analysis and Machine\n"
        "             Intelligence},\n"
        "  volume = {46},\n"
        "  number = {4},\n"
        "  year = {2024}\n"
        "}"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **UNPAIRED_TRAINED,
        "lam": [NON_NEGATIVE],
        "gamma": [NON_NEGATIVE],
        "epochs": [POSITIVE_INT],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        lam: float = 1.0,
        gamma: float = 1.0,
        temperature: float = 0.1,
        latent_dim: int = 64,
        hidden: tuple[int, ...] = (512, 512),
        scale: str = "standard",
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        epochs: int = 100,
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
        self.temperature = temperature
        self.latent_dim = latent_dim
        self.hidden = hidden
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
        state, networks = self._start(views, rng)
        parts = [part for net in networks for part in net]
        optimizer = adam(parts, self.learning_rate)
        for epoch in range(1, self.epochs + 1):
            all_rows = np.concatenate(self._latents(state))
            seed = int(rng.randint(2**31 - 1))
            found = cluster_spherically(all_rows, self.n_clusters_, 1, seed)
            centers = to_tensor(found.astype(np.float32), state.Xs[0].device)

            def loss_of(latents: list[Any], centers: Any = centers) -> Any:
                assigned = [
                    soft_clusters(H, centers, self.temperature) for H in latents
                ]
                return self.lam * semantic_loss(assigned, self.gamma)

            loss = self._train(networks, state.Xs, optimizer, rng, loss_of)
            yield Iterate(state, loss, epoch == self.epochs)
