"""Tables and figures that the pages are made of."""

import re
from pathlib import Path

import numpy as np

__all__ = ["DOCS", "NOT_RUN", "best_on_others", "filled", "gains", "head", "row"]

DOCS = Path(__file__).parents[2] / "docs"
NOT_RUN = "Not run."


def row(*cells):
    """Line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def head(*columns):
    """Head of a table."""
    return [row(*columns), row(*["---"] * len(columns))]


def filled(page, parts):
    """Text of a page, with every part between the markers of its name."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = between.sub(lambda found, p=part: f"{found[1]}{p}\n{found[2]}", text)
    return text


def gains(found):
    """Cells: mean of differences, its standard error, and the worst of them."""
    error = found.std(ddof=1) / np.sqrt(len(found))
    return f"{found.mean():+.1f}", f"{error:.1f}", f"{found.min():+.1f}"


def best_on_others(scores):
    """Score on each dataset of the rule that is best on all others.

    ``scores`` has a row for every dataset, and a column for every rule.
    """
    rest = [np.delete(scores, i, axis=0).mean(axis=0) for i in range(len(scores))]
    return np.array([scores[i, np.argmax(of)] for i, of in enumerate(rest)])
