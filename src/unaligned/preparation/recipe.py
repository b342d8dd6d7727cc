"""How a table became a view, to prepare new rows in the same way."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.datasets.readers.contents import listed
from unaligned.kernels.factor_imputation import impute_by_factors
from unaligned.preparation.kinds import as_days, text_of
from unaligned.preparation.peaks import LatentIndex
from unaligned.preparation.tables import Table

__all__ = ["Recipe", "dummies", "logarithm", "normalise_counts"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Recipe:
    """What was done to the columns of a table."""

    sources: list[str] | list[int]
    """Columns of numbers that are used, by name or by position."""
    depth: float | None
    """Sum that rows of counts were scaled to; None if there are no counts."""
    scales: dict[str, float]
    """Skewed columns by name, and the scale of their logarithm."""
    made: dict[str, list[str] | None]
    """Columns of text and their categories; None for dates."""
    index: LatentIndex | None = None
    """Computes components of peaks; None if there are no peaks."""

    def apply(self, table: Table, known: Any) -> Any:
        """Bring new rows into the form of the view ``known``."""
        X = table.X[:, self._positions(table)]
        if self.index is not None:
            return self.index.apply(X)
        if self.depth is not None:
            X = normalise_counts(X, self.depth)[0]
        for i, name in enumerate(self.sources):
            if name in self.scales:
                X = X.copy() if X is table.X else X
                X[:, i] = logarithm(X[:, i], self.scales[str(name)])
        for name, levels in self.made.items():
            X = np.column_stack([X, self._columns(table, name, levels)])
        if sparse.issparse(X) or not np.isnan(X).any():
            return X
        # Missing values are estimated from the known rows, too.
        return impute_by_factors(np.vstack([known, X]))[len(known) :]

    def _positions(self, table: Table) -> list[int]:
        d = table.X.shape[1]
        names: list[Any] = [*range(d)] if table.names is None else table.names
        place = {name: i for i, name in reversed([*enumerate(names)])}
        lacking = [name for name in self.sources if name not in place]
        if lacking:
            raise ValueError(
                f"The table has no column of numbers {lacking[0]!r}, which the view "
                f"that it should be like was made of. Its columns are {listed(names)}."
            )
        return [place[name] for name in self.sources]

    def _columns(self, table: Table, name: str, levels: list[str] | None) -> Array:
        if name not in table.others:
            raise ValueError(
                f"The table has no column {name!r} of text or dates, which the view "
                "that it should be like was made of."
            )
        values = table.others[name]
        if levels is not None:
            return np.column_stack([*dummies(name, values, levels).values()])
        days = as_days(values)
        if days is None:
            raise ValueError(f"Column {name!r} held dates, and now it holds others.")
        return days


def dummies(name: str, values: Array, levels: list[str]) -> dict[str, Array]:
    """Make a column of 0 and 1 for each category."""
    texts = np.array([text_of(value) for value in values])
    return {f"{name}={level}": texts == level for level in levels}


def logarithm(amounts: Array, scale: float) -> Array:
    """Logarithms of amounts, or of 1 + x / scale; NaN if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> logarithm(np.array([1.0, np.e, 0]), 0.0)
    array([ 0.,  1., nan])
    >>> np.expm1(logarithm(np.array([0.0, 2, 4]), 2.0))
    array([0., 1., 2.])
    """
    if scale == 0:
        return np.log(np.where(amounts > 0, amounts, np.nan))
    return np.log1p(np.where(amounts >= 0, amounts, np.nan) / scale)


def normalise_counts(X: Any, wanted: float | None = None) -> tuple[Any, float]:
    """Scale rows to one sum, and take log(1 + x).

    Parameters
    ----------
    X : ndarray or sparse matrix
        Counts.
    wanted : float, optional
        The sum. Default: the median of the sums of the rows.

    Returns
    -------
    X : ndarray or sparse matrix
    wanted : float

    Examples
    --------
    >>> import numpy as np
    >>> X, wanted = normalise_counts(np.array([[1.0, 1.0], [4.0, 0.0], [3.0, 9.0]]))
    >>> np.expm1(X), wanted
    (array([[2., 2.],
           [4., 0.],
           [1., 3.]]), 4.0)
    """
    depth = X.sum(axis=1) if sparse.issparse(X) else np.nansum(X, axis=1)
    depth = np.asarray(depth, dtype=np.float64).ravel()
    if wanted is None:
        wanted = float(np.median(depth[depth > 0]))
    factor = (wanted / np.where(depth > 0, depth, 1)).astype(X.dtype)
    if sparse.issparse(X):
        return (sparse.diags_array(factor) @ X).tocsr().log1p(), wanted
    return np.log1p(X * factor[:, None]), wanted
