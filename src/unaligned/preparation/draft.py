"""A view that is being made: its columns so far, and notes on those of the table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.preparation.notes import ColumnNote, Prepared
from unaligned.preparation.peaks import LatentIndex
from unaligned.preparation.recipe import Recipe
from unaligned.preparation.tables import Table

__all__ = ["Draft"]

Array = NDArray[Any]


class Draft:
    """Numbers of a table that becomes a view.

    Attributes
    ----------
    X : matrix
        The columns that are used so far.
    names : list of str
        Their names, or their positions in the table.
    n_missing : ndarray
        Number of missing values of each.
    counts : bool
        Whether they are counts.
    depth : float or None
        Sum that rows of counts were scaled to.
    index : LatentIndex or None
        What the components of peaks were computed with.
    scales : dict
        Columns of which logarithms were taken, by name; see `Recipe`.
    remarks : list of str
        What was done to the table as a whole.
    """

    def __init__(self, table: Table, keep: frozenset[str]) -> None:
        self.X = table.X
        self.is_table, self.keep, self.counts = table.is_table, keep, False
        self.depth: float | None = None
        self.index: LatentIndex | None = None
        self.scales: dict[str, float] = {}
        self.remarks: list[str] = []
        self.n_imputed = 0
        self.empty_rows: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._table = table
        d = self.X.shape[1]
        self.names = table.names or [f"column {i}" for i in range(d)]
        self.n_missing = np.zeros(d, dtype=np.intp)
        if not sparse.issparse(self.X):
            self.n_missing = np.isnan(self.X).sum(axis=0)
        self._source = np.arange(d)  # column of the table of each column so far
        self._dropped: dict[int, str] = {}
        self._transformed: dict[str, str] = {}
        self._others: list[ColumnNote] = []
        self._made: dict[str, list[str] | None] = {}
        known = {*self.names, *table.others}
        if strangers := sorted(keep - known):
            raise ValueError(
                f"keep names {strangers[0]!r}, which is no column of the table."
            )

    @property
    def row_ids(self) -> list[str] | None:
        """Names of the rows in the table."""
        return self._table.row_ids

    @property
    def n_used(self) -> int:
        """Number of columns of the table that are used, in any form."""
        made_of = sum(note.action != "dropped" for note in self._others)
        return len(self._source) + made_of

    def asked_for(self) -> Array:
        """Whether the user wants each column as it is."""
        return np.array([name in self.keep for name in self.names], dtype=bool)

    def drop(self, which: Array, why: str, even_if_asked_for: bool = False) -> None:
        """Leave columns out at the next `compress`, unless they were asked for."""
        out = which if even_if_asked_for else which & ~self.asked_for()
        for i in self._source[out].tolist():
            self._dropped.setdefault(i, why)

    def compress(self) -> None:
        """Remove dropped columns from the numbers."""
        kept = np.array([i not in self._dropped for i in self._source], dtype=bool)
        if not kept.all():
            self.X, self._source = self.X[:, kept], self._source[kept]
            self.n_missing = self.n_missing[kept]
            self.names = [n for n, stays in zip(self.names, kept, strict=True) if stays]

    def transform(self, name: str, why: str) -> None:
        """Note that a column is used in another form."""
        self._transformed[name] = why

    def leave(self, name: str, why: str) -> None:
        """Note that a column of text or dates is left out."""
        self._others.append(ColumnNote(name, "dropped", why))

    def add(
        self, name: str, columns: dict[str, Array], why: str, levels: list[str] | None
    ) -> None:
        """Add columns that were made from a column of text or dates."""
        self._made[name] = levels
        made = np.column_stack([*columns.values()]).astype(self.X.dtype)
        missing = np.isnan(made).sum(axis=0)
        self._others.append(ColumnNote(name, "transformed", why, int(missing.max())))
        self.X = np.column_stack([self.X, made])
        self.names = [*self.names, *columns]
        self.n_missing = np.concatenate([self.n_missing, missing])

    def finish(self) -> Prepared:
        """Put the view together."""
        table, X = self._table, self.X
        notes = [*self._notes_of_numbers(), *self._others]
        if table.id_column is not None:
            notes.insert(0, ColumnNote(table.id_column, "dropped", "names the rows"))
        notes += [ColumnNote(name, "dropped", "excluded") for name in table.excluded]
        if X.shape[1] == 0:
            said = Prepared(X, None, None, notes).summary()
            raise ValueError(
                f"No column is left to use: {said} Name those to use with keep=."
            )
        named = table.names is not None or table.is_table
        names = self.names if named else None
        if self.index is not None:
            names = [f"component {i + 1}" for i in range(X.shape[1])]
        sources: Any = self._source.tolist()
        if table.names is not None:
            sources = [table.names[i] for i in sources]
        return Prepared(
            X,
            names,
            table.row_ids,
            notes,
            self.remarks,
            self.n_imputed,
            self.empty_rows,
            self.counts and self.depth is None and self.index is None,
            Recipe(sources, self.depth, self.scales, self._made, self.index),
        )

    def _notes_of_numbers(self) -> list[ColumnNote]:
        table = self._table
        names = table.names or [f"column {i}" for i in range(table.X.shape[1])]
        missing = np.zeros(len(names), dtype=np.intp)
        if not sparse.issparse(table.X):
            missing = np.isnan(table.X).sum(axis=0)
        notes = []
        for i, name in enumerate(names):
            if i in self._dropped:
                said = ("dropped", self._dropped[i])
            elif name in self._transformed:
                said = ("transformed", self._transformed[name])
            else:
                said = ("used", "")
            notes.append(ColumnNote(name, *said, int(missing[i])))
        return notes
