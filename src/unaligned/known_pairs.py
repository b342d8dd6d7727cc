"""What is known of the correspondence of views: ``aligned``, checked, as pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from unaligned.alignment import Alignment
from unaligned.kernels.matching import honour
from unaligned.views import Views, label

__all__ = [
    "KnownPairs",
    "are_row_numbers",
    "check_aligned",
    "check_links",
    "name_row",
    "pairs_by_name",
]

_ALIGNED_FORMS = (
    "Use None (nothing known), 'all', an int p (the first p rows of all views "
    "correspond), a boolean mask, or {(i, j): pairs of rows}."
)


@dataclass(frozen=True)
class KnownPairs:
    """What is known of the correspondence between views.

    ``identities[i][r]`` is the number of the object that row r of view i is known to
    describe, -1 where nothing is known. Rows of two views with one number are a pair.
    """

    identities: list[NDArray[np.intp]]
    given: "KnownPairs | None" = None
    """Those that were given, where more were found. None: all were given."""
    found: Alignment | None = None
    """The alignment that the others come from."""

    def between(self, i: int, j: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of view i and rows of view j that are known to be pairs."""
        rows_i = np.flatnonzero(self.identities[i] >= 0)
        rows_j = np.flatnonzero(self.identities[j] >= 0)
        _, at_i, at_j = np.intersect1d(
            self.identities[i][rows_i],
            self.identities[j][rows_j],
            assume_unique=True,
            return_indices=True,
        )
        return rows_i[at_i], rows_j[at_j]

    def partnered(self, i: int, j: int) -> NDArray[np.intp]:
        """Rows of view j whose row of view i is known; all rows if i is j itself."""
        if i == j:
            return np.arange(len(self.identities[j]))
        return self.between(i, j)[1]

    def honoured(
        self, permutation: NDArray[np.intp], i: int, j: int
    ) -> NDArray[np.intp]:
        """Bring known partners together in a permutation of view i beside view j.

        Entry s of the permutation is the row of view i beside row s of view j. Rows
        that are no known partners keep their sequence.
        """
        return honour(permutation, self.between(i, j))

    def with_found(self, found: Alignment) -> "KnownPairs":
        """Add rows that an alignment matched, where nothing was known before."""
        pairs = self._with_group(found)
        for group in found.others:
            pairs = pairs._with_group(group)
        return KnownPairs(pairs.identities, self, found)

    def _with_group(self, group: Alignment) -> "KnownPairs":
        """Add the pairs of those views whose rows are matched to one template."""
        template = group.template
        numbers = self.identities[template].copy()
        unknown = numbers < 0
        first = 1 + max(int(ids.max(initial=-1)) for ids in self.identities)
        numbers[unknown] = first + np.flatnonzero(unknown)
        identities = [ids.copy() for ids in self.identities]
        identities[template] = numbers
        for i in group.matched():
            if i != template:
                rows_t, rows_i = group.pairs(template, i).T
                new = (self.identities[i][rows_i] < 0) & ~np.isin(
                    numbers[rows_t], self.identities[i]
                )
                identities[i][rows_i[new]] = numbers[rows_t[new]]
        return KnownPairs(identities)


def check_aligned(aligned: Any, views: Views) -> KnownPairs:
    """Turn any form of ``aligned`` into known pairs.

    Parameters
    ----------
    aligned : None, "all", int, boolean mask or dict
        Nothing; every row; the first p rows of all views; the rows where the mask is
        True; or ``{(i, j): pairs}`` with rows of view i and of view j in two columns,
        views given by index or by name.
    views : Views

    Returns
    -------
    KnownPairs

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.views import check_views
    >>> views = check_views([np.eye(3), np.ones((3, 2))])
    >>> check_aligned({(0, 1): [(2, 0)]}, views).between(0, 1)
    (array([2]), array([0]))
    """
    if aligned is None:
        return _same_rows(np.zeros(max(views.n_rows), dtype=bool), views)
    if isinstance(aligned, str):
        if aligned != "all":
            raise ValueError(f"aligned={aligned!r} is not known. {_ALIGNED_FORMS}")
        _need_equal_rows("aligned='all'", views)
        return _same_rows(np.ones(views.n_rows[0], dtype=bool), views)
    if isinstance(aligned, Mapping):
        return _pairs_by_view(aligned, views)
    if isinstance(aligned, Integral) and not isinstance(aligned, bool | np.bool_):
        aligned = int(aligned)
        if not 0 <= aligned <= min(views.n_rows):
            raise ValueError(
                f"aligned={aligned} says that the first {aligned} rows of all views "
                f"correspond, but the views have {views.n_rows} rows. Give an int "
                f"between 0 and {min(views.n_rows)}."
            )
        return _same_rows(np.arange(max(views.n_rows)) < aligned, views)
    try:
        mask = np.asarray(aligned)
    except ValueError:  # lists of different length
        mask = np.empty(0)
    if mask.ndim == 1 and mask.dtype == bool:
        _need_equal_rows("a boolean mask as aligned", views)
        if mask.size != views.n_rows[0]:
            raise ValueError(
                f"The mask aligned has {mask.size} entries, but the views have "
                f"{views.n_rows[0]} rows. Give one True or False per row."
            )
        return _same_rows(mask, views)
    if isinstance(aligned, float):
        raise TypeError(
            f"aligned={aligned!r} is a share; a number of rows is needed, as in "
            f"aligned=int({aligned!r} * n_rows) when those rows come first."
        )
    raise TypeError(
        f"aligned is of type {type(aligned).__name__}, which is not known. "
        f"{_ALIGNED_FORMS}"
    )


