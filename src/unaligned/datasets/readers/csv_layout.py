"""How a text table is laid out: guessed from its first rows, or as the user says."""

import csv
import io
import re
from collections import Counter
from typing import Any, NamedTuple

from unaligned.datasets.readers.columns import (
    column_position,
    excluded_positions,
    is_column,
    names_ids,
)
from unaligned.datasets.readers.contents import DataFileError, Options

__all__ = ["MISSING", "Layout", "find_layout"]

# How people write that a value is missing; case does not matter.
MISSING = ("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "?", ".", "-", "--")

DELIMITERS = ",\t;| "
N_ROWS = 500  # that the guess looks at
LONGEST_LINE = 1 << 26  # characters; a longer "line" is no table

NUMBER = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE
)


class Layout(NamedTuple):
    """Layout of a text table."""

    delimiter: str
    decimal: str
    header: bool
    skip: int
    """Lines before the first row of values."""
    names: list[str]
    kinds: list[str]
    """``"number"``, ``"boolean"`` or ``"text"`` for each column."""
    longest: int
    """Characters of the longest line seen, for the size of blocks."""


def find_layout(stream: Any, suffix: str, options: Options) -> Layout:
    """Guess the layout from the beginning of a stream of text.

    Parameters
    ----------
    stream : text stream
        At its beginning, with line ends as they are.
    suffix : str
        With ``".tsv"`` tabs are preferred where the content leaves a choice.
    options : Options
        What the user says about header, delimiter and columns.
    """
    text, whole = _beginning(stream)
    if "\0" in text:
        raise DataFileError("it holds NUL characters, so it is no text table.")
    given = {r"\t": "\t", "tab": "\t"}.get(options.delimiter or "", options.delimiter)
    if given and len(given) > 1:
        raise DataFileError(f"delimiter={given!r} must be one character.")
    delimiter, rows, decimal = _split(text, whole, suffix, given)
    width = len(rows[-1])
    n_names = len(rows[0])
    header = options.header
    if header is None:
        header = _has_header(rows, decimal)
    body = rows[1:] if header else rows
    if not header:
        names = [f"column{i}" for i in range(width)]
    elif n_names != width - 1:
        names = [name.strip() for name in rows[0]]
    elif any(row[-1] for row in body):  # R leaves out the name of the row names
        names = ["", *rows[0]]
    else:  # a delimiter at the end of every line
        names = [*rows[0], ""]
    blank = len(text) - len(text.lstrip("\r\n"))
    skip = len(text[:blank].splitlines()) + header
    names = distinct(names)
    kinds = _kinds(body, names, decimal, options, skip)
    longest = max(len(line) for line in text.splitlines())
    return Layout(delimiter, decimal, header, skip, names, kinds, longest)


def _beginning(stream: Any) -> tuple[str, bool]:
    """First megabyte of text, or more where lines are long; and whether that is all."""
    text, size = "", 1 << 20
    try:
        while len(text) < LONGEST_LINE:
            text += (more := stream.read(size))
            if len(more) < size:
                return text, True
            if text.count("\n") + text.count("\r") > 4:
                return text, False
            size = len(text)
    except UnicodeDecodeError as error:
        marked = not text and error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
        raise DataFileError(
            f"it is not {error.encoding} text ({error.reason} at byte {error.start}); "
            "save it as UTF-8 or name its encoding, as in "
            f"encoding={'utf-16' if marked else 'latin-1'!r}."
        ) from None
    raise DataFileError(
        f"it has no line break in {LONGEST_LINE} characters, so it is no text table."
    )


