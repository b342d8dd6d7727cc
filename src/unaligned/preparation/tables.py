"""The parts of any table: a block of numbers, other columns, names of the rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.datasets.readers.columns import (
    assign_roles,
    check_ids,
    excluded_positions,
)
from unaligned.datasets.readers.contents import FileView, Options, listed
from unaligned.matrices import read_matrix
from unaligned.views import row_names

__all__ = ["Table", "read_table"]

Array = NDArray[Any]


class Table(NamedTuple):
    """The parts of a table."""

    X: Any
    """Columns of numbers, NaN where missing: an array or a sparse matrix."""
    names: list[str] | None
    others: dict[str, Array]
    """Columns of text and dates."""
    row_ids: list[str] | None
    id_column: str | None
    """The column with the ids, if there is one."""
    excluded: list[str]
    is_table: bool
    """Whether columns are of different kinds, as in data frames and files of text."""


def read_table(
    table: Any,
    *,
    id_column: str | int | bool | None = None,
    exclude: Sequence[str | int] = (),
    use_rep: str | None = None,
    layer: str | None = None,
) -> Table:
    """Split a table into its parts.

    Parameters
    ----------
    table : data frame, AnnData, matrix or FileView
    id_column, exclude, use_rep, layer
        As in `unaligned.prepare`.

    Returns
    -------
    Table
    """
    is_cells = hasattr(table, "obs_names") and hasattr(table, "X")
    if (use_rep or layer) and not is_cells:
        raise TypeError(
            "use_rep and layer say what to read of an AnnData, but the table is a "
            f"{type(table).__name__}. Leave them out."
        )
    if isinstance(table, FileView):
        return _without(exclude, _from_file(table, exclude))
    if is_cells:
        X, names = matrix_of_cells(table, use_rep, layer)
        ids = [str(name) for name in table.obs_names]
        X = read_matrix(X, "the table")
        return _without(exclude, Table(X, names, {}, ids, None, [], False))
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return _from_frame(table, Options(id_column=id_column, exclude=(*exclude,)))
    X = read_matrix(table, "the table")
    return _without(exclude, Table(X, None, {}, None, None, [], False))


def _without(exclude: Sequence[str | int], table: Table) -> Table:
    """Remove columns of numbers from a table, by name or by position."""
    d = table.X.shape[1]
    names = table.names or [f"column {i}" for i in range(d)]
    out = excluded_positions(names, exclude)
    if not out:
        return table
    kept = [i for i in range(d) if i not in out]
    return table._replace(
        X=table.X[:, kept],
        names=[names[i] for i in kept] if table.names else None,
        excluded=[*table.excluded, *(names[i] for i in sorted(out))],
    )


def matrix_of_cells(
    cells: Any, use_rep: str | None, layer: str | None
) -> tuple[Any, list[str] | None]:
    """Find the matrix of an AnnData that is to be read, and its names of columns."""
    if use_rep and layer:
        raise ValueError(f"Give use_rep={use_rep!r} or layer={layer!r}, not both.")
    if use_rep and use_rep != "X":
        if use_rep not in cells.obsm:
            raise ValueError(
                f"use_rep names {use_rep!r}, but obsm holds {listed(cells.obsm)}."
            )
        return cells.obsm[use_rep], None
    names = [str(name) for name in cells.var_names]
    if layer is None:
        return cells.X, names
    if layer not in cells.layers:
        raise ValueError(f"layer is {layer!r}, but layers are {listed(cells.layers)}.")
    return cells.layers[layer], names


def _from_file(view: FileView, exclude: Sequence[str | int]) -> Table:
    left_out = {*exclude, *view.excluded}
    aside = {name for name in left_out if name in view.other_columns}
    others = {
        name: values
        for name, values in view.other_columns.items()
        if view.is_table and name not in aside
    }
    X = read_matrix(view.X, "the table")
    names = view.feature_names
    excluded, ids = sorted(map(str, aside)), view.row_ids
    return Table(X, names, others, ids, view.id_column, excluded, view.is_table)


def _from_frame(frame: Any, options: Options) -> Table:
    """Parts of a data frame, by the same rules as for files of text."""
    names = [str(name) for name in frame.columns]
    columns = [_values(frame, i) for i in range(len(names))]
    numeric = [values.dtype.kind == "f" for values in columns]
    roles = assign_roles(names, numeric, options)
    row_ids, id_column = _index(frame), None
    others = {names[i]: columns[i] for i in roles.others}
    if roles.ids is not None:
        name, values = names[roles.ids], columns[roles.ids]
        if values.dtype.kind == "f":  # 7.0 is called 7
            values = np.array([f"{value:.15g}" for value in values], dtype=object)
        found = check_ids([*values], name, roles.ids_certain)
        if found is None:
            others[name] = columns[roles.ids]
        else:
            row_ids, id_column = found, name
    excluded = [name for name in options.exclude if str(name) in others]
    others = {name: values for name, values in others.items() if name not in excluded}
    X = np.column_stack([columns[i] for i in roles.features])
    features = [names[i] for i in roles.features]
    return Table(X, features, others, row_ids, id_column, [*map(str, excluded)], True)


def _values(frame: Any, i: int) -> Array:
    """One column: floats, dates or objects."""
    if hasattr(frame, "iloc"):  # pandas, where names may occur twice
        column = frame.iloc[:, i]
        if getattr(column.dtype, "kind", "O") in "biuf":
            dtype = np.float32 if str(column.dtype) == "float32" else np.float64
            values: Array = column.to_numpy(dtype=dtype, na_value=np.nan)
            return values
        values = np.asarray(column)
    else:
        values = np.asarray(frame[frame.columns[i]].to_numpy())
    if values.dtype.kind in "biu":
        return values.astype(np.float64)
    if values.dtype.kind in "fM":
        return values
    objects = np.empty(len(values), dtype=object)
    objects[:] = [None if _is_missing(value) else value for value in values]
    if any(isinstance(value, str) for value in objects):
        return objects
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError):
        return objects


def _is_missing(value: Any) -> bool:
    return value is None or str(value) in ("<NA>", "NaT", "nan")


def _index(frame: Any) -> list[str] | None:
    """Names of the rows of a data frame, if all are different."""
    names = row_names(frame)
    return names if names and len(set(names)) == len(names) else None
