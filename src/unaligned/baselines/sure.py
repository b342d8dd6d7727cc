"""SURE: MvCLN with decoders, which reconstruct rows from their latent points."""

from __future__ import annotations

from typing import Any, ClassVar

from unaligned.baselines._contrastive import build_decoder
from unaligned.baselines._margin_trained import MarginTrainedClusterer
from unaligned.baselines._pair_trained import State
from unaligned.parameters import NON_NEGATIVE

__all__ = ["SURE"]


class SURE(MarginTrainedClusterer):
    """Robust multi-view clustering with incomplete information (SURE).

    `MvCLN` with a decoder for every view: partners get near latent points, negatives
    distant ones, and rows are reconstructed from their latent points. It needs
    ``aligned=``. What the paper does about rows that are missing from a view is not
    here: such rows have no partner in these views.

    Parameters
    ----------
    n_clusters : int, default=10
    lam : float, default=0.5
        Weight λ of the mean squared error of the decoders.
    latent_dim, hidden, dropout, n_negatives, negatives, margin, switch_ratio, scale
        As in `MvCLN`.
    learning_rate, batch_size, epochs, final_assignment, clamp_known_pairs
        As in `MvCLN`.
    align_batch_size, reference_view, n_init, device
        As in `MvCLN`.
    view_sizes : sequence of int, default=None
        Columns of each view where ``fit`` gets one 2-D array.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    labels_, view_labels_, template_, alignment_
        As in `MvCLN`.
    margin_, robust_from_, latents_, embedding_, cluster_centers_, objective_
        As in `MvCLN`; the objective is that of the pairs.

    Notes
    -----
    Written from a description of the loss. That decoders are mirror images of the
    encoders, without a rectifier at their end, is our reading.

    References
    ----------
    M. Yang, Y. Li, P. Hu, J. Bai, J. Lv, X. Peng. Robust Multi-View Clustering with
    Incomplete Information. IEEE TPAMI 45(1), 2023.

    Examples
    --------
    >>> from unaligned.baselines import SURE
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> digits = load_digits_views()
    >>> data = unalign(digits.Xs[:2], ratio=0.5, random_state=0)
    >>> model = SURE(10, hidden=(256,), epochs=5, random_state=0)
    >>> model.fit(data.Xs, aligned=data.n_aligned).labels_.shape  # doctest: +SKIP
    (1797,)
    """

    citation: ClassVar[str] = (
        "@article{yang2023robust,\n"
        "  author = {Yang, Mouxing and Li, Yunfan and Hu, Peng and Bai, Jinfeng and\n"
        "            Lv, Jiancheng and Peng, Xi},\n"
        "  title = {Robust Multi-View Clustering with Incomplete Information},\n"
        "  journal = {IEEE Transactions on Pattern Analysis and Machine\n"
        "             Intelligence},\n"
        "  volume = {45},\n"
        "  number = {1},\n"
        "  year = {2023}\n"
        "}"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginTrainedClusterer._parameter_constraints,
        "lam": [NON_NEGATIVE],
    }

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        lam: float = 0.5,
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
        super().__init__(
            n_clusters,
            latent_dim=latent_dim,
            hidden=hidden,
            dropout=dropout,
            n_negatives=n_negatives,
            negatives=negatives,
            margin=margin,
            switch_ratio=switch_ratio,
            scale=scale,
            learning_rate=learning_rate,
            batch_size=batch_size,
            epochs=epochs,
            final_assignment=final_assignment,
            clamp_known_pairs=clamp_known_pairs,
            align_batch_size=align_batch_size,
            reference_view=reference_view,
            n_init=n_init,
            device=device,
            view_sizes=view_sizes,
            random_state=random_state,
            verbose=verbose,
        )
        self.lam = lam

    def _n_weights(self, widths: list[int]) -> int:
        return 2 * super()._n_weights(widths)

    def _build_decoders(self, widths: list[int]) -> list[Any]:
        layers = (self.latent_dim, *reversed(tuple(self.hidden)))
        return [build_decoder((*layers, width), self.dropout) for width in widths]

    def _further_loss(
        self, state: State, views: tuple[int, int], rows: list[Any], latents: list[Any]
    ) -> Any:
        """λ times the squared errors of the decoders, a mean over entries each."""
        errors = [
            (state.decoders[i](H) - X).square().mean()
            for i, X, H in zip(views, rows, latents, strict=True)
        ]
        return self.lam * sum(errors)
