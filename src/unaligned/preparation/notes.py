"""Notes on the columns of a table, as text and as data."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment.text import percent

__all__ = ["ACTIONS", "ColumnNote", "Prepared", "missing_words", "names_of"]

ACTIONS = ("used", "transformed", "dropped")
MOST_NAMES = 5  # columns that a line names


@dataclass(frozen=True)
class ColumnNote:
    """What was done with one column."""

    column: str
    action: str
    """"used", "transformed" or "dropped"."""
    why: str
    """What was done and the reason; empty if a column is used as it is."""
    n_missing: int = 0


@dataclass(frozen=True)
class Prepared:
    """A view that `unaligned.prepare` made of a table, and what it did.

    Estimators and `unaligned.align` take it as a view.
    """

    X: Any
    """The numbers: an array or a sparse matrix without missing values."""
    feature_names: list[str] | None
    """Names of the columns of ``X``; None if they have none."""
    row_ids: list[str] | None
    """Names of the rows in the table; None if they are just numbered."""
    notes: list[ColumnNote]
    """One for each column of the table."""
    remarks: list[str] = field(default_factory=list)
    """What was done to the table as a whole, a sentence each."""
    n_imputed: int = 0
    """Missing values that were filled in."""
    empty_rows: NDArray[np.intp] = field(
        default_factory=lambda: np.empty(0, dtype=np.intp)
    )
    """Rows in which more than half of the numbers were missing."""
    raw_counts: bool = False
    """Whether the numbers are counts that were left as they are."""
    recipe: Any = field(default=None, repr=False)
    """What to do with new rows, for ``prepare(table, like=...)``."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of ``X``."""
        return self.X.shape

    def grouped(self) -> list[tuple[str, str, list[str]]]:
        """Columns with the same note: action, reason and names.

        Returns
        -------
        list of tuples
            Those used as they are first, dropped ones last.
        """
        groups: dict[tuple[str, str], list[str]] = {}
        for action in ACTIONS:
            for note in self.notes:
                if note.action == action:
                    groups.setdefault((action, note.why), []).append(note.column)
        return [(*key, names) for key, names in groups.items()]

    def summary(self) -> str:
        """Summarise the notes in one line.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> notes = [ColumnNote("age", "used", ""), ColumnNote("no", "dropped", "id")]
        >>> Prepared(np.ones((3, 1)), ["age"], None, notes).summary()
        '1 of 2 columns is used; left out: no (id).'
        """
        count = Counter(note.action for note in self.notes)
        n_used = count["used"] + count["transformed"]
        verb = "is" if n_used == 1 else "are"
        text = f"{n_used:,} of {len(self.notes):,} columns {verb} used"
        changed, dropped = (
            [(why, names) for kind, why, names in self.grouped() if kind == action]
            for action in ACTIONS[1:]
        )
        if changed:
            text += f"; transformed: {_listed(changed)}"
        if dropped:
            text += f"; left out: {_listed(dropped)}"
        return " ".join([f"{text}.", *self.remarks])

    def __repr__(self) -> str:
        n, d = self.shape
        return f"View of {n:,} rows × {d:,} columns. {self.summary()}"


def _listed(groups: Iterable[tuple[str, list[str]]]) -> str:
    """Columns and reasons, as in: a, b (ids), c (a date)."""
    return ", ".join(f"{names_of(names)} ({why})" for why, names in groups)


def names_of(names: list[str], most: int = MOST_NAMES) -> str:
    """List some names, and count the others.

    Examples
    --------
    >>> names_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:most])
    more = len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def missing_words(n_missing: int, n_cells: int, where: list[str]) -> str:
    """Say how many values are missing, and in which columns."""
    values = "value is" if n_missing == 1 else "values are"
    share = percent(n_missing / max(n_cells, 1)).replace("\u00a0", " ")
    return f"{n_missing:,} {values} missing ({share}; in {names_of(where)})"
