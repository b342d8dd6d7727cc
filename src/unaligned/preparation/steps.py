"""The steps from a table to a view, in order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.matrices import complain_of_infinity
from unaligned.preparation.draft import Draft
from unaligned.preparation.filling import fill_in
from unaligned.preparation.kinds import (
    HIGHLY_SKEWED,
    are_counts,
    are_whole,
    as_days,
    categories_of,
    is_counter,
    is_spread_evenly,
    names_an_id,
    skewness,
    text_of,
)
from unaligned.preparation.notes import Prepared
from unaligned.preparation.options import CATEGORICAL, DATES, IMPUTE, TRANSFORM
from unaligned.preparation.peaks import are_peaks, fit_index
from unaligned.preparation.recipe import dummies, logarithm, normalise_counts
from unaligned.preparation.tables import read_table

__all__ = ["prepare"]

Array = NDArray[Any]

ROUNDING = 1e-9  # skewnesses with a smaller relative difference are equal


def prepare(
    table: Any,
    *,
    impute: str = "low-rank",
    categorical: str = "onehot",
    dates: str = "drop",
    transform: str = "auto",
    keep: Sequence[str] = (),
    exclude: Sequence[str | int] = (),
    id_column: str | int | bool | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    like: Prepared | None = None,
) -> Prepared:
    """Turn any table into a view, and note what was done.

    The commands ``unaligned cluster`` and ``unaligned align`` do the same with every
    file.

    Parameters
    ----------
    table : data frame, AnnData, 2-D array, sparse matrix or FileView
        Rows are objects. A FileView is what `unaligned.datasets.read_view` gives.
    impute : {"low-rank", "iterative", "none"}, default="low-rank"
        What to do with missing values. "low-rank": estimate them from the rest of their
        row by a factor model. "iterative": scikit-learn's `IterativeImputer`. "none":
        raise an error.
    categorical : {"onehot", "drop"}, default="onehot"
        What to do with columns of text that hold few different values: a column of 0
        and 1 for each of them, or nothing.
    dates : {"drop", "number"}, default="drop"
        Whether dates are left out or become days since 1970.
    transform : {"auto", "lsi", "none"}, default="auto"
        "auto": counts are divided by the depth of their row and logarithms taken, and
        logarithms of highly skewed amounts; counts whose columns have names
        such as ``chr1:10109-10357`` are peaks, and become components. "lsi": treat the
        numbers as peaks, whatever the names. "none": leave all numbers as they are.
    keep : sequence of str, default=()
        Columns to use as they are. Columns of text become categories.
    exclude : sequence of str or int, default=()
        Columns that are no features.
    id_column : str, int, bool or None, default=None
        Column with the ids of the rows, as in `unaligned.datasets.read_views`.
    use_rep, layer : str, optional
        Of an AnnData, the key of ``obsm`` or of ``layers`` to read. Default: ``X``.
    like : Prepared, optional
        A prepared view: prepare new rows in the same way, for ``predict`` and
        ``transform``. All options are then those of that view, except those that say
        what to read.

    Returns
    -------
    Prepared
        ``X``, ``feature_names``, ``row_ids``, ``notes`` for every column, ``remarks``,
        ``n_imputed`` and ``empty_rows``.

    Notes
    -----
    Columns that are empty or more than half empty are left out. In data frames and
    files of tables, but not in matrices, these are left out, too: columns with one
    value only, ids (by name, or whole numbers that are all different and evenly
    spread), and text with more different values than the root of the number of rows.
    Logarithms of skewed amounts are taken in tables only.

    A matrix holds counts if its numbers are whole and not negative, most of its columns
    hold a zero, and most do not share the overall maximum. They are scaled so that
    every row adds up to the median of the rows' sums, then x becomes log(1 + x). An
    amount is highly skewed if it is not negative and its skewness is above one; it
    becomes its logarithm, or with zeros log(1 + x / m), where m is the median of the
    positive numbers, if that is less skewed.

    Peaks become 50 components of latent semantic indexing: singular vectors of
    log(1 + 10⁴ x / depth × log(1 + n / cells with the peak)), without the first, which
    is depth.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from unaligned import prepare
    >>> rng = np.random.RandomState(0)
    >>> people = pd.DataFrame(
    ...     {
    ...         "customer_id": np.arange(200),
    ...         "age": rng.normal(40, 9, 200).round(1),
    ...         "income": rng.lognormal(10, 1, 200).round(2),
    ...         "smoker": rng.choice(["no", "yes"], 200),
    ...         "since": pd.date_range("2020-01-01", periods=200),
    ...     }
    ... )
    >>> people.loc[3, "age"] = np.nan
    >>> view = prepare(people)
    >>> view.feature_names, view.row_ids[:2]
    (['age', 'income', 'smoker=yes'], ['0', '1'])
    >>> for note in view.notes:
    ...     print(note.column, "|", note.action, "|", note.why or "as it is")
    customer_id | dropped | names the rows
    age | used | as it is
    income | transformed | skewed, logarithm taken
    smoker | transformed | categories, one column each
    since | dropped | dates; dates="number" makes days of them
    >>> view.remarks
    ['1 value is missing (under 1 %; in age), and was imputed from the other columns.']
    >>> prepare(people[:3], like=view).X.shape  # new rows for a model of this view
    (3, 3)
    """
    for name, value, allowed in (
        ("impute", impute, IMPUTE),
        ("categorical", categorical, CATEGORICAL),
        ("dates", dates, DATES),
        ("transform", transform, TRANSFORM),
    ):
        if value not in allowed:
            wanted = ", ".join(map(repr, allowed))
            raise ValueError(f"{name}={value!r} must be one of {wanted}.")
    parts = read_table(
        table, id_column=id_column, exclude=exclude, use_rep=use_rep, layer=layer
    )
    _check_finite(parts.X)
    if like is not None:
        X = like.recipe.apply(parts, like.X)
        return replace(
            like, X=X, row_ids=parts.row_ids, remarks=[], n_imputed=0, notes=[]
        )
    if parts.X.shape[0] < 2:
        raise ValueError(
            f"there are n_samples={parts.X.shape[0]} rows. Bring two or more: what "
            "columns hold is seen by comparing rows."
        )
    draft = Draft(parts, frozenset(keep))
    leave_out(draft)
    peaks = are_peaks(parts.names) and are_whole(draft.X)
    if transform == "lsi" or (transform == "auto" and peaks):
        index_peaks(draft)
    elif transform == "auto":
        take_logarithms(draft)
    if draft.index is None:
        add_others(draft, parts.others, categorical, dates)
    else:
        for name in parts.others:
            draft.leave(name, "no peak")
    fill_in(draft, impute)
    return draft.finish()


def _check_finite(X: Any) -> None:
    """Refuse infinite numbers; missing ones are handled later."""
    values = X.data if sparse.issparse(X) else X
    if np.isinf(values).any():
        rows, columns = np.nonzero(np.isinf(X.toarray() if sparse.issparse(X) else X))
        n_nan, first = int(np.isnan(values).sum()), (rows[0], columns[0])
        complain_of_infinity("the table", n_nan, len(rows), first, "numpy.isinf")


def leave_out(draft: Draft) -> None:
    """Leave out columns of numbers that are no features."""
    X, n = draft.X, draft.X.shape[0]
    if not sparse.issparse(X):
        draft.drop(draft.n_missing == n, "empty", even_if_asked_for=True)
        draft.drop(2 * draft.n_missing > n, "more than half empty")
    if draft.is_table:
        one_value = np.array([_is_constant(column) for column in X.T])
        draft.drop(one_value, "the same in all rows")
        whole = np.array([are_whole(column) for column in X.T])
        named = np.array([names_an_id(name) for name in draft.names])
        draft.drop(named & whole, "ids by their name")
        draft.drop(_each(is_counter, X, whole), "counts the rows")
    draft.compress()
    draft.counts = are_counts(draft.X)
    if draft.is_table and not draft.counts:
        whole = np.array([are_whole(column) for column in draft.X.T])
        ids = _each(is_spread_evenly, draft.X, whole)
        why = "whole numbers, all different and evenly spread, as ids are"
        draft.drop(ids, f"{why}; id_column= names rows by one")
        draft.compress()


def _is_constant(column: Array) -> bool:
    there = column[~np.isnan(column)]
    return len(there) > 0 and bool(np.all(there == there[0]))


def _each(rule: Callable[[Array], bool], X: Array, which: Array) -> Array:
    """Apply a test to some columns; False for the others."""
    found = [w and rule(column) for w, column in zip(which, X.T, strict=True)]
    return np.array(found, dtype=bool)


def index_peaks(draft: Draft) -> None:
    """Make components of peaks of chromatin."""
    values = draft.X.data if sparse.issparse(draft.X) else draft.X
    if not np.all(values >= 0):  # also where some are missing
        raise ValueError(
            "transform='lsi' needs counts of fragments, or 0 and 1, but some numbers "
            "are negative or missing. Use transform='auto'."
        )
    for name in draft.names:
        draft.transform(name, "a peak, in components of TF-IDF (LSI)")
    draft.index = fit_index(draft.X)
    draft.X = draft.index.apply(draft.X)
    draft.n_missing = np.zeros(draft.X.shape[1], dtype=np.intp)
    draft.remarks.append(
        f"The columns are peaks: {draft.X.shape[1]} components of their TF-IDF were "
        "taken (LSI), without the first, which is the depth of the row."
    )


def take_logarithms(draft: Draft) -> None:
    """Take logarithms of counts, by depth, and of skewed amounts in tables."""
    if draft.counts:
        draft.X, draft.depth = normalise_counts(draft.X)
        for name in draft.names:
            draft.transform(name, "counts, by the depth of the row, logarithm taken")
        draft.remarks.append(
            "The numbers are counts: every row was scaled to the median sum of a row, "
            "and logarithms were taken."
        )
    elif draft.is_table and draft.X.shape[1]:
        X = draft.X
        amounts = (np.nanmin(X, axis=0) >= 0) & (skewness(X) > HIGHLY_SKEWED)
        amounts &= ~draft.asked_for()
        changed, scales = X.copy(), {}
        for i in np.flatnonzero(amounts):
            zeros = (X[:, i] == 0).any()  # which have no logarithm
            scales[i] = float(np.median(X[:, i][X[:, i] > 0])) if zeros else 0.0
            changed[:, i] = logarithm(X[:, i], scales[i])
        # Columns with two values have one skewness: rounding must not decide.
        bound = (1 - ROUNDING) * skewness(X)
        milder = amounts & (np.abs(skewness(changed)) < bound)
        draft.X = np.where(milder, changed, X)
        for i in np.flatnonzero(milder):
            draft.scales[draft.names[i]] = scales[i]
            draft.transform(draft.names[i], "skewed, logarithm taken")


def add_others(
    draft: Draft, others: dict[str, Array], categorical: str, dates: str
) -> None:
    """Turn columns of text and dates into numbers, or leave them out."""
    for name, values in others.items():
        days = as_days(values)
        if days is not None:
            if dates == "number" or name in draft.keep:
                draft.add(name, {name: days}, "dates, in days since 1970", None)
            else:
                draft.leave(name, 'dates; dates="number" makes days of them')
            continue
        levels = categories_of(values)
        asked_for = name in draft.keep
        if levels is None and asked_for:
            levels = sorted({text for text in map(text_of, values) if text})
        if not levels:
            why = "empty" if levels == [] else "text with many different values"
            draft.leave(name, why)
        elif len(levels) == 1:
            draft.leave(name, "the same in all rows")
        elif categorical == "drop" and not asked_for:
            draft.leave(name, "categories")
        else:
            # For two categories one column is enough.
            coded = levels[1:] if len(levels) == 2 else levels
            columns = dummies(name, values, coded)
            draft.add(name, columns, "categories, one column each", coded)
