"""Candidates for a partner, looked for in cells that both views share.

Along canonical directions the rows of two views lie in one space. It is cut into cells,
and the rows of the one view in a cell are compared with those of the other in the cells
around it. A cell is a task of its own.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from unaligned.distributed.passes import settle, stream
from unaligned.kernels.neighbors import top_products
from unaligned.savuc.absence import NOTHING
from unaligned.savuc.assign import likelihood_weights
from unaligned.savuc.likelihood import Canonical

__all__ = ["Candidates", "find_candidates"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_SEEN = 32  # cells around a row that it is compared with, as in memory. Cost
ROWS_PER_CENTRE = 30  # of the sample that cells are found with, as in memory. Cost
N_LLOYD = 5  # steps that move the centres. Cost
ROWS_AT_ONCE = 100_000  # read along canonical directions. Cost


class Candidates(NamedTuple):
    """The rows of the second view that are likeliest to be partners."""

    columns: Array
    """Best first, in int32: (n, k). The last ones may stand for nothing."""
    ratios: Array
    """Log-likelihood ratios of one object to two; `NOTHING` for nothing: (n, k)."""


def find_candidates(
    canonical: Canonical, one: Array, other: Array, k: int, seed: int
) -> Candidates:
    """For every row of a view, the k rows of another that are likeliest its partner.

    Parameters
    ----------
    canonical : Canonical
        Of pairs of their rows.
    one, other : ndarray of shape (n, d) and (m, e)
    k : int
    seed : int
        Of the centres of the cells.
    """
    import dask

    sides = Sides(canonical)
    A, B = sides.read(one, 0), sides.read(other, 1)
    centres = draw_centres(sides.weighted(B), seed)
    members = [
        Members(top_products(sides.weighted(rows), centres, 1)[0][:, 0], len(centres))
        for rows in (A, B)
    ]
    # Centres are rows too, and those of the nearest cells are found in the same way.
    near, _ = top_products(as_rows(centres), centres, min(N_SEEN, len(centres)))
    columns = np.zeros((len(A), k), dtype=np.int32)
    ratios = np.full((len(A), k), NOTHING, dtype=np.float32)
    cells = [c for c in range(len(centres)) if members[0].of([c]).size]
    task = dask.delayed(best_of_cell, pure=False)
    tasks = (
        task(
            sides.rows(A[members[0].of([c])]),
            sides.columns(B[members[1].of(near[c])]),
            k,
        )
        for c in cells
    )
    for c, (places, found) in zip(cells, stream(tasks), strict=True):
        rows, there = members[0].of([c]), members[1].of(near[c])
        n_found = places.shape[1]
        columns[rows, :n_found] = there[places]
        ratios[rows, :n_found] = found - sides.of_rows(A[rows])[:, None]
    return Candidates(columns, ratios)


class Sides:
    """What makes log-likelihood ratios of two views inner products of their rows.

    With correlation c the ratio of a and b is c a b / (1 − c²) less terms of a alone
    and of b alone, see `log_ratios`.
    """

    def __init__(self, canonical: Canonical) -> None:
        self.canonical = canonical
        self.kept = np.flatnonzero(canonical.correlations > 0)
        if not self.kept.size:
            self.kept = np.arange(1)
        c = canonical.correlations[self.kept]
        residual = 1 - c**2
        self.products = (c / residual).astype(np.float32)
        self.squares = (c**2 / residual / 2).astype(np.float32)
        self.constant = np.float32(np.log(residual).sum() / 2)
        self.nearness = likelihood_weights(c.astype(np.float32))

    def read(self, rows: Array, side: int) -> Array:
        """Rows along the directions that correlate at all, in float32."""
        along = np.empty((len(rows), len(self.kept)), dtype=np.float32)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            along[some] = self.canonical.read(rows[some], side)[:, self.kept]
        return along

    def weighted(self, rows: Array) -> Array:
        """Rows on the scale on which cells are cut, and a one for `as_columns`."""
        return as_rows_of(rows * self.nearness)

    def rows(self, A: Array) -> Array:
        """Rows of the first view, as factors of ratios."""
        return as_rows_of(A * self.products)

    def columns(self, B: Array) -> Array:
        """Rows of the second view, as factors of ratios."""
        return np.column_stack([B, -(B**2) @ self.squares])

    def of_rows(self, A: Array) -> Array:
        """Give the share of rows of the first view alone in their ratios."""
        alone: Array = (A**2) @ self.squares + self.constant
        return alone


class Members:
    """Who is in which cell."""

    def __init__(self, cell_of: Indices, n_cells: int) -> None:
        self.order = np.argsort(cell_of, kind="stable")
        self.ends = np.append(0, np.cumsum(np.bincount(cell_of, minlength=n_cells)))

    def of(self, cells: Any) -> Indices:
        """Rows of some cells, cell by cell."""
        parts = [self.order[self.ends[c] : self.ends[c + 1]] for c in cells]
        return np.concatenate(parts)


def as_rows_of(rows: Array) -> Array:
    """Add a column of ones, that what is nearest has the largest inner product."""
    return np.column_stack([rows, np.ones(len(rows), dtype=np.float32)])


def as_rows(columns: Array) -> Array:
    """Make rows again of what `draw_centres` gave."""
    return as_rows_of(columns[:, :-1])


def draw_centres(points: Array, seed: int) -> Array:
    """√n centres of cells, found among some of the points; −|x|²/2 is the last column.

    An inner product with a row of `as_rows_of` is then largest for the nearest centre.
    """
    n_cells = max(1, int(np.sqrt(len(points))))
    rng = np.random.RandomState(seed)
    drawn = np.sort(rng.permutation(len(points))[: ROWS_PER_CENTRE * n_cells])
    model = KMeans(
        n_cells, init="random", n_init=1, max_iter=N_LLOYD, random_state=seed
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of rows that are equal
        centres = model.fit(points[drawn, :-1]).cluster_centers_
    return np.column_stack([centres, -0.5 * (centres**2).sum(axis=1)])


def best_of_cell(rows: Array, columns: Array, k: int) -> tuple[Indices, Array]:
    """Places and ratios of the best columns of every row, as many as there are."""
    rows, columns = settle(rows), settle(columns)
    if not len(columns):
        return np.empty((len(rows), 0), dtype=np.intp), np.empty((len(rows), 0))
    return top_products(rows, columns, min(k, len(columns)))
