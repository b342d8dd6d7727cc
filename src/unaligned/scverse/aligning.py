"""``align``: which cell of one modality belongs to which cell of another."""

from typing import Any

from unaligned.alignment import Alignment
from unaligned.savuc.config import Settings
from unaligned.scverse.placing import place_cells
from unaligned.scverse.reading import Choice, read_cells
from unaligned.scverse.writing import about_alignment, write_alignment

__all__ = ["align"]


def align(
    mdata: Any,
    *,
    use_rep: Choice = None,
    layer: Choice = None,
    transform: Choice = "auto",
    aligned: Any = "obs_names",
    effort: str | Settings = "normal",
    inplace: bool = False,
    key_added: str = "unaligned",
    random_state: Any = 0,
    verbose: int = 0,
) -> Alignment:
    """Find which cell of one modality belongs to which cell of another.

    Parameters
    ----------
    mdata : MuData or dict of AnnData
        The modalities, which may hold different cells, and different numbers of them.
    use_rep : str or dict, default=None
        What to read of each modality: a key of ``obsm`` or of ``layers``, for all
        modalities or by name of modality. None, or ``"X"``: ``X``.
    layer : str or dict, default=None
        A key of ``layers`` to read.
    transform : {"auto", "lsi", "none"} or dict, default="auto"
        What to do with counts, see `unaligned.prepare`: normalisation by depth and
        logarithms, or components of peaks (LSI). ``uns`` lists what was done.
    aligned : "obs_names" or what `unaligned.align` takes, default="obs_names"
        What is known of the correspondence. "obs_names": cells of one name are one
        cell, unless the names are just row numbers. None: nothing is known.
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How hard to search.
    inplace : bool, default=False
        Whether to write the results into the modalities. Nothing else in them is
        changed.
    key_added : str, default="unaligned"
        Name of the results.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0

    Returns
    -------
    Alignment
        With the names of the cells. Look at ``verdict`` and ``trust`` first.

    Notes
    -----
    With ``inplace=True`` and the default key, every modality gets

    - ``obs["unaligned_partner_M"]`` and ``obs["unaligned_confidence_M"]``, for every
      other modality M: the name of the partner there, missing if there is none, and the
      probability that the match is right;
    - ``obsm["X_unaligned"]``: coordinates in a space that modalities share, if the
      verdict is "objects" or "classes", for ``scanpy.pp.neighbors(use_rep=...)``;
    - ``uns["unaligned"]``: ``template``, ``modalities``, and in their order
      ``verdict``, ``trust``, ``basis``, ``known`` and ``preparation``; also
      ``suspects`` if the data contradict known pairs. A MuData gets it, too.

    Cells that were measured in several modalities are known pairs: from them,
    regressions between the modalities are learned (the bridge). The verdict is then
    "classes" at least, unless the pairs are no better than random pairs.

    Examples
    --------
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.scverse import align
    >>> digits = load_digits_views()
    >>> rna, atac = unalign([X[:300] for X in digits.Xs[::3]], random_state=0).Xs
    >>> cells = {"rna": AnnData(rna), "atac": AnnData(atac)}  # doctest: +SKIP
    >>> align(cells, aligned=None, effort="quick").verdict  # doctest: +SKIP
    ['objects', 'objects']
    """
    cells = read_cells(
        mdata, use_rep=use_rep, layer=layer, transform=transform, aligned=aligned
    )
    found = place_cells(cells, effort, random_state, verbose)
    if inplace:
        about = about_alignment(found.alignment, cells)
        write_alignment(mdata, cells, found.alignment, found.places, about, key_added)
    return found.alignment
