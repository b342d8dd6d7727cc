"""Views in any form that users have become a list of checked matrices.

Every complaint about views is worded here or, if it is about the numbers in one, in
`unaligned.matrices`; it names the view, the value and the way out.
`unaligned.known_pairs` does the same for ``aligned``.
"""

from collections.abc import Callable, Iterator, Mapping, Set, ValuesView
from dataclasses import dataclass, field
from numbers import Integral, Number
from typing import Any

import numpy as np
from scipy import sparse

from unaligned.kernels.memory import bytes_of
from unaligned.matrices import as_matrix, validate_single

__all__ = [
    "Views",
    "check_n_clusters",
    "check_new_rows",
    "check_reference_view",
    "check_views",
    "label",
    "row_names",
]

# Estimators that take views with unequal row counts, for the complaint that needs them.
ACCEPT_UNEQUAL_ROWS: tuple[str, ...] = ("SAVuC", "CMVNMF", "SCOT", "Rosetta")


# What arrays, lists of them, data frames, AnnData and MuData have, one or another.
ARRAY_LIKE = ("__array__", "__dataframe__", "__len__", "X", "mod", "shape")


@dataclass(frozen=True)
class Views:
    """Checked views: finite float matrices (dense or CSR) of one dtype, rows first."""

    arrays: list[Any]
    names: list[str]
    row_ids: list[list[str] | None] = field(default_factory=list)
    """What each calls its rows, None where they are just numbered."""

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def n_rows(self) -> list[int]:
        """Rows of each view."""
        return [X.shape[0] for X in self.arrays]

    @property
    def widths(self) -> list[int]:
        """Columns of each view."""
        return [X.shape[1] for X in self.arrays]

    @property
    def n_bytes(self) -> list[int]:
        """Memory of each view."""
        return [bytes_of(X) for X in self.arrays]

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return int(self.arrays[0].dtype.itemsize)


def check_views(
    Xs: Any,
    *,
    estimator: Any = None,
    view_sizes: Any = None,
    accept_sparse: bool = True,
    equal_rows: bool = False,
    check_matrix: Callable[[Any, str], Any] | None = None,
) -> Views:
    """Check anything a user may bring as views.

    Parameters
    ----------
    Xs : list, tuple or dict of matrices, MuData, or one 2-D array
        A matrix is a 2-D array-like, a SciPy sparse matrix, a data frame or an AnnData.
        float32 stays float32 if every view is; everything else becomes float64.
    estimator : estimator, optional
        The one that is being fitted. One 2-D array then also goes through
        scikit-learn's own check, which records the names of its columns.
    view_sizes : sequence of int, optional
        Columns of each view, where ``Xs`` is one 2-D array. Default: it is one view.
    accept_sparse : bool, default=True
        Whether sparse matrices may come in. They stay sparse.
    equal_rows : bool, default=False
        Whether all views must have the same number of rows.
    check_matrix : callable, optional
        Checks one matrix, given also what complaints call it, and returns it with
        floats of some kind. Default: it is read into memory and must be finite.

    Returns
    -------
    Views

    Examples
    --------
    >>> import numpy as np
    >>> views = check_views({"image": np.eye(3), "text": np.ones((3, 2))})
    >>> views.names, views.widths
    (['image', 'text'], [3, 2])
    """
    named = _named_views(Xs)
    if named is None:
        whole = (
            check_matrix(Xs, "Xs") if check_matrix else validate_single(Xs, estimator)
        )
        named = _split_columns(whole, view_sizes)
    elif view_sizes is not None:
        raise ValueError(
            "view_sizes cuts ONE 2-D array into views, but Xs already holds "
            f"{len(named)} views. Leave view_sizes=None."
        )
    if not accept_sparse:
        _complain_if_sparse(named, estimator)
    arrays = [(check_matrix or as_matrix)(X, label(name)) for name, X in named]
    dtype = np.result_type(*arrays)
    arrays = [X.astype(dtype, copy=False) for X in arrays]
    ids = [row_names(X) for _, X in named]
    views = Views(arrays, [str(name) for name, _ in named], ids)
    if len(set(views.names)) < len(views):
        twice = next(name for name in views.names if views.names.count(name) > 1)
        raise ValueError(f"Two views are called {twice!r}. Give each its own name.")
    if equal_rows and len(set(views.n_rows)) > 1:
        raise ValueError(_unequal_rows(views, estimator))
    return views


def check_new_rows(X: Any, *, estimator: Any, view: Any) -> tuple[Any, int]:
    """Check new rows of one view of a fitted estimator; return them and the view."""
    names, widths = estimator.view_names_in_, estimator.n_features_per_view_
    if isinstance(view, str) and view in names:
        index = names.index(view)
    elif isinstance(view, Integral) and -len(widths) <= int(view) < len(widths):
        index = int(view) % len(widths)
    else:
        raise ValueError(
            f"view={view!r} is none of the {len(widths)} views this estimator was "
            f"fitted on. Use an index below {len(widths)} or one of {names}."
        )
    if _named_views(X, "X") is not None:
        raise ValueError(
            "New rows are of ONE view: give a 2-D array, not a list of views, once per "
            "view, as in predict(Xs[0], view=0)."
        )
    if len(widths) == 1:
        X = validate_single(X, estimator, reset=False)
    X = as_matrix(X, label(names[index]))
    if X.shape[1] != widths[index]:
        raise ValueError(
            f"X has {X.shape[1]} columns, but {label(names[index])} had "
            f"{widths[index]} when it was fitted. Is view={view!r} the view meant?"
        )
    return X, index


