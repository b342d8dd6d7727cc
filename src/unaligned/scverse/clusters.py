"""``cluster``: clusters of the cells of all modalities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.base import ViewClusterer
from unaligned.estimators import estimator_named
from unaligned.scverse.reading import Cells, Choice, read_cells
from unaligned.scverse.writing import about_alignment, categories, write_alignment

__all__ = ["cluster"]


def cluster(
    mdata: Any,
    n_clusters: int | str = "auto",
    *,
    method: str = "SAVuC",
    use_rep: Choice = None,
    layer: Choice = None,
    transform: Choice = "auto",
    aligned: Any = "obs_names",
    inplace: bool = False,
    key_added: str = "unaligned",
    random_state: Any = 0,
    verbose: int = 0,
    **parameters: Any,
) -> ViewClusterer:
    """Cluster and align the cells of all modalities.

    Parameters
    ----------
    mdata : MuData or dict of AnnData
        The modalities, which may hold different cells, and different numbers of them.
    n_clusters : int or "auto", default="auto"
        "auto": see `unaligned.selection.select_n_clusters`; SAVuC and PAVuC only.
    method : str, default="SAVuC"
        Name of an estimator: ``"SAVuC"``, ``"PAVuC"`` or one of `unaligned.baselines`.
    use_rep, layer, transform, aligned, inplace, key_added
        As in `align`.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0
        Whether to print lines of progress.
    **parameters
        Further parameters of the estimator, such as ``effort="quick"``.

    Returns
    -------
    estimator
        The fitted one.

    Notes
    -----
    With ``inplace=True`` and the default key, every modality gets what `align` writes,
    and

    - ``obs["unaligned"]``: clusters. They have common names in the modalities that
      ``shares_clusters`` (below) marks; in others, equal names mean nothing;
    - ``obsm["X_unaligned"]``: coordinates in the space that modalities share; NaN for
      cells without a place in it; only if modalities share one;
    - in ``uns["unaligned"]`` also ``method``, ``n_clusters`` and ``shares_clusters``.

    Look at ``verdict`` before you use partners: SAVuC matches cells one by one
    ("objects"), finds that groups of them correspond ("classes"), or refuses a modality
    ("none"). Other methods match all cells without a test ("untested"):
    rely on known partners only, which have confidence one.

    Counts are recognised and normalised as `unaligned.prepare` does it; new cells for
    ``predict`` and ``transform`` of the model have to be normalised likewise. You may
    also reduce them to some dozens of components first and name these with ``use_rep``.

    Examples
    --------
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.scverse import cluster
    >>> digits = load_digits_views()
    >>> rna, atac = unalign([X[:300] for X in digits.Xs[::3]], random_state=0).Xs
    >>> cells = {"rna": AnnData(rna), "atac": AnnData(atac)}  # doctest: +SKIP
    >>> quick = {"aligned": None, "effort": "quick"}
    >>> model = cluster(cells, 10, inplace=True, **quick)  # doctest: +SKIP
    >>> sorted(cells["atac"].obs)  # doctest: +SKIP
    ['unaligned', 'unaligned_confidence_rna', 'unaligned_partner_rna']
    """
    cells = read_cells(
        mdata, use_rep=use_rep, layer=layer, transform=transform, aligned=aligned
    )
    model = estimator_named(method)(
        n_clusters, random_state=random_state, verbose=verbose, **parameters
    )
    model.fit(cells.Xs, aligned=cells.aligned)
    if inplace:
        _write(mdata, cells, model, key_added)
    return model


def _write(mdata: Any, cells: Cells, model: Any, key_added: str) -> None:
    """Write clusters and the results of the alignment."""
    alignment = model.alignment_
    fused = getattr(model, "fused_views_", range(alignment.n_views))
    about = about_alignment(alignment, cells) | {
        "method": type(model).__name__,
        "n_clusters": int(getattr(model, "n_clusters_", model.n_clusters)),
        "shares_clusters": np.array([i in fused for i in range(alignment.n_views)]),
    }
    shared = [i for i in fused if len(fused) > 1 and hasattr(model, "embedding_")]
    Xs = [*cells.Xs.values()]
    places = {i: _coordinates(model, Xs[i], i) for i in shared}
    write_alignment(mdata, cells, alignment, places, about, key_added)
    for i, own in enumerate(cells.modalities.values()):
        clusters, codes = np.unique(model.view_labels_[i], return_inverse=True)
        own.obs[key_added] = categories(codes, [*map(str, clusters)])


def _coordinates(model: Any, X: Any, view: int) -> NDArray[Any]:
    """Place the rows of a modality in the space of the fit."""
    if hasattr(model, "transform"):
        return np.asarray(model.transform(X, view))
    common, rows = np.asarray(model.embedding_), model.alignment_.permutations[view]
    places = np.full((X.shape[0], common.shape[1]), np.nan, dtype=common.dtype)
    places[rows[rows >= 0]] = common[rows >= 0]
    return places
