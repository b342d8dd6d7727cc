"""Matches to review first: those of lowest confidence, with their runners-up."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment import Alignment
from unaligned.report.maps import principal_coordinates
from unaligned.savuc.likelihood import canonical_rows, log_ratios

__all__ = ["Doubtful", "doubtful_matches", "runners_up"]

Indices = NDArray[np.intp]

MOST_DOUBTFUL = 20  # matches that a report lists
MOST_LANDMARKS = 5000  # rows that principal directions are computed from: cost


class Doubtful(NamedTuple):
    """A match that may be wrong."""

    view: int
    template_row: int
    row: int
    confidence: float
    runner_up: int | None
    """Second best row of the same view; None without the views themselves."""


def doubtful_matches(
    alignment: Alignment, rows: list[Any] | None, at_most: int = MOST_DOUBTFUL
) -> list[Doubtful]:
    """List the matches of lowest confidence in views that are matched row by row.

    Parameters
    ----------
    alignment : Alignment
    rows : list of matrices or None
        The views themselves, if known.
    at_most : int, default=20

    Returns
    -------
    list of Doubtful
        Lowest confidence first. Known pairs are not among them.
    """
    template, found = alignment.template, []
    for i in alignment.matched():
        partner, sure = alignment.permutations[i], alignment.confidence[i]
        if i == template:
            continue
        least = np.flatnonzero((partner >= 0) & (sure < 1))
        least = least[np.argsort(sure[least], kind="stable")][:at_most]
        following: list[Any] = [None] * len(least)
        if rows is not None and len(least) and rows[i].shape[0] > 1:
            following = runners_up(rows[template], rows[i], partner, least).tolist()
        found += [
            Doubtful(i, int(s), int(partner[s]), float(sure[s]), following_row)
            for s, following_row in zip(least, following, strict=True)
        ]
    return sorted(found, key=lambda match: match.confidence)[:at_most]


def runners_up(template: Any, view: Any, partner: Indices, wanted: Indices) -> Indices:
    """Most likely partner in a view other than the actual one.

    By the likelihood ratio that confidence is computed from, along the canonical
    directions of all matched rows.

    Parameters
    ----------
    template, view : matrices
    partner : ndarray of shape (rows of the template,)
        Row of the view beside every row of the template, -1: none.
    wanted : ndarray of int
        Rows of the template.

    Returns
    -------
    ndarray of int
        Row of the view for each of them.
    """
    one, other = (
        principal_coordinates(X, np.arange(X.shape[0])[:MOST_LANDMARKS])
        for X in (template, view)
    )
    A, B, correlations = canonical_rows(one, other, partner)
    m = len(B)
    rows, columns = np.repeat(wanted, m), np.tile(np.arange(m), len(wanted))
    ratios = log_ratios(A, B, correlations, rows, columns).reshape(len(wanted), m)
    ratios[np.arange(len(wanted)), partner[wanted]] = -np.inf
    return np.asarray(ratios.argmax(axis=1), dtype=np.intp)
