"""Missing values of a view: counted, and estimated from the rest of their rows."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.kernels.factor_imputation import impute_by_factors
from unaligned.preparation.draft import Draft
from unaligned.preparation.notes import missing_words, names_of

__all__ = ["fill_in"]


def fill_in(draft: Draft, impute: str) -> None:
    """Fill in missing values, and note how many there are and where."""
    X = draft.X
    values = X.data if sparse.issparse(X) else X
    n_missing = int(np.isnan(values).sum())
    if not n_missing:
        return
    if sparse.issparse(X):
        raise ValueError(
            f"The table is a sparse matrix with {n_missing:,} missing values (NaN), "
            "which cannot be imputed there. Remove them, or use X.toarray()."
        )
    gaps = np.flatnonzero(draft.n_missing)
    where = [draft.names[i] for i in gaps[np.argsort(-draft.n_missing[gaps])]]
    said = missing_words(n_missing, X.shape[0] * draft.n_used, where)
    if impute == "none":
        raise ValueError(
            f"{said}, and impute='none' forbids to fill them in. Use "
            "impute='low-rank', or remove those rows or columns."
        )
    n_by_row = np.isnan(X).sum(axis=1)
    draft.empty_rows = np.flatnonzero(2 * n_by_row > X.shape[1])
    draft.X = _imputed(X, impute)
    draft.n_imputed = n_missing
    were = "was" if n_missing == 1 else "were"
    draft.remarks.append(f"{said}, and {were} imputed from the other columns.")
    if len(draft.empty_rows):
        ids = draft.row_ids
        rows = [str(row) if ids is None else ids[row] for row in draft.empty_rows]
        word = "row is" if len(rows) == 1 else "rows are"
        draft.remarks.append(
            f"{len(rows):,} {word} more than half empty: {names_of(rows)}."
        )


def _imputed(X: NDArray[Any], impute: str) -> NDArray[Any]:
    if impute == "low-rank":
        return impute_by_factors(X)
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    imputer = IterativeImputer(random_state=0)
    with warnings.catch_warnings():  # ten rounds are its default, and enough here
        warnings.simplefilter("ignore")
        return imputer.fit_transform(X).astype(X.dtype, copy=False)