def _split(
    text: str, whole: bool, suffix: str, delimiter: str | None
) -> tuple[str, list[list[str]], str]:
    """Find delimiter and decimal sign; return the first rows cut into fields, too.

    The right ones cut every row into the same number of fields, more than one; then
    what counts is how many of the fields are numbers, and how many there are.
    """
    candidates = delimiter or DELIMITERS
    if suffix == ".tsv" and delimiter is None:
        candidates = "\t" + DELIMITERS
    best: tuple[Any, ...] = ()
    for candidate in candidates:
        rows = _fields(text, whole, candidate)
        if not rows:
            raise DataFileError("it holds no rows.")
        body = rows[1:] or rows
        widths = {len(row) for row in body}
        even = (max(widths) > 1) + (len(widths) == 1 and max(widths) > 1)
        for decimal in ".," if candidate != "," else ".":
            values = [value for row in body[:50] for value in row[:200]]
            numbers = sum(_is_number(value, decimal) for value in values)
            score = (even, numbers / len(values), len(body[0]))
            if not best or score > best[0]:
                best = score, candidate, rows, decimal
    _, candidate, rows, decimal = best
    return candidate, rows, decimal


def _fields(text: str, whole: bool, delimiter: str) -> list[list[str]]:
    """First rows as fields, without the last one where it may be cut short."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = []
    for row in reader:
        if row:
            rows.append(row)
        if len(rows) > N_ROWS:
            return rows
    return rows if whole or len(rows) < 2 else rows[:-1]


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row holds names rather than values.

    It does where it has text above a column of numbers, or nothing but text, or counts
    its columns, as pandas does for columns without names.
    """
    first, body = rows[0], rows[1:]
    if body and len(first) == len(body[0]) - 1:
        return True
    counted = [name for name in first if name]
    for start in (0, 1):
        count = [str(i) for i in range(start, start + len(counted))]
        if counted == count and (len(count) > 2 or len(counted) < len(first)):
            return True
    above = [
        first[i]
        for i in range(len(first))
        if body and all(_is_number(row[i], decimal) for row in body[:50] if row[i:])
    ]
    return not any(
        _is_number(value, decimal) or _is_missing(value) for value in above or first
    )


def distinct(names: list[str]) -> list[str]:
    """Append a number to names that occurred before, as pandas does.

    Examples
    --------
    >>> distinct(["id", "age", "age", "", ""])
    ['id', 'age', 'age.1', '', '']
    """
    found: list[str] = []
    taken: set[str] = set()
    repeats: Counter[str] = Counter()
    for name in names:
        new = name
        while new and new in taken:
            repeats[name] += 1
            new = f"{name}.{repeats[name]}"
        taken.add(new)
        found.append(new)
    return found


def _kinds(
    body: list[list[str]],
    names: list[str],
    decimal: str,
    options: Options,
    skip: int,
) -> list[str]:
    """Kind of every column; one of numbers with a slip in it gets a complaint."""
    aside = excluded_positions(names, options.exclude)
    if is_column(options.id_column):
        aside.add(column_position(names, options.id_column))
    kinds = []
    for i, name in enumerate(names):
        values = [(row[i], at) for at, row in enumerate(body) if i < len(row)]
        filled = [(value, at) for value, at in values if not _is_missing(value)]
        texts = [(v, at) for v, at in filled if not _is_number(v, decimal)]
        if i in aside or not (i == 0 or name or filled):
            kinds.append("text")
        elif not texts:
            kinds.append("number")
        elif {value.strip().lower() for value, _ in filled} <= {"true", "false"}:
            kinds.append("boolean")
        elif i > 0 and 2 * len(texts) < len(filled) and not names_ids(name, i):
            value, at = texts[0]
            raise DataFileError(
                f"line {at + skip + 1}, column {name!r} holds {value!r} among "
                f"numbers; correct it, or keep the column out with exclude=[{name!r}]."
            )
        else:
            kinds.append("text")
    return kinds


def _is_number(value: str, decimal: str) -> bool:
    if decimal == ",":
        value = value.replace(",", ".", 1) if "." not in value else ""
    return NUMBER.fullmatch(value.strip()) is not None


def _is_missing(value: str) -> bool:
    return value.strip().lower() in MISSING
