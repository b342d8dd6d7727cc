"""Gains: how much more alike partners are than closeness explains.

Some directions find the partner of a row, and others judge it. Two shapes may agree
although no row of one is a row of the other; then a row near in the directions that
find is alike in those that judge, too. Two comparisons show how much of it is so: with
the runners-up, and with neighbours within a view, no two of which are one object.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unaligned.kernels.neighbors import top_products
from unaligned.kernels.scaling import unit_rows

__all__ = ["FEWEST_TESTED", "gains_of_split", "splits_of"]

Array = NDArray[Any]
Indices = NDArray[np.intp]

N_PARTS = 3  # parts of the directions, each of which judges what the others find
FEWEST_TESTED = 3  # mutual best pairs that a mean and a slope are taken of
TINY = 1e-12  # keeps a slope finite where candidates are equally near


def splits_of(
    n_directions: int, n_splits: int, rng: np.random.RandomState
) -> Iterator[NDArray[np.bool_]]:
    """Split directions at random: those that find partners are True, the rest judge.

    Of every three consecutive canonical directions, two find partners and one judges
    them, each in turn.
    """
    r = n_directions
    for _ in range(n_splits):
        shifts = rng.randint(N_PARTS, size=r // N_PARTS + 1)
        part = (np.arange(r) + np.repeat(shifts, N_PARTS)[:r]) % N_PARTS
        for judging in range(N_PARTS):
            finding = part != judging
            if 0 < finding.sum() < r:
                yield finding


def gains_of_split(
    weighted: tuple[Array, Array],
    judging: NDArray[np.bool_],
    n_tested: int,
    n_runners_up: int,
    finders: tuple[Array, Array] | None = None,
    surroundings: tuple[Indices, Indices] | None = None,
) -> tuple[Indices, Array]:
    """Gains of partners over runners-up in the directions that did not find them.

    A row's place is where it is along the directions that find. Of two rows at one
    place the judging directions may agree without their being one object. So a row is
    compared with those around it in its own view first, and what is still more alike
    the nearer two rows are is taken out.

    Parameters
    ----------
    weighted : (ndarray of shape (n, r), ndarray of shape (m, r))
        Rows of either view along all directions. The first ``n_tested`` are tested; the
        others take part as candidates.
    judging : ndarray of bool of shape (r,)
    n_tested, n_runners_up : int
    finders : pair of ndarrays, optional
        Vectors whose products say which rows are partners; by default unit vectors
        along the directions that find.
    surroundings : pair of ndarrays of int, optional
        Rows of either view among which neighbours are looked for; by default all.

    Returns
    -------
    tested : ndarray of int
        Rows with a mutual best partner.
    gains : ndarray of float
    """
    places = tuple(unit_rows(side[:, ~judging]) for side in weighted)
    rows, others = finders or places
    ranked, _ = top_products(rows[:n_tested], others, n_runners_up + 1)
    best, _ = top_products(others[ranked[:, 0]], rows, 1)
    tested = np.flatnonzero(best[:, 0] == np.arange(n_tested))
    if len(tested) < FEWEST_TESTED:
        return np.empty(0, dtype=np.intp), np.empty(0)
    candidates, at = np.unique(ranked[tested], return_inverse=True)
    at = at.reshape(len(tested), -1)
    among = surroundings or tuple(np.arange(len(side)) for side in places)
    judged = (side[:, judging] for side in weighted)
    one, other = (
        look_around(*of_view, n_runners_up)
        for of_view in zip(places, judged, (tested, candidates), among, strict=True)
    )
    near = products(places[0][tested], places[1][candidates][at])
    alike = products(one.beyond, other.beyond[at])
    # Likeness rises with closeness among runners-up, and within a view, where no two
    # rows are one object: so much of it is no evidence.
    within = (np.concatenate(both) for both in zip(one[1:], other[1:], strict=True))
    of_runners_up = slope_within_rows(near[:, 1:], alike[:, 1:])
    slope = max(of_runners_up, slope_within_rows(*within), 0.0)
    residual = alike - slope * near
    return tested, residual[:, 0] - residual[:, 1:].mean(axis=1)


class Surroundings(NamedTuple):
    """Rows of a view beside their neighbours in it."""

    beyond: Array
    """What judges see of a row beyond the mean of its neighbours, at unit length."""
    near: Array
    """Closeness of a row's neighbours, in the directions that find."""
    alike: Array
    """Their likeness, in the directions that judge."""


def look_around(
    places: Array,
    judged: Array,
    asked: Indices,
    among: Indices,
    n_neighbors: int,
) -> Surroundings:
    """Compare some rows of a view with those that are nearest to them."""
    nearest, near = top_products(places[asked], places[among], n_neighbors + 1)
    # The nearest is the row itself; that it is averaged over changes no direction.
    around = judged[among][nearest]
    beyond = unit_rows(judged[asked] - around.mean(axis=1))
    neighbours = unit_rows(judged)[among][nearest[:, 1:]]
    alike = products(unit_rows(judged[asked]), neighbours)
    return Surroundings(beyond, near[:, 1:], alike)


def products(rows: Array, others: Array) -> Array:
    """Inner products of every row with several others of its own."""
    return np.einsum("id,ikd->ik", rows, others)


def slope_within_rows(x: Array, y: Array) -> float:
    """Slope of y on x, one for all rows of the tables, each about its mean."""
    centred = x - x.mean(axis=1, keepdims=True)
    return float(np.vdot(centred, y) / max(np.vdot(centred, centred), TINY))
