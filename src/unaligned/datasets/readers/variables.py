"""Named arrays, as in NumPy's archives and MATLAB's files: which of them are views."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.datasets.readers.contents import (
    DataFileError,
    FileView,
    Options,
    is_matrix,
    listed,
)

__all__ = ["make_sparse", "views_of_variables"]

# How people call the classes of the rows, and the list of views.
CLASS_NAMES = {"y", "gt", "gnd", "label", "labels", "class", "classes", "target"}
CLASS_NAMES |= {"targets", "truth", "truelabel", "truelabels", "groundtruth"}
MOST_EMPTY_ROWS = 1000  # for each value in a sparse matrix
VIEWS_NAMES = {"X", "Xs", "fea", "data", "views"}


def views_of_variables(
    variables: Mapping[str, Any], stem: str, options: Options
) -> list[FileView]:
    """Pick the views among named arrays.

    Parameters
    ----------
    variables : mapping
        Arrays, sparse matrices, text, or lists of those (MATLAB's cells).
    stem : str
        Name of the file, for a view that has none of its own.
    options : Options
        ``view`` names the variable to take.

    Returns
    -------
    list of FileView
        In the library's own form, ``view0``, ``view1`` and so on; or else the matrices
        in a list; or else all matrices but the classes. Classes become the column
        ``"y"``.
    """
    classes = _classes(variables)
    if "view0" in variables or "view0_data" in variables:
        matrices = _house_form(variables)
    elif {"format", "shape", "data"} <= variables.keys():
        matrices = {stem: _scipy_form(variables)}
    else:
        matrices = _other_forms(variables, stem, options.view)
        matrices = _rows_first(matrices, classes)
    views = []
    for name, X in matrices.items():
        y = variables.get(f"y_{name}", classes)
        has_y = isinstance(y, np.ndarray) and y.shape == X.shape[:1]
        views.append(FileView(name, X, other_columns={"y": y} if has_y else {}))
    views = _with_names(views, variables.get("view_names"))
    taken_whole = options.view in variables and options.view not in matrices
    if options.view is None or taken_whole:
        return views
    chosen = [
        view
        for view, key in zip(views, matrices, strict=True)
        if options.view in (view.name, key)
    ]
    if not chosen:
        names = [view.name for view in views]
        raise DataFileError(
            f"there is no view {options.view!r}; the views are {listed(names)}."
        )
    return chosen[:1]


def make_sparse(
    form: str, parts: Sequence[NDArray[Any]], shape: Sequence[int]
) -> sparse.csr_array:
    """Make a CSR matrix from arrays that may hold anything.

    SciPy's compiled code crashes on indices that lie outside, and its own check lets
    some of them pass, so they are checked here.

    Parameters
    ----------
    form : str
        ``"csr"`` or ``"csc"``; any other gets a complaint.
    parts : sequence of ndarray
        Values, indices, and where each row or column begins.
    shape : sequence of int
    """
    data, indices, starts = parts
    n_major, n_minor = _axes(form, shape)
    held = len(data)
    fits = (
        all(part.dtype.kind in "iu" and part.ndim == 1 for part in (indices, starts))
        and data.ndim == 1
        and held == len(indices)
        and len(starts) == n_major + 1
        and starts[0] == 0
        and starts[-1] == held
        and (starts[1:] >= starts[:-1]).all()
        and (held == 0 or (indices.min() >= 0 and indices.max() < n_minor))
        and shape[0] <= MOST_EMPTY_ROWS * (held + 1)
    )
    if not fits:
        raise DataFileError(
            f"a sparse matrix in it is damaged: it declares the shape {list(shape)} "
            f"and holds {held} values that do not fit it."
        )
    build = sparse.csr_array if form == "csr" else sparse.csc_array
    return build((data, indices, starts), shape=(shape[0], shape[1])).tocsr()


def _axes(form: str, shape: Sequence[int]) -> tuple[int, int]:
    """Sizes of the axis that is cut into stretches, and of the other one."""
    if form not in ("csr", "csc"):
        raise DataFileError(
            f"it holds a sparse matrix in the form {form!r}; write it again after "
            "X.tocsr()."
        )
    if len(shape) != 2 or min(shape) < 0:
        raise DataFileError(f"a sparse matrix in it has the shape {list(shape)}.")
    return (shape[0], shape[1]) if form == "csr" else (shape[1], shape[0])


def _house_form(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Collect ``view0``, ``view1``, …, dense or in four parts, some to be scaled."""
    matrices: dict[str, Any] = {}
    while True:
        key = f"view{len(matrices)}"
        if f"{key}_data" in variables:
            parts = [
                _part(variables, f"{key}_{p}") for p in ("data", "indices", "indptr")
            ]
            X = make_sparse("csr", parts, _shape(variables, f"{key}_shape"))
        elif key in variables:
            X = variables[key]
            if not is_matrix(X):
                raise DataFileError(f"its array {key!r} is no table of numbers.")
        else:
            return matrices
        if f"{key}_scale" in variables:
            scale = _part(variables, f"{key}_scale").astype(np.float32)
            if np.broadcast_shapes(X.shape, scale.shape) != X.shape:
                raise DataFileError(f"its array '{key}_scale' does not fit {key!r}.")
            X = X.astype(np.float32) * scale
        matrices[key] = X


def _scipy_form(variables: Mapping[str, Any]) -> Any:
    """Put together the sparse matrix that ``scipy.sparse.save_npz`` wrote."""
    form = variables["format"]
    text = form.item() if form.size == 1 else ""
    text = text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)
    parts = [_part(variables, name) for name in ("data", "indices", "indptr")]
    return make_sparse(text, parts, _shape(variables, "shape"))


