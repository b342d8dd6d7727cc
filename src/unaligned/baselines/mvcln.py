"""MvCLN: contrastive encoders that forgive pairs taken for negatives by mistake."""

from typing import ClassVar

from unaligned.baselines._margin_trained import MarginTrainedClusterer

__all__ = ["MvCLN"]


class MvCLN(MarginTrainedClusterer):
    """Multi-view contrastive learning with noise-robust loss (MvCLN).

    Trains an encoder per view so that known pairs have nearby latent points and random
    pairs of rows distant ones, with a loss that lets negatives that turn out to be near
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
        Negatives for every known row of the template, drawn among the known rows of
        the other view; all of them where there are fewer.
    negatives : {"fixed", "batch"}, default="fixed"
        Negatives are drawn once for the whole fit, and the rows of every pair encoded
        for themselves; or anew among the rows of each batch, which are encoded once.
        The latter is not as published, and up to thirty times cheaper.
    margin : float, default=None
        Distance beyond which negatives are left alone. None: from the distances of the
        untrained encoders.
    switch_ratio : float, default=1.0
        The robust loss is used after the first epoch in which the mean distance of
        negatives is at least this share of the margin; before, and if that never
        happens, the ordinary contrastive loss.
    scale : {"none", "minmax", "standard"}, default="none"
        How columns are scaled first.
    learning_rate : float, default=1e-3
    batch_size : int, default=None
        With ``negatives="fixed"`` pairs per step, partners and negatives; with
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

    There are ``n_negatives`` negatives to every partner, so that partners come together
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
