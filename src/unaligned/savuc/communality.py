"""How much of a column the other columns of its table predict, and a view by that.

A column that no other column predicts may hold what one table alone has: a category,
say. Its direction is as large as those of common factors. So the search also looks at
views in which such columns count less.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from unaligned.savuc.geometry import Geometry, scaled_geometry
from unaligned.savuc.likelihood import explained_of_new
from unaligned.savuc.trust import FEWEST_DIRECTIONS

__all__ = ["Variable", "by_communality", "variables_of", "weights_of"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

DEPENDENT = 1e-6  # variance of a sum of standardised columns that is none: rounding
INVOLVED = 1e-3  # entry of a null direction, or share of a range: more than rounding
MOSTLY = 0.5  # share of a variance that is most of it
LARGEST_SHARE = 1 - 1e-6  # predicted; keeps odds finite


class Variable(NamedTuple):
    """Columns that belong together, as those of one category; mostly one column.

    They are exactly dependent, or have two values and exclude each other. A category of
    k values has k columns, in k − 1 directions; in k, if some rows have none of them.
    """

    columns: Indices
    forward: Array
    """Map to uncorrelated directions of unit variance."""
    backward: Array
    """Map back to the columns."""
    predicted: Array
    """Share of the variance along each that columns of other variables predict."""


def by_communality(geometry: Geometry) -> Geometry | None:
    """Give a view whose columns count as far as other columns predict them.

    Returns
    -------
    Geometry or None
        None if that would change little, or if most columns are not predicted, so that
        there is nothing to compare the others with. None also for groups, and if not
        all directions of the columns were kept.
    """
    used = np.flatnonzero(np.isfinite(geometry.scale))
    n_directions = geometry.directions.shape[1]
    if not len(geometry.lengths) or not FEWEST_DIRECTIONS <= len(used) <= n_directions:
        return None
    columns = geometry.at_full_length() @ geometry.directions[used].T
    columns = np.asarray(columns, np.float64) - columns.mean(axis=0)
    deviation = columns.std(axis=0)
    columns /= np.where(deviation > 0, deviation, 1)
    correlation = columns.T @ columns / len(columns)
    variables = variables_of(correlation, len(columns), exclude_each_other(columns))
    shares = np.concatenate([variable.predicted for variable in variables])
    usual = np.median([variable.predicted.max() for variable in variables])
    if usual <= MOSTLY or shares.min() >= MOSTLY:
        return None
    weighted = columns @ weights_of(variables)
    found = in_directions(weighted, len(used))
    return found if found.points.shape[1] >= FEWEST_DIRECTIONS else None


def in_directions(rows: Array, n_directions: int) -> Geometry:
    """Geometry of columns whose scales mean something; directions with variance."""
    d = rows.shape[1]
    rng = np.random.RandomState(0)  # sparse views alone would need it
    found = scaled_geometry(rows, np.zeros(d), np.ones(d), n_directions, rng)
    variance = found.points.var(axis=0)
    kept = variance > DEPENDENT * variance.mean()
    return found._replace(
        points=found.points[:, kept],
        center=found.center[kept],
        directions=found.directions[:, kept],
    )


def exclude_each_other(columns: Array) -> NDArray[np.bool_]:
    """Find columns of two values that never take the larger one in the same row.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot = np.array([[1, 0, 3], [0, 1, 2], [0, 0, 1], [0, 1, 4]])
    >>> exclude_each_other(one_hot)[0].tolist()
    [False, True, False]
    """
    low, high = columns.min(axis=0), columns.max(axis=0)
    near = np.minimum(columns - low, high - columns)
    two_valued = (near < INVOLVED * (high - low)).all(axis=0)
    upper = ((columns > (low + high) / 2) & two_valued).astype(np.float64)
    exclusive: NDArray[np.bool_] = upper.T @ upper == 0
    return exclusive & two_valued & two_valued[:, None]


def variables_of(
    correlation: Array, n_rows: int, exclusive: NDArray[np.bool_] | bool = False
) -> list[Variable]:
    """Group columns that belong together, and predict each group by the others.

    Shares are those that new rows would have (Ezekiel's correction), and 0 where no
    other column is left. ``exclusive`` tells which columns exclude each other.

    Examples
    --------
    >>> import numpy as np
    >>> common = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> found = variables_of(common, 10_000)
    >>> [float(variable.predicted[0].round(2)) for variable in found]
    [0.64, 0.64, 0.0]
    """
    values, vectors = np.linalg.eigh(correlation)
    null = vectors[:, values < DEPENDENT]
    together = (np.abs(null @ null.T) > INVOLVED) | exclusive
    _, group = connected_components(together, directed=False)
    groups = [np.flatnonzero(group == which) for which in range(group.max() + 1)]
    return [predict(correlation, columns, n_rows) for columns in groups]


def predict(correlation: Array, columns: Indices, n_rows: int) -> Variable:
    """Find what the other columns predict of some columns, by canonical correlations.

    Directions of these columns are those of their canonical correlations.
    """
    others = np.delete(np.arange(len(correlation)), columns)
    forward, backward = unit_directions(correlation[np.ix_(columns, columns)])
    onto, _ = unit_directions(correlation[np.ix_(others, others)])
    cross = forward.T @ correlation[np.ix_(columns, others)] @ onto
    shares, turn = np.linalg.eigh(cross @ cross.T)
    explained = explained_of_new(shares, n_rows, onto.shape[1])
    predicted = np.clip(explained, 0, LARGEST_SHARE)
    return Variable(columns, forward @ turn, turn.T @ backward, predicted)


def unit_directions(covariance: Array) -> tuple[Array, Array]:
    """Map to uncorrelated directions of unit variance, where there is any, and back.

    Directions without variance are left out, so that both maps are exact inverses on
    the others. A ridge (`geometry.whiten`) or a floor (`likelihood`) would shrink
    weak directions, and with them the shares that are predicted.
    """
    values, vectors = np.linalg.eigh(covariance)
    there = values > DEPENDENT
    scales = np.sqrt(values[there])
    return vectors[:, there] / scales, (vectors[:, there] * scales).T


def weights_of(variables: list[Variable]) -> Array:
    """Map that scales columns by how well others predict them, compared with the usual.

    Factor analysis divides columns by what others do not predict of them, so that their
    variance is R² / (1 − R²) (Harris 1962). Nearly equal columns would then be all that
    counts; so no variance rises: it is multiplied by these odds over their median.
    """
    odds = [each.predicted / (1 - each.predicted) for each in variables]
    usual = np.median([values.max() for values in odds])
    d = sum(len(each.columns) for each in variables)
    weights = np.zeros((d, d))
    for each, values in zip(variables, odds, strict=True):
        scales = np.sqrt(np.minimum(values / usual, 1))
        block = np.ix_(each.columns, each.columns)
        weights[block] = each.forward * scales @ each.backward
    return weights
