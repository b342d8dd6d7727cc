"""The alignment of a method that cannot test its own matches."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.known_pairs import KnownPairs
from unaligned.views import Views

__all__ = ["untested_alignment", "with_verdicts"]

Indices = NDArray[np.intp]
Confidence = NDArray[np.float64]

# Confidence one is for known pairs. In float32, which reports keep it in.
ALL_BUT_KNOWN = float(np.nextafter(np.float32(1), np.float32(0)))


def untested_alignment(
    template: int,
    permutations: list[Indices],
    confidence: list[Confidence],
    views: Views,
    pairs: KnownPairs,
) -> Alignment:
    """Alignment with the share of known pairs, and no trust.

    Only pairs that `align` found before the method began come with its verdict.

    Parameters
    ----------
    template : int
    permutations, confidence : list of ndarray
        As in `Alignment`.
    views : Views
    pairs : KnownPairs
        What the method started from.

    Returns
    -------
    Alignment
    """
    n_views, n = len(views), views.n_rows[template]
    given = pairs.given or pairs
    known = np.array([len(given.partnered(i, template)) for i in range(n_views)]) / n
    sure = [np.minimum(values, ALL_BUT_KNOWN) for values in confidence]
    trust = np.full(n_views, np.nan)
    verdict, basis = ["untested"] * n_views, ["structure"] * n_views
    for group in [] if pairs.found is None else [pairs.found, *pairs.found.others]:
        members = group.matched() if template in group.matched() else []
        for i in members:
            verdict[i], trust[i] = "objects", min(group.trust[[i, template]])
            if "known pairs" in (group.basis[i], group.basis[template]):
                basis[i] = "known pairs"
            _take_over(sure[i], permutations[i], group, i, template)
    for i in range(n_views):
        rows, partners = given.between(template, i)
        sure[i][rows[permutations[i][rows] == partners]] = 1.0
    verdict[template], trust[template], sure[template] = "objects", 1.0, np.ones(n)
    return Alignment(
        template,
        permutations,
        sure,
        trust,
        views.names,
        verdict=verdict,
        basis=basis,
        known=known,
    )


def with_verdicts(alignment: Alignment) -> Alignment:
    """Renew an alignment that was saved before there were verdicts.

    The share of known pairs was its trust then; pairs that `align` had found before the
    method began counted as known.
    """
    if "verdict" in vars(alignment):
        return alignment
    is_template = np.arange(alignment.n_views) == alignment.template
    return replace(
        alignment,
        trust=np.where(is_template, 1.0, np.nan),
        verdict=np.where(is_template, "objects", "untested").tolist(),
        known=np.where(is_template, 1.0, alignment.trust),
    )


def _take_over(
    sure: Confidence, permutation: Indices, group: Alignment, i: int, template: int
) -> None:
    """Set the confidence of found pairs, where the method kept them."""
    rows, partners = group.permutations[template], group.permutations[i]
    kept = (rows >= 0) & (partners >= 0) & (permutation[rows] == partners)
    found = np.minimum(group.confidence[i], group.confidence[template])
    sure[rows[kept]] = np.minimum(found[kept], ALL_BUT_KNOWN)
