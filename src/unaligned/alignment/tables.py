"""An alignment as a table of matches, and two tables joined by it."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unaligned.extras import import_extra

if TYPE_CHECKING:
    from unaligned.alignment import Alignment

__all__ = ["TablesMixin", "matches_of"]

HOW = ("inner", "left", "right", "outer")


class TablesMixin:
    """Tables that an alignment gives."""

    def unmatched(self: Any, view: int | str) -> NDArray[np.intp]:
        """List the rows of a view that have no partner in any other.

        Parameters
        ----------
        view : int or str

        Returns
        -------
        ndarray of int
        """
        i = self.index_of(view)
        if not self.n_rows:
            raise ValueError(
                "This alignment does not know how many rows its views have. Say it: "
                "alignment.with_rows(n_rows, ids)."
            )
        paired = [self.pairs(i, j)[:, 0] for j in range(self.n_views) if j != i]
        return np.setdiff1d(np.arange(self.n_rows[i]), np.concatenate([[], *paired]))

    def to_frame(self: Any, *, unmatched: bool = False) -> Any:
        """All matches as a table, one line each.

        Parameters
        ----------
        unmatched : bool, default=False
            Whether rows of templates without a partner have a line, too, in which
            ``row``, ``id`` and ``confidence`` are missing.

        Returns
        -------
        pandas.DataFrame
            Columns ``template_view``, ``template_row``, ``template_id``, ``view``,
            ``row``, ``id``, ``confidence``, ``trust`` and ``verdict``. Rows without a
            name are called by their number.

        Examples
        --------
        >>> import numpy as np
        >>> from unaligned import Alignment
        >>> rows, sure = [np.arange(2), np.array([1, -1])], [np.ones(2)] * 2
        >>> found = Alignment(0, rows, sure, np.ones(2), ["crm", "shop"])
        >>> found = found.with_rows([2, 2], [["ann", "bob"], ["s1", "s2"]])
        >>> found.to_frame()[["template_id", "id"]].to_numpy().tolist()
        [['ann', 's2']]
        """
        return frame_of(self, unmatched)

    def merge(
        self: Any,
        left: Any,
        right: Any,
        views: tuple[int | str, int | str] = (0, 1),
        how: str = "inner",
    ) -> Any:
        """Join two tables by the rows that were matched.

        Parameters
        ----------
        left, right : data frames
            The tables of two views, in the row order in which they were aligned.
        views : tuple of two int or str, default=(0, 1)
            The views that they are, by index or by name.
        how : {"inner", "left", "right", "outer"}, default="inner"
            Which rows without a partner to keep, with missing values on the other side.

        Returns
        -------
        pandas.DataFrame
            The columns of both, names that occur twice with the name of the view behind
            them, and ``confidence``.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from unaligned import Alignment
        >>> crm = pd.DataFrame({"name": ["ann", "bob"]})
        >>> shop = pd.DataFrame({"spent": [5, 7]})
        >>> rows, sure = [np.arange(2), np.array([1, -1])], [np.ones(2)] * 2
        >>> found = Alignment(0, rows, sure, np.ones(2))
        >>> found.merge(crm, shop).to_dict("records")
        [{'name': 'ann', 'spent': 7, 'confidence': 1.0}]
        """
        return merged(self, left, right, views, how)


def matches_of(
    alignment: "Alignment", i: int, j: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Give matched rows of two views in two columns, and how sure each match is."""
    of_group = next(
        (g for g in alignment.others if {i, j} <= {*g.trusted()}), alignment
    )
    rows_i, rows_j = of_group.permutations[i], of_group.permutations[j]
    both = (rows_i >= 0) & (rows_j >= 0)
    # A match by way of the template is as sure as the less sure of the two.
    sure = np.minimum(of_group.confidence[i], of_group.confidence[j])
    return np.column_stack([rows_i[both], rows_j[both]]), sure[both]


def _named_rows(
    alignment: "Alignment", view: int, rows: NDArray[np.intp]
) -> NDArray[Any]:
    """Names of rows, or their numbers; None for -1."""
    ids = alignment.row_ids[view] if alignment.row_ids else None
    names = np.empty(len(rows), dtype=object)
    names[:] = [
        None if row < 0 else str(row) if ids is None else ids[row]
        for row in rows.tolist()
    ]
    return names


def frame_of(alignment: "Alignment", unmatched: bool) -> Any:
    """Lines of `Alignment.to_frame`."""
    pd = import_extra("pandas", "io", "Alignment.to_frame()")
    parts = []
    for group in (alignment, *alignment.others):
        t = group.template
        members = range(group.n_views) if group is alignment else group.trusted()
        for i in (i for i in members if i != t):
            found = group.permutations[i]
            at = np.arange(len(found)) if unmatched else np.flatnonzero(found >= 0)
            rows = found[at]
            sure = np.where(rows >= 0, group.confidence[i][at], np.nan)
            parts.append(
                pd.DataFrame(
                    {
                        "template_view": group.view_names[t],
                        "template_row": at,
                        "template_id": _named_rows(alignment, t, at),
                        "view": group.view_names[i],
                        "row": pd.array(rows, dtype="Int64"),
                        "id": _named_rows(alignment, i, rows),
                        "confidence": sure,
                        "trust": group.trust[i],
                        "verdict": group.verdict[i],
                    }
                ).assign(row=lambda lines: lines["row"].where(lines["row"] >= 0))
            )
    if parts:
        return pd.concat(parts, ignore_index=True)
    names = ["template_view", "template_row", "template_id", "view", "row", "id"]
    return pd.DataFrame(columns=[*names, "confidence", "trust", "verdict"])


def merged(
    alignment: "Alignment",
    left: Any,
    right: Any,
    views: tuple[int | str, int | str],
    how: str,
) -> Any:
    """Join two data frames by the rows that were matched."""
    pd = import_extra("pandas", "io", "Alignment.merge()")
    if how not in HOW:
        raise ValueError(f"how={how!r} must be one of {', '.join(map(repr, HOW))}.")
    i, j = (alignment.index_of(view) for view in views)
    tables = {i: pd.DataFrame(left), j: pd.DataFrame(right)}
    for view, table in tables.items():
        n = alignment.n_rows[view] if alignment.n_rows else len(table)
        if len(table) != n:
            raise ValueError(
                f"The table of view {alignment.view_names[view]!r} has {len(table)} "
                f"rows, but the view had {n}. Pass the table that was aligned."
            )
    pairs, sure = matches_of(alignment, i, j)
    rows = {i: pairs[:, 0], j: pairs[:, 1]}
    for view, other, which in ((i, j, "left"), (j, i, "right")):
        if how in (which, "outer"):
            alone = np.setdiff1d(np.arange(len(tables[view])), rows[view])
            rows[view] = np.concatenate([rows[view], alone])
            rows[other] = np.concatenate([rows[other], np.full(len(alone), -1)])
            sure = np.concatenate([sure, np.full(len(alone), np.nan)])
    twice = {*tables[i].columns} & {*tables[j].columns}
    parts = []
    for view in (i, j):
        table, at = tables[view].reset_index(drop=True), rows[view]
        # Labels that are not there make lines of missing values.
        part = table.iloc[at] if (at >= 0).all() else table.reindex(at)
        part = part.reset_index(drop=True)
        name = alignment.view_names[view]
        parts.append(part.rename(columns={c: f"{c}_{name}" for c in twice}))
    return pd.concat([*parts, pd.Series(sure, name="confidence")], axis=1)
