"""Cells of several modalities: cluster a MuData and write into it what was found."""

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.alignment_tables import matches_of
from unaligned.base import ViewClusterer
from unaligned.estimators import estimator_named
from unaligned.known_pairs import are_row_numbers, pairs_by_name
from unaligned.preparation import prepare

__all__ = ["cluster"]

Pairs = dict[tuple[int, int], NDArray[np.intp]]


def cluster(
    mdata: Any,
    n_clusters: int | str = "auto",
    *,
    method: str = "SAVuC",
    use_rep: str | Mapping[str, str] | None = None,
    aligned: Any = "obs_names",
    key_added: str = "unaligned",
    random_state: Any = 0,
    verbose: int = 0,
    **parameters: Any,
) -> ViewClusterer:
    """Cluster and align the cells of all modalities, in place.

    Parameters
    ----------
    mdata : MuData or dict of AnnData
        The modalities, which may hold different cells, and different numbers of them.
    n_clusters : int or "auto", default="auto"
        "auto": see `unaligned.selection.select_n_clusters`; SAVuC and PAVuC only.
    method : str, default="SAVuC"
        Name of an estimator: ``"SAVuC"``, ``"PAVuC"`` or one of `unaligned.baselines`.
    use_rep : str or dict, default=None
        What of each modality to read: a key of ``obsm`` or of ``layers``, for all
        modalities or by name of modality. None, or ``"X"``: ``X``.
    aligned : "obs_names" or what ``fit`` takes, default="obs_names"
        What is known of the correspondence. "obs_names": cells of one name are one
        cell, unless the names are just row numbers. None: nothing is known.
    key_added : str, default="unaligned"
        What to call the results.
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
    With the default key, every modality gets

    - ``obs["unaligned"]``: clusters. They have common names in the modalities that
      ``shares_clusters`` (below) marks, and nothing to do with each other elsewhere;
    - ``obs["unaligned_partner_M"]`` and ``obs["unaligned_confidence_M"]``, for every
      other modality M: the name of the cell there that belongs to this one, missing
      where there is none, and how sure the match is;
    - ``obsm["X_unaligned"]``: coordinates in the space that modalities share; NaN for
      cells without a place in it, and only where cells are matched or untested;
    - ``uns["unaligned"]``: ``method``, ``n_clusters``, ``template``, ``modalities``,
      and in their order ``verdict``, ``trust``, ``basis``, ``known`` (see
      `unaligned.Alignment`), ``shares_clusters`` and ``preparation`` (what
      `unaligned.prepare` did to the numbers); where the data contradict known
      pairs, also ``suspects``: numbers of cells of two modalities, in two columns, by
      their names as in ``"rna, atac"``. A MuData gets it, too.

    Look at ``verdict`` before you use partners: SAVuC matches cells one by one
    ("objects"), finds that groups of them correspond ("classes"), or refuses a modality
    ("none"). Other methods match cells in any case and do not test it ("untested"):
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
    >>> model = cluster(cells, 10, aligned=None, effort="quick")  # doctest: +SKIP
    >>> sorted(cells["atac"].obs)  # doctest: +SKIP
    ['unaligned', 'unaligned_confidence_rna', 'unaligned_partner_rna']
    """
    import pandas as pd  # comes with AnnData

    modalities = _modalities(mdata)
    prepared = {
        name: prepare(_matrix(cells, name, use_rep))
        for name, cells in modalities.items()
    }
    Xs = {name: view.X for name, view in prepared.items()}
    if isinstance(aligned, str) and aligned == "obs_names":
        aligned = _shared_names([*modalities.values()])
    model = estimator_named(method)(
        n_clusters, random_state=random_state, verbose=verbose, **parameters
    )
    model.fit(Xs, aligned=aligned)
    everyone = range(len(Xs))
    fused = getattr(model, "fused_views_", everyone)
    alignment = model.alignment_
    names = [cells.obs_names for cells in modalities.values()]
    about = {
        "method": type(model).__name__,
        "n_clusters": int(getattr(model, "n_clusters_", model.n_clusters)),
        "template": alignment.view_names[alignment.template],
        "modalities": np.array(alignment.view_names, dtype=object),
        "verdict": np.array(alignment.verdict, dtype=object),
        "trust": np.array(alignment.trust, dtype=np.float64),
        "basis": np.array(alignment.basis, dtype=object),
        "known": np.array(alignment.known, dtype=np.float64),
        "shares_clusters": np.array([i in fused for i in everyone]),
        "preparation": np.array(
            [view.summary() for view in prepared.values()], dtype=object
        ),
    }
    if alignment.suspects:
        about["suspects"] = {
            f"{alignment.view_names[i]}, {alignment.view_names[j]}": pairs
            for (i, j), pairs in alignment.suspects.items()
        }
    for i, (name, cells) in enumerate(modalities.items()):
        clusters, codes = np.unique(model.view_labels_[i], return_inverse=True)
        cells.obs[key_added] = pd.Categorical.from_codes(codes, map(str, clusters))
        for j in everyone:
            if j != i:
                rows, confidence = _partners(alignment, i, j, len(names[i]))
                partner = pd.Categorical.from_codes(rows, names[j])  # -1: missing
                other = alignment.view_names[j]
                cells.obs[f"{key_added}_partner_{other}"] = partner
                cells.obs[f"{key_added}_confidence_{other}"] = confidence
        cells.obsm.pop(f"X_{key_added}", None)  # of an earlier call
        has_place = i in fused and alignment.verdict[i] != "classes"
        if has_place and hasattr(model, "embedding_"):
            cells.obsm[f"X_{key_added}"] = _coordinates(model, Xs[name], i)
        cells.uns[key_added] = dict(about)
    if hasattr(mdata, "mod"):
        mdata.uns[key_added] = dict(about)
    return model


