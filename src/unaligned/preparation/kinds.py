"""What the columns of a table hold: ids, counts, skewed amounts, dates, categories.

Every rule uses one table only, never another table or classes.
"""

import re
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import kstest

from unaligned.datasets.readers.columns import ID_NAMES

__all__ = [
    "are_counts",
    "are_whole",
    "as_days",
    "categories_of",
    "is_counter",
    "is_spread_evenly",
    "names_an_id",
    "skewness",
    "text_of",
]

Array = NDArray[Any]

NARROW = 20  # columns; the depth of a row means nothing in narrower tables
HIGHLY_SKEWED = 1.0  # Bulmer (1979), Principles of Statistics: "highly skewed"
ENOUGH_ROWS = 30  # fewer numbers are too few to test how they are spread
ODDS = 0.01  # level of the test that integers are spread evenly, as numbered ids are
ORDERS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")  # of days, months and years

NAMES_OF_CODES = {"zip", "zipcode", "zip_code", "postcode", "postal_code", "phone"}


def names_an_id(name: str) -> bool:
    """Whether a column by that name holds ids or codes rather than amounts.

    Examples
    --------
    >>> [names_an_id(name) for name in ("customer_id", "StoreID", "paid", "Zip Code")]
    [True, True, False, True]
    """
    plain = re.sub(r"[\s.-]+", "_", name.strip())
    ends = plain.lower().endswith("_id") or re.search(r"[a-z](ID|Id)$", plain)
    return bool(ends) or plain.lower() in ID_NAMES | NAMES_OF_CODES


def are_whole(X: Any) -> bool:
    """Whether all numbers are whole; missing values are ignored."""
    values = X.data if sparse.issparse(X) else X
    return all(
        bool(np.all((part % 1 == 0) | np.isnan(part)))
        for part in np.array_split(values, max(1, values.size // 1_000_000))
    )


def is_counter(column: Array) -> bool:
    """Whether a column counts its rows: every step is one."""
    return len(column) > 2 and bool(np.all(np.diff(column) == 1))


def is_spread_evenly(column: Array) -> bool:
    """Whether whole numbers are all different and as even as numbered ids.

    Amounts that are all different by chance cluster around some value.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> is_spread_evenly(rng.permutation(90_000)[:500] + 10_000)
    True
    >>> is_spread_evenly(np.unique(rng.lognormal(10, 1, 500).round()))
    False
    """
    if len(column) < ENOUGH_ROWS or len(np.unique(column)) < len(column):
        return False
    low, high = float(np.min(column)), float(np.max(column))
    return bool(kstest(column, "uniform", (low, high - low)).pvalue > ODDS)


def are_counts(X: Any) -> bool:
    """Whether a matrix holds counts of many things, such as molecules or words.

    Its numbers are whole and not negative, most columns hold a zero, and most columns
    do not share a maximum, as grey values and answers on a scale do.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> are_counts(rng.poisson(rng.gamma(1, 2, 50), size=(100, 50)).astype(float))
    True
    >>> are_counts(rng.randint(0, 6, size=(100, 50)).astype(float))  # a scale
    False
    """
    n, d = X.shape
    if d <= NARROW or X.min() < 0 or not are_whole(X):
        return False
    if sparse.issparse(X):
        most = X.max(axis=0).toarray().ravel()
        with_zero = X.count_nonzero(axis=0) < n
    else:
        most, with_zero = np.nanmax(X, axis=0), np.nanmin(X, axis=0) == 0
    varied = most > 0
    at_maximum = most[varied] == most.max()
    return bool(varied.any() and with_zero[varied].mean() > 0.5 > at_maximum.mean())


def skewness(X: Array) -> Array:
    """Third standardised moment of every column; missing values are ignored."""
    centred = X - np.nanmean(X, axis=0)
    variance = np.nanmean(centred**2, axis=0)
    third = np.nanmean(centred**3, axis=0)
    moment: Array = third / np.where(variance > 0, variance, 1) ** 1.5
    return moment


def categories_of(texts: Array) -> list[str] | None:
    """Categories of a column of text; None if there are too many different values.

    There are at most as many as the root of the number of rows, so that on average a
    category has as many rows as there are categories.

    Examples
    --------
    >>> import numpy as np
    >>> categories_of(np.array(["a", "b", "a", None, "b"], dtype=object))
    ['a', 'b']
    """
    known = {text for text in map(text_of, texts) if text}
    return sorted(known) if len(known) ** 2 <= len(texts) else None


def as_days(values: Array) -> Array | None:
    """Dates as days since 1970, NaN if missing; None if they are no dates.

    ISO dates and times, or days, months and years in one of three orders. None if more
    than one order fits all values, as with 03/04/2020 in every line.

    Examples
    --------
    >>> import numpy as np
    >>> as_days(np.array(["1970-01-02", None, "1970-01-01 12:00"], dtype=object))
    array([1. , nan, 0.5])
    """
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        days = seconds.astype(np.int64) / 86400
        return np.where(np.isnat(seconds), np.nan, days)
    texts = [text_of(value) for value in values]
    known = [text for text in texts if text]
    if not known or not all(text[0].isdigit() and len(text) > 7 for text in known):
        return None
    found = []
    for order in (None, *ORDERS):
        try:
            dates = {text: _date(text, order) for text in dict.fromkeys(known)}
        except ValueError:
            continue
        found.append(np.array([dates.get(text, np.nan) for text in texts]))
    return found[0] if len(found) == 1 else None


def _date(text: str, order: str | None) -> float:
    """Days since 1970 of a date in some order; None: ISO."""
    read = datetime.strptime(text, order) if order else datetime.fromisoformat(text)
    return (read.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400


def text_of(value: Any) -> str:
    """Text of a cell; empty if it is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return "" if (text := str(value).strip()) in ("<NA>", "NaT", "nan") else text