def _part(variables: Mapping[str, Any], name: str) -> NDArray[Any]:
    part = variables.get(name)
    if not isinstance(part, np.ndarray) or part.dtype.kind not in "biufc":
        raise DataFileError(f"its array {name!r} is missing or holds no numbers.")
    return part


def _shape(variables: Mapping[str, Any], name: str) -> list[int]:
    return [int(size) for size in _part(variables, name).ravel()[:3]]


def _other_forms(
    variables: Mapping[str, Any], stem: str, chosen: str | None
) -> dict[str, Any]:
    """Collect the matrices in a list, or all matrices there are."""
    if chosen is not None and chosen in variables:
        variables = {chosen: variables[chosen]}
    lists = {
        name: value
        for name, value in variables.items()
        if isinstance(value, list) and value and all(map(is_matrix, value))
        if not _is_class_name(name)
    }
    if lists:
        preferred = [name for name in lists if name.split(".")[-1] in VIEWS_NAMES]
        if len(lists) > 1 and len(preferred) != 1:
            raise DataFileError(
                f"it holds several lists of views ({listed(lists)}); choose one with "
                "view=."
            )
        name = preferred[0] if preferred else next(iter(lists))
        return {f"{name}{i}": X for i, X in enumerate(lists[name])}
    matrices = {
        name: value
        for name, value in variables.items()
        if is_matrix(value) and not _is_class_name(name)
    }
    if not matrices:
        raise DataFileError(
            "there is no table of numbers in it, such as an array 'view0' or a cell "
            f"array 'X'; it has {listed(variables)}."
        )
    if len(matrices) == 1:
        return {stem: next(iter(matrices.values()))}
    return matrices


def _rows_first(matrices: dict[str, Any], classes: Any) -> dict[str, Any]:
    """Turn matrices round whose columns, not rows, are as many as the classes."""
    if classes is not None and all(
        X.shape[0] != len(classes) == X.shape[1] for X in matrices.values()
    ):
        return {name: X.T for name, X in matrices.items()}
    return matrices


def _is_class_name(name: str) -> bool:
    return re.sub(r"[\s_.-]+", "", name.lower()) in CLASS_NAMES


def _classes(variables: Mapping[str, Any]) -> NDArray[Any] | None:
    """Classes of the rows: a vector with a telling name, also alone in a list."""
    for name, value in variables.items():
        if not _is_class_name(name):
            continue
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, np.ndarray) and value.size == max(value.shape, default=0):
            return value.ravel()
    return None


def _with_names(views: list[FileView], names: Any) -> list[FileView]:
    """Give views the names that the file has for them, if it has."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "SU":
        names = [str(name) for name in names.astype(str).ravel()]
    fits = isinstance(names, list) and len(set(map(str, names))) == len(views)
    if not fits or not all(isinstance(name, str) for name in names):
        return views
    return [view._replace(name=name) for view, name in zip(views, names, strict=True)]
