"""A table as plain data: columns, values, and how they are written."""

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Column", "Spread", "Table", "Value", "show", "slug", "without"]


class Spread(NamedTuple):
    """A mean, and the standard deviation over shuffles."""

    mean: float
    deviation: float | None


Value = str | float | int | Spread | None


@dataclass(frozen=True)
class Column:
    """Heading of a column, and how its values are written."""

    name: str
    digits: int | None = None
    """Decimals of numbers; None: text."""
    signed: bool = False
    room: int = 0
    """Letters that a line must have room for, or the column is left out."""


@dataclass(frozen=True)
class Table:
    """Columns and rows, with what a reader has to know."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[list[Value]]
    notes: list[str] = field(default_factory=list)


def show(column: Column, value: Value) -> str:
    """Write a value as its column says.

    Examples
    --------
    >>> show(Column("ACC", 1), Spread(53.46, 0.41))
    '53.5 ± 0.4'
    >>> show(Column("Δ ACC", 1, signed=True), 0.06)
    '+0.1'
    >>> show(Column("Δ ACC", 1, signed=True), -0.04)
    '+0.0'
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, Spread):
        mean = show(column, value.mean)
        if value.deviation is None:
            return mean
        return f"{mean} ± {value.deviation:.{column.digits}f}"
    value = round(value, column.digits or 0) + 0.0  # no minus before a zero
    text = f"{value:{'+' if column.signed else ''},.{column.digits or 0}f}"
    return text.replace("-", "−")


def without(
    columns: tuple[Column, ...], rows: list[list[Value]], *words: str
) -> tuple[tuple[Column, ...], list[list[Value]]]:
    """Leave out columns whose names hold one of some words."""
    kept = [i for i, c in enumerate(columns) if not any(w in c.name for w in words)]
    return tuple(columns[i] for i in kept), [[row[i] for i in kept] for row in rows]


def slug(title: str) -> str:
    """Name that can stand in an address.

    Examples
    --------
    >>> slug("Table 4: digits (600 rows)")
    'table-4-digits-600-rows'
    """
    letters = (c if c.isalnum() else " " for c in title.lower())
    return "-".join("".join(letters).split())
