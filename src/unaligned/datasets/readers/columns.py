"""Which column of a table names its rows, which hold numbers, and which neither."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

from unaligned.datasets.readers.contents import DataFileError, Options, listed

__all__ = [
    "Roles",
    "assign_roles",
    "check_ids",
    "column_position",
    "excluded_positions",
    "is_column",
    "names_ids",
]

# Names of columns that hold ids wherever they stand.
ID_NAMES = {"id", "ids", "uid", "uuid", "guid", "key", "index", "barcode", "barcodes"}
ID_NAMES |= {"rowid", "row_id", "row_names", "rownames", "obs_names"}
ID_NAMES |= {"cell_id", "object_id", "record_id", "sample_id"}


class Roles(NamedTuple):
    """What becomes of each column, by position."""

    ids: int | None
    features: list[int]
    others: list[int]
    ids_certain: bool
    """Whether the column of ids was named, by the user or by its own header."""


def assign_roles(
    names: Sequence[str], numeric: Sequence[bool], options: Options
) -> Roles:
    """Give every column its role.

    Ids are the column the user names; or else the first one with a telling name (also
    a first column that ends in "_id", or has no name, as R and pandas write the names
    of rows); or else a first column of text, should no text occur twice.
    """
    excluded = excluded_positions(names, options.exclude)
    ids, certain = _id_column(names, numeric, options.id_column, excluded)
    features = [
        i for i, number in enumerate(numeric) if number and i not in {ids, *excluded}
    ]
    if not features:
        raise DataFileError(
            f"there is no column of numbers in it (columns: {listed(names)}); encode "
            "text first, e.g. with sklearn's TfidfVectorizer or OneHotEncoder."
        )
    others = [i for i in range(len(names)) if i != ids and i not in set(features)]
    return Roles(ids, features, others, certain)


def _id_column(
    names: Sequence[str],
    numeric: Sequence[bool],
    id_column: str | int | bool | None,
    excluded: set[int],
) -> tuple[int | None, bool]:
    if is_column(id_column):
        return column_position(names, id_column), True
    if id_column is False:
        return None, True
    for i, name in enumerate(names):
        if i not in excluded and names_ids(name, i):
            return i, True
    if names and not numeric[0] and 0 not in excluded:
        return 0, False
    return None, True


def is_column(id_column: str | int | bool | None) -> TypeGuard[str | int]:
    """Whether the user names a column, rather than saying that there is one or none."""
    return id_column is not None and not isinstance(id_column, bool)


def names_ids(name: str, position: int) -> bool:
    """Whether a column of that name, at that place, holds ids.

    Examples
    --------
    >>> names_ids("Sample ID", 3), names_ids("patient_id", 0), names_ids("acid", 0)
    (True, True, False)
    """
    plain = re.sub(r"[\s.-]+", "_", name.strip().lower())
    first = position == 0 and (plain == "" or plain.endswith("_id"))
    return first or plain in ID_NAMES


def column_position(names: Sequence[str], column: str | int) -> int:
    """Position of a column that the user calls by name or by position."""
    if isinstance(column, str):
        if column in names:
            return list(names).index(column)
    elif -len(names) <= column < len(names):
        return column % len(names)
    raise DataFileError(
        f"there is no column {column!r}; the columns are {listed(names)}."
    )


def excluded_positions(names: Sequence[str], columns: Sequence[str | int]) -> set[int]:
    """Positions of columns that are no features; files need not have all of them.

    Examples
    --------
    >>> sorted(excluded_positions(["age", "iron"], ["iron", "zinc", 0]))
    [0, 1]
    """
    return {
        column_position(names, column)
        for column in columns
        if not isinstance(column, str) or column in names
    }


def check_ids(ids: Sequence[Any], name: str, certain: bool) -> list[str] | None:
    """Ids as text; None where a mere guess turns out to hold no ids.

    Complains where a column that must hold ids has gaps or the same id twice.
    """
    seen: dict[Any, int] = {}
    for row, value in enumerate(ids):
        if value is None or value == "":
            problem = f"row {row} has no id"
        elif value in seen:
            problem = f"rows {seen[value]} and {row} have the same id {str(value)!r}"
        else:
            seen[value] = row
            continue
        if not certain:
            return None
        raise DataFileError(
            f"{problem} in the id column {name!r}; correct it, name another column "
            "with id_column=, or number the rows with id_column=False."
        )
    return [str(value) for value in ids]
