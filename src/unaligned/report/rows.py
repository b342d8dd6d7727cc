"""What users give for rows: ids, and columns to colour them by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.views import label, row_names

__all__ = [
    "Column",
    "check_columns",
    "check_ids",
    "feature_names",
    "value_columns",
    "views_in",
]

# A column with at most so many different whole numbers is treated as categories.
MOST_CATEGORIES = 12
MISSING = {"nan", "None", "NaT", "<NA>"}


@dataclass(frozen=True)
class Column:
    """A column to colour rows by, one array per view.

    Numbers are float32 with NaN where missing. Categories are codes into
    ``categories``, -1 where missing. A view without the column has None.
    """

    name: str
    values: list[NDArray[Any] | None]
    categories: list[str] | None
    """None for numbers."""


def check_ids(
    ids: Any, Xs: Any, names: list[str], n_rows: list[int]
) -> list[list[str] | None]:
    """Names of the rows of every view as text; None if rows are just numbered.

    If ``ids`` is None, they are the index of data frames and the ``obs_names`` of
    AnnData in ``Xs``, or the ids of views that were prepared.
    """
    if ids is None:
        return [row_names(X) for X in views_in(Xs, len(names))]
    return [
        None if of_view is None else [str(name) for name in of_view]
        for of_view in _per_view(ids, "ids", names, n_rows)
    ]


def check_columns(
    columns: Mapping[str, Any] | None, names: list[str], n_rows: list[int]
) -> list[Column]:
    """Columns as numbers or categories."""
    if columns is None:
        return []
    if not isinstance(columns, Mapping):
        raise TypeError(
            f"columns is a {type(columns).__name__}. Give a dict from the name of each "
            "column to its values, one array per view: {'batch': [batch_0, batch_1]}."
        )
    return [
        _column(str(name), _per_view(values, f"columns[{name!r}]", names, n_rows))
        for name, values in columns.items()
    ]


def views_in(Xs: Any, n_views: int) -> list[Any]:
    """List views as the user gave them; None for each if they came in one array."""
    Xs = getattr(Xs, "mod", Xs)
    each = list(Xs.values()) if isinstance(Xs, Mapping) else Xs
    if not isinstance(each, list | tuple) or len(each) != n_views:
        return [None] * n_views
    return list(each)


def feature_names(X: Any, d: int) -> list[str]:
    """Names of the columns of a view as the user gave it, or their positions."""
    names = getattr(X, "feature_names", None)
    if names is None and hasattr(X, "obs_names"):  # AnnData
        names = X.var_names
    elif names is None:
        names = getattr(X, "columns", None)
    if names is None or len(names) != d:
        return [f"column {j}" for j in range(d)]
    return [str(name) for name in names]


def value_columns(
    Xs: list[Any], names: list[str], features: list[list[str]], wanted: list[list[int]]
) -> list[Column]:
    """Make columns to colour rows by from some columns of the views.

    Parameters
    ----------
    Xs : list of matrices
    names : list of str
        Of the views.
    features : list of list of str
        Names of the columns of each view.
    wanted : list of list of int
        Columns of each view.

    Returns
    -------
    list of Column
        A name that two views have is followed by that of the view.
    """
    known = [feature for own in features for feature in set(own)]
    made = []
    for i, X in enumerate(Xs):
        some = X[:, wanted[i]]
        some = some.toarray() if sparse.issparse(some) else some
        for at, j in enumerate(wanted[i]):
            name = features[i][j]
            if known.count(name) > 1:
                name = f"{name} ({names[i]})"
            values: list[NDArray[Any] | None] = [None] * len(Xs)
            values[i] = np.asarray(some[:, at], dtype=np.float32)
            made.append(Column(name, values, None))
    return made


def _per_view(
    given: Any, what: str, names: list[str], n_rows: list[int]
) -> list[Any | None]:
    """One sequence per view, from a list in their order or a dict by their names."""
    if isinstance(given, Mapping):
        by_name = {str(name): values for name, values in given.items()}
        strangers = sorted(set(by_name) - set(names))
        if strangers:
            raise ValueError(
                f"{what} names {strangers[0]!r}, which is none of the views {names}."
            )
        given = [by_name.get(name) for name in names]
    if len(given) != len(names):
        raise ValueError(
            f"{what} holds {len(given)} arrays, but there are {len(names)} views. Give "
            "one per view, None for a view that has none."
        )
    for name, values, n in zip(names, given, n_rows, strict=True):
        if values is not None and (isinstance(values, str) or len(values) != n):
            raise ValueError(
                f"{what} has {len(values)} values for {label(name)}, which has {n} "
                "rows. Give one value per row, in the view's own row order."
            )
    return list(given)


def _column(name: str, per_view: list[Any | None]) -> Column:
    arrays = [None if values is None else np.asarray(values) for values in per_view]
    there = [array for array in arrays if array is not None]
    if not there:
        raise ValueError(f"columns[{name!r}] has no values for any view.")
    are_numbers = all(array.dtype.kind in "iuf" for array in there)
    whole = are_numbers and all(np.all(array % 1 == 0) for array in there)
    if are_numbers and not (
        whole and len(np.unique(np.concatenate(there))) <= MOST_CATEGORIES
    ):
        numbers = [None if a is None else a.astype(np.float32) for a in arrays]
        return Column(name, numbers, None)
    texts = [None if a is None else _text(a, whole) for a in arrays]
    known = {text for view in texts if view is not None for text in view} - {""}
    categories = sorted(known, key=int if whole else None)
    place = {text: code for code, text in enumerate(categories)}
    codes = [
        None if view is None else np.array([place.get(text, -1) for text in view])
        for view in texts
    ]
    return Column(name, codes, categories)


def _text(values: NDArray[Any], whole: bool) -> list[str]:
    """Values as text; empty if missing."""
    if whole:
        values = values.astype(np.int64)  # 3.0 in one view is 3 in another
    return ["" if (text := str(value)) in MISSING else text for value in values]
