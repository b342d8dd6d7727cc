"""``transfer_labels``: labels of one modality for the cells of another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from unaligned.alignment import TRUSTED
from unaligned.savuc.carried_labels import Carried, carry_labels
from unaligned.savuc.config import Settings
from unaligned.scverse.placing import Placed, place_cells
from unaligned.scverse.reading import Choice, read_cells
from unaligned.scverse.writing import about_alignment

__all__ = ["transfer_labels"]

SOURCE, TARGET = "source", "target"


def transfer_labels(
    source: Any,
    target: Any,
    key: str,
    *,
    threshold: float = 0.5,
    unknown: str = "unknown",
    use_rep: Choice = None,
    layer: Choice = None,
    transform: Choice = "auto",
    aligned: Any = "obs_names",
    effort: str | Settings = "normal",
    inplace: bool = False,
    key_added: str | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Any:
    """Transfer labels from the cells of one modality to those of another.

    Parameters
    ----------
    source, target : AnnData
        Two modalities. Some, all or none of their cells may be in both.
    key : str
        Column of ``source.obs`` with the labels. Cells without a label are not used.
    threshold : float, default=0.5
        Smallest confidence of a label. Below it a cell is ``unknown``.
    unknown : str, default="unknown"
        Label of such cells.
    use_rep, layer, transform : str or dict, default=None, None and "auto"
        As in `align`, for both or as ``{"source": ..., "target": ...}``.
    aligned : "obs_names" or what `unaligned.align` takes, default="obs_names"
        Known pairs of cells, source first. "obs_names": cells of one name are one cell.
    effort : {"quick", "normal", "thorough"} or Settings, default="normal"
        How hard to search for the correspondence.
    inplace : bool, default=False
        Whether to write the result into ``target``.
    key_added : str, default=None
        Its name there; None: ``f"{key}_transferred"``.
    random_state : int, RandomState instance or None, default=0
    verbose : int, default=0

    Returns
    -------
    pandas.DataFrame
        A row for each cell of the target: ``label``, ``confidence`` and ``guess``, the
        likeliest label whatever its confidence, missing if nothing is known.
        ``attrs`` has verdict and trust.

    Notes
    -----
    Confidence is the probability that the label is right. It is learned from the cells
    of known pairs: each is left out and labelled by the others, and the share of right
    labels is estimated from how clear the label was. Cells with a known partner get its
    label, with the probability that the pair is right as confidence. If no pair is
    known, but cells were matched one by one, the matches are used as known pairs. The
    confidence is then the share of right labels times the trust in the matches, plus
    the rest times the share of the label by chance. If nothing is known or matched
    (verdict "none"), all cells are ``unknown``, with confidence 0.

    The types of the target should be among those of the source. Cells of a type that
    the source lacks get a wrong label, with less confidence: if a label has very little
    support (as little as a share p below 0.05 of the cells that were left out), its
    confidence is multiplied by p / 0.05. That needs more than 20 such cells.

    With ``inplace=True`` the target gets ``obs["KEY_transferred"]``,
    ``obs["KEY_transferred_confidence"]`` and ``uns["KEY_transferred"]``: the results of
    `align`, ``threshold``, ``n_held_out`` and ``held_out``, the number of cells that
    were left out and their share of right labels.

    Examples
    --------
    >>> from anndata import AnnData  # doctest: +SKIP
    >>> import numpy as np
    >>> from unaligned.datasets import load_digits_views, unalign
    >>> from unaligned.scverse import transfer_labels
    >>> digits = load_digits_views()
    >>> views = [X[:400] for X in digits.Xs[:2]]
    >>> known = unalign(views, digits.y[:400], 0.1, random_state=0)
    >>> rna, atac = map(AnnData, known.Xs)  # doctest: +SKIP
    >>> rna.obs["digit"] = known.ys[0].astype(str)  # doctest: +SKIP
    >>> found = transfer_labels(rna, atac, "digit", aligned=40)  # doctest: +SKIP
    >>> right = found["guess"] == known.ys[1].astype(str)  # doctest: +SKIP
    >>> bool(abs(right.mean() - found["confidence"].mean()) < 0.1)  # doctest: +SKIP
    True
    """
    import pandas as pd  # comes with AnnData

    modalities = {SOURCE: source, TARGET: target}
    _check_labels(modalities, key, unknown)
    cells = read_cells(
        modalities, use_rep=use_rep, layer=layer, transform=transform, aligned=aligned
    )
    found = place_cells(cells, effort, random_state, verbose)
    codes, names = pd.factorize(source.obs[key], sort=True)
    names = np.asarray(names.astype(str), dtype=object)
    guess, sure = np.full(target.n_obs, -1, dtype=np.intp), np.zeros(target.n_obs)
    tested = Carried(guess, sure, float("nan"), 0)
    if found.bridge is not None and _is_trusted(found):
        rng = check_random_state(random_state)
        given = _are_given(found)
        left_out = given if given.any() else ~given
        tested = carry_labels(found.bridge, 0, 1, codes, left_out, rng)
        guess, sure = _judged(found, tested, codes, given)
    shown = np.where((sure >= threshold) & (guess >= 0), guess, len(names))
    labels = pd.Categorical.from_codes(shown, [*names, unknown])
    about = about_alignment(found.alignment, cells) | {
        "threshold": float(threshold),
        "held_out": tested.held_out,
        "n_held_out": tested.n_held_out,
    }
    table = pd.DataFrame(
        {
            "label": labels.remove_unused_categories(),
            "confidence": sure,
            "guess": pd.Categorical.from_codes(guess, names),
        },
        index=target.obs_names,
    )
    alignment = found.alignment
    other = 1 - alignment.template
    table.attrs = {
        "verdict": alignment.verdict[other],
        "trust": float(alignment.trust[other]),
    }
    if inplace:
        name = key_added or f"{key}_transferred"
        target.obs[name] = table["label"]
        target.obs[f"{name}_confidence"] = sure
        target.uns[name] = about
    return table


def _check_labels(modalities: dict[str, Any], key: str, unknown: str) -> None:
    """Complain where there are no labels that could be carried over."""
    for name, cells in modalities.items():
        if not hasattr(cells, "obs_names"):
            raise TypeError(f"{name} must be an AnnData, got {type(cells).__name__}.")
    columns = modalities[SOURCE].obs
    if key not in columns:
        raise ValueError(
            f"key={key!r} is no column of source.obs, which has {[*columns]}."
        )
    if columns[key].isna().all():
        raise ValueError(f"key={key!r} names a column of source.obs without any label.")
    if (columns[key].astype(str) == unknown).any():
        raise ValueError(
            f"source.obs[{key!r}] holds the label {unknown!r}. Make it None there, "
            "or say with unknown= what to call cells without a label."
        )


def _is_trusted(found: Placed) -> bool:
    """Whether the modalities correspond, cell by cell or by groups."""
    return bool((found.alignment.trust >= TRUSTED).all())


def _are_given(found: Placed) -> NDArray[np.bool_]:
    """Which pairs of the bridge were given; the others were found."""
    assert found.bridge is not None
    rows, _, _ = found.bridge.known(0, 1)
    return np.isin(rows, found.pairs.between(0, 1)[0])


def _judged(
    found: Placed,
    carried: Carried,
    codes: NDArray[np.intp],
    given: NDArray[np.bool_],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Labels of the target and their probabilities, with those of known partners."""
    assert found.bridge is not None
    guess, sure = carried.labels.copy(), carried.confidence.copy()
    if not given.any():  # found pairs count only if the matches are right
        trust = float(found.alignment.trust.min())
        share = np.bincount(codes[codes >= 0]) / np.sum(codes >= 0)
        return guess, trust * sure + (1 - trust) * share[guess]
    link = found.bridge.links[0, 1]
    known = given & (codes[link.rows[0]] >= 0)
    rows, partners = link.rows[0][known], link.rows[1][known]
    guess[partners], sure[partners] = codes[rows], 1 - link.suspicion[known]
    return guess, sure