def check_links(links: Mapping[Any, Any], views: Views, name: str) -> NDArray[np.intp]:
    """Check ``{(i, j): pairs}``; a row may have any number of partners.

    Parameters
    ----------
    links : mapping
        Keys are two views, by index or by name; values are rows of the one and of the
        other in two columns.
    views : Views
    name : str
        What the user calls these links, for complaints.

    Returns
    -------
    ndarray of shape (n_links, 2)
        Both ends of every link, with the rows of all views numbered through.

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.views import check_views
    >>> views = check_views([np.eye(3), np.ones((3, 2))])
    >>> check_links({(0, 1): [(2, 0), (2, 1)]}, views, "must_link")
    array([[2, 3],
           [2, 4]])
    """
    start = np.concatenate([[0], np.cumsum(views.n_rows)])
    ends = [np.empty((0, 2), dtype=np.intp)]
    for key, pairs in links.items():
        between = _view_indices(key, views, name)
        ends.append(_check_pairs(key, pairs, between, views, name) + start[[*between]])
    return np.concatenate(ends)


def pairs_by_name(one: Sequence[str], other: Sequence[str]) -> NDArray[np.intp]:
    """Rows of two views that have one name, in two columns.

    Examples
    --------
    >>> pairs_by_name(["ann", "bob"], ["bob", "eve"])
    array([[1, 0]])
    """
    rows = {name: row for row, name in enumerate(other)}
    shared = [(row, rows[name]) for row, name in enumerate(one) if name in rows]
    return np.array(shared, dtype=np.intp).reshape(-1, 2)


def are_row_numbers(names: Sequence[str]) -> bool:
    """Whether names are those that libraries give to rows which nobody has named.

    Two views with such names say nothing about their correspondence.

    Examples
    --------
    >>> are_row_numbers(["0", "1", "2"]), are_row_numbers(["2", "0", "1"])
    (True, False)
    """
    return all(name == str(row) for row, name in enumerate(names))


def name_row(row: int, views: Views) -> str:
    """How complaints call a row where the rows of all views are numbered through.

    Examples
    --------
    >>> import numpy as np
    >>> from unaligned.views import check_views
    >>> name_row(4, check_views([np.eye(3), np.ones((3, 2))]))
    'row 1 of view 1'
    """
    view = int(np.searchsorted(np.cumsum(views.n_rows), row, side="right"))
    return f"row {row - sum(views.n_rows[:view])} of {label(views.names[view])}"


def _need_equal_rows(what: str, views: Views) -> None:
    if len(set(views.n_rows)) > 1:
        raise ValueError(
            f"{what} needs views with equally many rows, but they have {views.n_rows}. "
            "Give the pairs as {(i, j): pairs of rows}."
        )


def _same_rows(mask: NDArray[np.bool_], views: Views) -> KnownPairs:
    """Pair the rows of equal index where the mask is True."""
    numbers = np.where(mask, np.arange(mask.size), -1).astype(np.intp)
    return KnownPairs([numbers[:n] for n in views.n_rows])


def _pairs_by_view(aligned: Mapping[Any, Any], views: Views) -> KnownPairs:
    """Give rows that any chain of pairs joins one object number."""
    ends = check_links(aligned, views, "aligned")
    n = sum(views.n_rows)
    graph = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), (n, n))
    _, objects = connected_components(graph, directed=False)
    known = np.zeros(n, dtype=bool)
    known[ends.ravel()] = True
    numbers = np.where(known, objects, -1).astype(np.intp)
    identities = np.split(numbers, np.cumsum(views.n_rows)[:-1])
    for name, ids in zip(views.names, identities, strict=True):
        found, counts = np.unique(ids[ids >= 0], return_counts=True)
        if (counts > 1).any():
            rows = np.flatnonzero(ids == found[counts > 1][0])[:2]
            raise ValueError(
                f"The pairs in aligned contradict each other: they make rows {rows[0]} "
                f"and {rows[1]} of {label(name)} the same object. Every row can have "
                "one partner in each view."
            )
    return KnownPairs(identities)


def _view_indices(key: Any, views: Views, name: str) -> tuple[int, int]:
    index: dict[Any, int] = {name: i for i, name in enumerate(views.names)}
    index |= {i: i for i in range(len(views))}
    if not (isinstance(key, tuple) and len(key) == 2 and all(k in index for k in key)):
        raise ValueError(
            f"{name} has the key {key!r}. Keys are two views, as in (0, 1); the views "
            f"are {views.names}."
        )
    i, j = index[key[0]], index[key[1]]
    if i == j:
        raise ValueError(f"{name} has the key {key!r}, a view and itself.")
    return i, j


def _check_pairs(
    key: Any, pairs: Any, between: tuple[int, int], views: Views, name: str
) -> NDArray[np.intp]:
    rows = np.asarray(pairs)
    if rows.size == 0:
        return np.empty((0, 2), dtype=np.intp)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"{name}[{key!r}] must be integer pairs of shape (n_pairs, 2), got "
            f"{rows.dtype} of shape {rows.shape}."
        )
    for side, i in enumerate(between):
        outside = rows[(rows[:, side] < 0) | (rows[:, side] >= views.n_rows[i]), side]
        if outside.size:
            raise ValueError(
                f"{name}[{key!r}] names row {outside[0]} of {label(views.names[i])}, "
                f"which has rows 0 to {views.n_rows[i] - 1}."
            )
    return rows.astype(np.intp)