def _modalities(mdata: Any) -> dict[str, Any]:
    """AnnData by name, with names that tell cells apart."""
    modalities = getattr(mdata, "mod", mdata)
    if not isinstance(modalities, Mapping) or not all(
        hasattr(cells, "obs_names") for cells in modalities.values()
    ):
        raise TypeError(
            "cluster takes a MuData or a dict of AnnData by name of modality, got "
            f"{type(mdata).__name__}."
        )
    for name, cells in modalities.items():
        if not cells.obs_names.is_unique:
            raise ValueError(
                f"Several cells of modality {name!r} have one name. Call its "
                "obs_names_make_unique() first."
            )
    return {str(name): cells for name, cells in modalities.items()}


def _matrix(cells: Any, name: str, use_rep: str | Mapping[str, str] | None) -> Any:
    """Find the matrix of a modality that is to be read."""
    rep = use_rep.get(name) if isinstance(use_rep, Mapping) else use_rep
    if rep is None or rep == "X":
        return cells.X
    for held in (cells.obsm, cells.layers):
        if rep in held:
            return held[rep]
    raise ValueError(
        f"use_rep names {rep!r}, which modality {name!r} has neither in obsm "
        f"({sorted(cells.obsm)}) nor in layers ({sorted(cells.layers)})."
    )


def _shared_names(modalities: list[Any]) -> Pairs:
    """Pairs of cells that have one name."""
    names = [list(cells.obs_names) for cells in modalities]
    numbered = [are_row_numbers(own) for own in names]
    pairs, skipped = {}, False
    for i, j in combinations(range(len(names)), 2):
        if numbered[i] and numbered[j]:
            skipped = True
        elif len(shared := pairs_by_name(names[i], names[j])):
            pairs[i, j] = shared
    if skipped:
        warnings.warn(
            "The obs_names are row numbers in two modalities or more, and no pair is "
            'taken from them. If the rows correspond, say aligned="all"; if they do '
            "not, aligned=None.",
            UserWarning,
            stacklevel=3,
        )
    return pairs


def _partners(
    alignment: Alignment, i: int, j: int, n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Row of modality j for every row of modality i (-1: none), and how sure it is."""
    pairs, sure = matches_of(alignment, i, j)
    partner, confidence = np.full(n, -1, dtype=np.intp), np.zeros(n)
    partner[pairs[:, 0]], confidence[pairs[:, 0]] = pairs[:, 1], sure
    return partner, confidence


def _coordinates(model: Any, X: Any, view: int) -> NDArray[Any]:
    """Place the rows of a modality in the space that the fit made."""
    if hasattr(model, "transform"):
        return np.asarray(model.transform(X, view))
    common, rows = np.asarray(model.embedding_), model.alignment_.permutations[view]
    places = np.full((X.shape[0], common.shape[1]), np.nan, dtype=common.dtype)
    places[rows[rows >= 0]] = common[rows >= 0]
    return places
