"""Alignment: which row of which view belongs to which, and how far to trust it."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TRUSTED", "Alignment"]

Indices = NDArray[np.intp]

TRUSTED = 0.5  # the trust from which a view counts as aligned, in all of the library


@dataclass(frozen=True)
class Alignment:
    """A correspondence between the rows of several views, told through one of them.

    Parameters
    ----------
    template : int
        The view whose row order the others are brought into.
    permutations : list of ndarray of int
        ``permutations[i][s]`` is the row of view i matched to row s of the template,
        -1 where it has no partner.
    confidence : list of ndarray of float
        ``confidence[i][s]`` in [0, 1]: how sure this one match is, among its rivals.
    trust : ndarray of float
        ``trust[i]`` in [0, 1]: is the alignment of view i as a whole better than
        chance? One for the template.
    view_names : list of str
        Names of the views; their indices by default.
    others : list of Alignment
        Further groups of views that belong together, though not with the template:
        each is told through one of its own. Mostly there are none.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [np.array([0, 1, 2]), np.array([2, 0, -1]), np.array([1, 2, 0])]
    >>> sure = [np.ones(3)] * 3
    >>> alignment = Alignment(0, rows, sure, np.ones(3))
    >>> alignment.pairs(1, 2)  # rows of view 1 and of view 2
    array([[2, 1],
           [0, 2]])
    """

    template: int
    permutations: list[Indices]
    confidence: list[NDArray[np.float64]]
    trust: NDArray[np.float64]
    view_names: list[str] = field(default_factory=list)
    others: list["Alignment"] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.view_names:
            names = [str(i) for i in range(len(self.permutations))]
            object.__setattr__(self, "view_names", names)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.permutations)

    def pairs(self, i: int | str, j: int | str) -> Indices:
        """List the matched rows of two views; neither need be the template.

        Parameters
        ----------
        i, j : int or str
            Two views, by index or by name.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            Rows of view i and rows of view j, in the order of the template, or of that
            of the group that they are in.
        """
        i, j = self.index_of(i), self.index_of(j)
        of_group = next((g for g in self.others if {i, j} <= {*g.trusted()}), self)
        rows_i, rows_j = of_group.permutations[i], of_group.permutations[j]
        matched = (rows_i >= 0) & (rows_j >= 0)
        return np.column_stack([rows_i[matched], rows_j[matched]])

    def trusted(self, at_least: float = TRUSTED) -> list[int]:
        """List the views that can be trusted, the template among them.

        Parameters
        ----------
        at_least : float, default=0.5
            Smallest trust of a view that is listed.

        Returns
        -------
        list of int
        """
        return [int(i) for i in np.flatnonzero(self.trust >= at_least)]

    def trusted_pairs(
        self, at_least: float = TRUSTED
    ) -> dict[tuple[int, int], Indices]:
        """Pairs of the views that can be trusted, ready to be passed on as ``aligned``.

        Parameters
        ----------
        at_least : float, default=0.5
            Smallest trust of a view whose pairs are given.

        Returns
        -------
        dict
            ``{(template, i): pairs}`` for every trusted view i but the template, and
            the same for ``others``.

        Examples
        --------
        >>> import numpy as np
        >>> rows = [np.arange(2), np.array([1, 0]), np.array([-1, -1])]
        >>> alignment = Alignment(0, rows, [np.ones(2)] * 3, np.array([1, 0.9, 0.1]))
        >>> alignment.trusted_pairs()
        {(0, 1): array([[0, 1],
               [1, 0]])}
        """
        return {
            (group.template, i): group.pairs(group.template, i)
            for group in (self, *self.others)
            for i in group.trusted(at_least)
            if i != group.template
        }

    def to_frame(self) -> Any:
        """All matches as a table, one line per template row and view.

        Returns
        -------
        pandas.DataFrame
            Columns ``template_row``, ``view``, ``row`` (-1: no partner),
            ``confidence`` and ``trust``.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "Alignment.to_frame() needs pandas. Install it with "
                "`pip install unaligned[io]`."
            ) from None
        n = len(self.permutations[self.template])
        others = [i for i in range(self.n_views) if i != self.template]
        return pd.DataFrame(
            {
                "template_row": np.tile(np.arange(n), len(others)),
                "view": np.repeat([self.view_names[i] for i in others], n),
                "row": _join([self.permutations[i] for i in others], int),
                "confidence": _join([self.confidence[i] for i in others], float),
                "trust": np.repeat([self.trust[i] for i in others], n),
            }
        )

    def __repr__(self) -> str:
        trust = ", ".join(
            f"{name}: {value:.2f}"
            for name, value in zip(self.view_names, self.trust, strict=True)
        )
        n = len(self.permutations[self.template])
        apart = "".join(
            f"; apart from it: views {', '.join(self.view_names[i] for i in views)}"
            for views in (group.trusted() for group in self.others)
        )
        return (
            f"Alignment of {self.n_views} views with the {n} rows of view "
            f"{self.view_names[self.template]} (trust {trust}){apart}"
        )

    def _repr_html_(self) -> str:
        """Table of the views for notebooks: how many rows matched, how far to trust."""
        n = len(self.permutations[self.template])
        lines = []
        for i, name in enumerate(self.view_names):
            matched = self.permutations[i] >= 0
            if i == self.template:
                cells = ["template", "", ""]
            else:
                sure = self.confidence[i][matched]
                cells = [
                    f"{matched.sum():,} of {n:,}",
                    f"{np.median(sure):.2g}" if len(sure) else "",
                    f'<meter min="0" max="1" low="0.5" value="{self.trust[i]:.4f}">'
                    f"</meter> {self.trust[i]:.2f}",
                ]
            cells = [escape(name), *cells]
            lines.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
        return (
            "<table><caption>Alignment of "
            f"{self.n_views} views with the {n:,} rows of view "
            f"{escape(self.view_names[self.template])}</caption>"
            "<thead><tr><th>view</th><th>matched rows</th><th>median confidence</th>"
            f"<th>trust</th></tr></thead><tbody>{''.join(lines)}</tbody></table>"
            f"{''.join(group._repr_html_() for group in self.others)}"
        )

    def index_of(self, view: int | str) -> int:
        """Index of a view that is given by index or by name.

        Parameters
        ----------
        view : int or str

        Returns
        -------
        int
        """
        if isinstance(view, str) and view in self.view_names:
            return self.view_names.index(view)
        if not isinstance(view, str) and -self.n_views <= view < self.n_views:
            return int(view) % self.n_views
        raise ValueError(
            f"view {view!r} is none of the {self.n_views} views {self.view_names}."
        )


def _join(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
