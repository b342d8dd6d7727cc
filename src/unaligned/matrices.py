"""One matrix of a view: whatever holds its numbers becomes a finite float matrix.

Complaints name the matrix as it is labelled by whoever asks, the value and the way out.
"""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

__all__ = [
    "as_floats",
    "as_matrix",
    "complain_if_too_large",
    "complain_of_infinity",
    "largest_of",
    "most_to_square",
    "read_matrix",
    "validate_single",
]

FLOATS = (np.float64, np.float32)

# Methods add up squares: so many times the sum of all in a view must be finite.
ROOM_FOR_SUMS = 1000.0

_READ = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_all_finite": False}


def as_matrix(X: Any, label: str) -> Any:
    """One view as a finite float matrix."""
    X = read_matrix(X, label)
    _check_numbers(X, label)
    return X


def read_matrix(X: Any, label: str) -> Any:
    """One view as a float matrix, in which numbers may be missing."""
    X = _plain(X)
    if hasattr(X, "obs_names") and hasattr(X, "X"):  # AnnData
        X = X.X
    if not sparse.issparse(X):
        X = _to_array(X, label)
    X = as_floats(X, label)
    return _canonical(X.tocsr(), label) if sparse.issparse(X) else X


def _canonical(X: Any, label: str) -> Any:
    """CSR with each entry once, in order, and 32-bit indices where they fit.

    Compiled code in all libraries rests on that, and takes indices at their word.
    """
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            f"{label} is a damaged sparse matrix: {error}. Build it anew, e.g. with "
            "scipy.sparse.coo_array, from rows, columns and values of its entries."
        ) from None
    if not X.has_canonical_format:
        X = X.copy()  # it is the user's
        X.sum_duplicates()
    wide = X.indices.dtype.itemsize > 4 or X.indptr.dtype.itemsize > 4
    if wide and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = type(X)(parts, shape=X.shape)
    return X


def validate_single(X: Any, estimator: Any, *, reset: bool = True) -> Any:
    """Let scikit-learn check one 2-D array: it words width and names of columns.

    With ``reset`` the estimator learns them, otherwise they must be those it knows.
    """
    X = _plain(X)
    if _holds_dates(X):  # scikit-learn would count their nanoseconds
        return _to_array(X, "Xs")
    try:
        with np.errstate(over="ignore"):  # what overflows is infinite: an error below
            if estimator is None:
                return check_array(X, **_READ)
            return validate_data(estimator, X, reset=reset, **_READ)
    except OverflowError:
        raise ValueError(_too_large("Xs")) from None


def as_floats(X: Any, label: str) -> Any:
    """Check that numbers of any array library are a table; make them floats."""
    if X.ndim != 2:
        raise ValueError(
            f"{label} is {X.ndim}-D with shape {X.shape}. A view is a 2-D array, rows "
            "× columns; reshape a single feature with x.reshape(-1, 1)."
        )
    if X.dtype.kind == "c":
        raise ValueError(
            f"{label} is complex ({X.dtype}). Complex data not supported: pass real "
            "and imaginary parts as columns, e.g. np.hstack([X.real, X.imag])."
        )
    if min(X.shape) == 0:
        what = "rows" if X.shape[0] == 0 else "columns"
        raise ValueError(
            f"{label} has no {what}: its shape is {X.shape}. Leave it out."
        )
    if X.dtype not in FLOATS:
        with np.errstate(over="ignore"):  # what overflows is infinite: an error below
            X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
    return X


def _plain(X: Any) -> Any:
    """Take off devices, masks and notes what holds numbers."""
    if hasattr(X, "row_ids") and hasattr(X, "X"):  # a view that was prepared
        return X.X
    if np.ma.isMaskedArray(X) and X.dtype.kind in "biuf":
        return np.ma.filled(X.astype(np.result_type(X, np.float32)), np.nan)
    if not hasattr(X, "detach"):
        return X
    X = X.detach().cpu()
    return (X.float() if str(X.dtype) == "torch.bfloat16" else X).numpy()


def _to_array(X: Any, label: str) -> NDArray[Any]:
    """Numbers of a dense view; text, dates and objects get a complaint."""
    try:
        array = np.asarray(X)
    except ValueError as error:  # rows of different length
        raise ValueError(f"{label} is not a rectangular table: {error}") from None
    if array.dtype.kind in "biufc":
        return array
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except OverflowError:
            raise ValueError(_too_large(label)) from None
        except (TypeError, ValueError):
            pass
    row, value = next(
        ((at, entry) for at, entry in np.ndenumerate(array) if not _is_number(entry)),
        ((), array.dtype),
    )
    where = f" at row {row[0]}, column {row[1]}" if len(row) == 2 else ""
    text = repr(value) if len(repr(value)) < 80 else f"{repr(value)[:75]} …"
    raise ValueError(
        f"{label} holds {text} ({type(value).__name__}){where}, which is not a "
        "number. Encode text and categories first: unaligned.prepare does it for data "
        "frames, sklearn.feature_extraction.text.TfidfVectorizer for whole texts. Or "
        "drop the column."
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, str | bytes | np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _too_large(label: str) -> str:
    return f"{label} holds an integer beyond float64. Measure it in larger units."


def _holds_dates(X: Any) -> bool:
    types = X.dtypes if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    return any(getattr(kind, "kind", None) in ("m", "M") for kind in types)


def _check_numbers(X: Any, label: str) -> None:
    """Complain about values that are not finite, or whose squares are not."""
    values = X.data if sparse.issparse(X) else X
    if values.size == 0:  # a sparse matrix of zeros
        return
    if not np.isfinite(largest := largest_of(values)):
        bad = ~np.isfinite(values)
        if sparse.issparse(X):
            X = X.tocoo()
            rows, columns = X.row[bad], X.col[bad]
        else:
            rows, columns = np.nonzero(bad)
        n_nan = int(np.isnan(values).sum())
        complain_of_infinity(
            label,
            n_nan,
            rows.size - n_nan,
            (rows[0], columns[0]),
            "unaligned.prepare",
        )
    complain_if_too_large(label, largest, values.size, X.dtype)


def complain_of_infinity(
    label: str, n_nan: int, n_infinite: int, first: tuple[int, int], remedy: str
) -> NoReturn:
    """Count values that are not finite, and say where the first one is."""
    raise ValueError(
        f"{label} contains NaN or infinity: {n_nan} NaN and {n_infinite} infinite "
        f"(inf) values, the first at row {first[0]}, column {first[1]}. Impute or "
        f"drop them first, e.g. with {remedy}."
    )


def complain_if_too_large(
    label: str, largest: float, n_values: int, dtype: np.dtype[Any]
) -> None:
    """Complain if the squares of so many values, added up, may not be finite."""
    if largest > most_to_square(n_values, dtype):
        precise = " It fits into float64: X.astype(float)."
        raise ValueError(
            f"{label} holds values as large as {largest:.3g}: sums of their squares do "
            f"not fit into {dtype}. Measure it in larger units, as in X / "
            f"abs(X).max().{precise if dtype == np.float32 else ''}"
        )


def most_to_square(n_values: int, dtype: Any) -> float:
    """How large so many values may be for their squares to be added up."""
    return float(np.sqrt(float(np.finfo(dtype).max) / ROOM_FOR_SUMS / n_values))


def largest_of(values: NDArray[Any]) -> float:
    """Largest magnitude of some values; NaN if there is any."""
    return max(-float(values.min()), float(values.max()))