def check_n_clusters(n_clusters: int | str, views: Views) -> None:
    """Complain when there are fewer rows than clusters; "auto" finds a number later."""
    fewest = int(np.argmin(views.n_rows))
    if not isinstance(n_clusters, str) and n_clusters > views.n_rows[fewest]:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the n_samples="
            f"{views.n_rows[fewest]} rows of {label(views.names[fewest])}. "
            "Ask for fewer clusters or bring more rows."
        )


def check_reference_view(reference_view: int, views: Views) -> None:
    """Complain when the reference view is none of the views."""
    if reference_view >= len(views):
        raise ValueError(
            f"reference_view={reference_view} is none of the {len(views)} views. Use "
            f"an index below {len(views)}."
        )


def row_names(X: Any) -> list[str] | None:
    """Names that a prepared view, an AnnData or a data frame has for its rows."""
    index = getattr(X, "row_ids", getattr(X, "obs_names", getattr(X, "index", None)))
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]


def label(name: Any) -> str:
    """How complaints call a view: by its index, or by its name in quotes."""
    return f"view {name}" if str(name).isdigit() else f"view {str(name)!r}"


def _shape(X: Any) -> tuple[int, ...]:
    """Shape of an array-like without turning it into an array."""
    if hasattr(X, "shape"):
        return tuple(X.shape)
    if isinstance(X, list | tuple):
        return (len(X), *_shape(X[0])) if X else (0,)
    return ()


def _complain_of_kind(X: Any, name: str) -> None:
    """Complain about what is no array of any library, nor holds any."""
    unread = isinstance(X, Iterator | ValuesView)
    no_array = X is None or isinstance(X, Number | str | bytes | Set)
    if unread or no_array or not any(hasattr(X, sign) for sign in ARRAY_LIKE):
        is_what = repr(X) if X is None else f"of type {type(X).__name__}"
        wanted = "A view is a 2-D array, rows × columns."
        if name == "Xs":
            wanted = "Give a list, tuple or dict of 2-D arrays, or one such array."
        way_out = " Make a list of it first: list(...)." * unread
        raise TypeError(f"{name} is {is_what}. {wanted}{way_out}")


def _named_views(Xs: Any, what: str = "Xs") -> list[tuple[Any, Any]] | None:
    """Names and matrices, or None where ``Xs`` is one array rather than several."""
    _complain_of_kind(Xs, what)
    if isinstance(getattr(Xs, "mod", None), Mapping):  # MuData: a dict of AnnData
        Xs = Xs.mod
    if isinstance(Xs, Mapping) and not sparse.issparse(Xs):  # SciPy's DOK is a dict
        named = list(Xs.items())
    elif isinstance(Xs, list | tuple):
        depths = [len(_shape(X)) for X in Xs]
        for i, X in enumerate(Xs):
            if not isinstance(X, Number):  # of which one array may be made
                _complain_of_kind(X, label(i))
        if Xs and max(depths) < 2 and not any(getattr(X, "ndim", 0) == 1 for X in Xs):
            return None  # a nested list of numbers: one array
        if Xs and max(depths) < 2:
            raise ValueError(
                f"Xs is a list of {len(Xs)} 1-D arrays. A view is a 2-D array, rows × "
                "columns: reshape a single feature with x.reshape(-1, 1), or stack "
                "rows of one view with np.vstack(Xs)."
            )
        named = list(enumerate(Xs))
    else:
        if (n_axes := len(_shape(Xs))) not in (1, 2) and hasattr(Xs, "shape"):
            way_out = "If its first axis holds the views, pass list(Xs)."
            raise ValueError(
                f"{what} is a {n_axes}-D array of shape {_shape(Xs)}, not 2-D, rows × "
                f"columns. {way_out * (what == 'Xs' and n_axes == 3)}".rstrip()
            )
        return None
    if not named:
        raise ValueError(f"{what} holds no view. Give at least one 2-D array.")
    for name, X in named:
        _complain_of_kind(X, label(name))
    return named


def _complain_if_sparse(named: list[tuple[Any, Any]], estimator: Any) -> None:
    for name, X in named:
        if sparse.issparse(X):
            raise TypeError(
                f"{label(name)} is a sparse matrix, and sparse input is not supported "
                f"by {type(estimator).__name__}, which has to centre its columns. Use "
                "X.toarray() if it fits into memory, or reduce it first, e.g. with "
                "sklearn.decomposition.TruncatedSVD."
            )


def _split_columns(X: Any, view_sizes: Any) -> list[tuple[Any, Any]]:
    if view_sizes is None:
        return [(0, X)]
    sizes = np.asarray(view_sizes)
    if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer) or sizes.min() < 1:
        raise ValueError(
            f"view_sizes={view_sizes!r} must list the columns of each view, all ≥ 1."
        )
    if (total := sum(map(int, sizes))) != X.shape[1]:
        raise ValueError(
            f"view_sizes={list(map(int, sizes))} adds up to {total} columns, but the "
            f"array has {X.shape[1]}."
        )
    ends = np.cumsum(sizes)
    return [
        (i, X[:, end - size : end])
        for i, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]


def _unequal_rows(views: Views, estimator: Any) -> str:
    who = "This function" if estimator is None else type(estimator).__name__
    counts = ", ".join(
        f"{label(name)}: {n}" for name, n in zip(views.names, views.n_rows, strict=True)
    )
    others = ", ".join(ACCEPT_UNEQUAL_ROWS) or "none in this version"
    return (
        f"{who} matches rows one to one and needs equally many in every view, but got "
        f"{counts}. Keep {min(views.n_rows)} rows of each, or use an estimator that "
        f"accepts unequal counts ({others})."
    )
