"""An alignment as one line of text, and as a table for notebooks."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unaligned.alignment import Alignment

__all__ = ["describe", "percent", "to_html"]


def percent(share: float) -> str:
    r"""Percent that is 0 or 100 only where the share is.

    Examples
    --------
    >>> percent(0.5), percent(1), percent(0.999)
    ('50\xa0%', '100\xa0%', 'over 99\xa0%')
    """
    if 0 < share < 0.01:
        return "under 1\u00a0%"
    if 0.99 < share < 1:
        return "over 99\u00a0%"
    return f"{100 * share:.0f}\u00a0%"


def describe(alignment: "Alignment") -> str:
    """Say in a line what corresponds and how far to trust it."""
    names, n = alignment.view_names, len(alignment.permutations[alignment.template])
    text = (
        f"Alignment of {alignment.n_views} views with the {n} rows of view "
        f"{names[alignment.template]}"
    )
    found, promising = [], alignment.promising()
    for i, name in enumerate(names):
        if i != alignment.template:
            trust, known = alignment.trust[i], alignment.known[i]
            about = ["promising, not confirmed"] if i in promising else []
            about += [] if np.isnan(trust) else [f"trust {trust:.2f}"]
            about += [f"{percent(known)} known"] if known else []
            brackets = f" ({', '.join(about)})" if about else ""
            found.append(f"{name} {alignment.verdict[i]}{brackets}")
    text += f": {', '.join(found)}" if found else ""
    for group in alignment.others:
        text += f"; apart from it: views {', '.join(names[i] for i in group.trusted())}"
    if n_suspects := sum(map(len, alignment.suspects.values())):
        text += f"; known pairs that the data contradict: {n_suspects}"
    return text


def to_html(alignment: "Alignment") -> str:
    """Table of the views: what corresponds, how many rows, how far to trust it."""
    n = len(alignment.permutations[alignment.template])
    lines, promising = [], alignment.promising()
    for i, name in enumerate(alignment.view_names):
        matched, trust = alignment.permutations[i] >= 0, alignment.trust[i]
        if i == alignment.template:
            cells = ["template", "", "", "", ""]
        else:
            sure = alignment.confidence[i][matched]
            cells = [
                alignment.verdict[i] + (" (promising)" if i in promising else ""),
                f"{matched.sum():,} of {n:,}",
                f"{np.median(sure):.2g}" if len(sure) else "",
                ""
                if np.isnan(trust)
                else f'<meter min="0" max="1" low="0.5" value="{trust:.4f}"></meter> '
                f"{trust:.2f}",
                percent(alignment.known[i]),
            ]
        cells = [escape(name), *cells]
        lines.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    head = ("view", "verdict", "matched rows", "median confidence", "trust", "known")
    n_suspects = sum(map(len, alignment.suspects.values()))
    contradicted = f"; known pairs that the data contradict: {n_suspects:,}"
    return (
        "<table><caption>Alignment of "
        f"{alignment.n_views} views with the {n:,} rows of view "
        f"{escape(alignment.view_names[alignment.template])}"
        f"{contradicted if n_suspects else ''}</caption>"
        f"<thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
        f"{''.join(to_html(group) for group in alignment.others)}"
    )
