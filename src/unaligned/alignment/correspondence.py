"""The class `Alignment`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unaligned.alignment.parts import PROMISING, TRUSTED, check_parts
from unaligned.alignment.tables import TablesMixin, matches_of
from unaligned.alignment.text import describe, to_html

__all__ = ["Alignment"]

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Alignment(TablesMixin):
    """A correspondence between the rows of several views and those of a template.

    Parameters
    ----------
    template : int
        The view whose row order the others are brought into.
    permutations : list of ndarray of int
        ``permutations[i][s]`` is the row of view i matched to row s of the template,
        -1 where it has no partner.
    confidence : list of ndarray of float
        ``confidence[i][s]`` in [0, 1]: how sure this one match is, among its rivals. Of
        `unaligned.align` and `unaligned.SAVuC` it is the probability that the match is
        right, if the views belong together. One for a known pair.
    trust : ndarray of float
        ``trust[i]`` in [0, 1]: probability that the correspondence which the verdict
        names is right; where the verdict is "none", that of the one which came nearest,
        below 0.5. NaN where nothing was tested. One for the template.
    view_names : list of str
        Names of the views; their indices by default.
    others : list of Alignment
        Further groups of views that belong together, though not with the template.
        Each has a template of its own. Mostly there are none.
    verdict : list of {"objects", "classes", "none", "untested"}
        What corresponds, per view. "objects": rows are matched one by one. "classes":
        groups of rows correspond and clusters have common names, but rows have no
        partners except known ones. "none": nothing that can be trusted was found.
        "untested": the method has no test of its own. By default it follows from trust:
        "objects" from 0.5 on, "untested" where it is NaN, else "none".
    basis : list of {"structure", "known pairs"}
        What the verdict rests on: what was found in the data, or the pairs that were
        given. Default: structure.
    known : ndarray of float
        ``known[i]`` in [0, 1]: share of the template's rows whose partner in view i was
        given. It has no part in trust. Default: zero, one for the template.
    suspects : dict
        ``{(i, j): pairs}``: known pairs that the data contradict, rows of view i and
        rows of view j in two columns.
    n_rows : list of int
        Rows of each view; empty where nobody says it.
    row_ids : list of list of str
        What each view calls its rows, None where they are just numbered. They come from
        the index of data frames, ``obs_names`` and `unaligned.prepare`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [np.array([0, 1, 2]), np.array([2, 0, -1]), np.array([1, 2, 0])]
    >>> sure = [np.ones(3)] * 3
    >>> alignment = Alignment(0, rows, sure, np.ones(3))
    >>> alignment.pairs(1, 2)  # rows of view 1 and of view 2
    array([[2, 1],
           [0, 2]])
    >>> alignment.verdict
    ['objects', 'objects', 'objects']
    """

    template: int
    permutations: list[Indices]
    confidence: list[NDArray[np.float64]]
    trust: NDArray[np.float64]
    view_names: list[str] = field(default_factory=list)
    others: list["Alignment"] = field(default_factory=list)
    verdict: list[str] = field(default_factory=list)
    basis: list[str] = field(default_factory=list)
    known: NDArray[np.float64] = None  # type: ignore[assignment]
    suspects: dict[tuple[int, int], Indices] = field(default_factory=dict)
    n_rows: list[int] = field(default_factory=list)
    row_ids: list[list[str] | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_views = len(self.permutations)
        defaults = {
            "view_names": [str(i) for i in range(n_views)],
            "basis": ["structure"] * n_views,
            "known": (np.arange(n_views) == self.template).astype(np.float64),
        }
        for name, default in defaults.items():
            given = getattr(self, name)
            if given is None or not len(given):
                object.__setattr__(self, name, default)
        check_parts(self)
        if not vars(self)["verdict"]:
            del vars(self)["verdict"]  # until somebody asks, see below

    if not TYPE_CHECKING:  # for which any attribute would be there

        def __getattr__(self, name: str) -> Any:
            # Of a verdict that was not given. It is made when it is asked for, because
            # trust may be filled in until then.
            if name != "verdict":
                raise AttributeError(f"Alignment has no attribute {name!r}.")
            untested, trusted = np.isnan(self.trust), self.trust >= TRUSTED
            verdict = np.select([trusted, untested], ["objects", "untested"], "none")
            verdict[self.template] = "objects"
            vars(self)["verdict"] = verdict.tolist()
            return vars(self)["verdict"]

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
        return matches_of(self, self.index_of(i), self.index_of(j))[0]

    def trusted(self, at_least: float = TRUSTED) -> list[int]:
        """List the views that can be trusted, the template among them.

        Of some of them only the classes may correspond; `matched` leaves these out.

        Parameters
        ----------
        at_least : float, default=0.5
            Smallest trust of a view that is listed.

        Returns
        -------
        list of int
        """
        return [int(i) for i in np.flatnonzero(self.trust >= at_least)]

    def matched(self) -> list[int]:
        """List the views whose rows are matched one by one, the template among them.

        Returns
        -------
        list of int
            Views whose verdict is "objects".
        """
        return [i for i, verdict in enumerate(self.verdict) if verdict == "objects"]

    def promising(self) -> list[int]:
        """List the views that are not matched, though something speaks for it.

        Their verdict is "none". Held-out rows gave more evidence for the best matching
        that was found than for any other, but too little to trust it. Search longer, or
        name some pairs.

        Returns
        -------
        list of int

        Examples
        --------
        >>> import numpy as np
        >>> rows = [np.arange(2), np.array([-1, -1]), np.array([-1, -1])]
        >>> alignment = Alignment(0, rows, [np.ones(2)] * 3, np.array([1, 0.3, 0.001]))
        >>> alignment.promising()
        [1]
        """
        apart = {i for group in self.others for i in group.trusted()}
        return [
            i
            for i in range(self.n_views)
            if self.verdict[i] == "none" and self.basis[i] == "structure"
            if PROMISING <= self.trust[i] < TRUSTED and i not in apart
        ]

    def trusted_pairs(
        self, at_least: float = TRUSTED
    ) -> dict[tuple[int, int], Indices]:
        """Pairs that can be relied on, ready to be passed on as ``aligned``.

        Parameters
        ----------
        at_least : float, default=0.5
            Smallest trust of a view whose matches are given.

        Returns
        -------
        dict
            ``{(template, i): pairs}``: all pairs of views whose verdict is "objects",
            and of other views those that were known, if there are any. The same for
            ``others``.

        Examples
        --------
        >>> import numpy as np
        >>> rows = [np.arange(2), np.array([1, 0]), np.array([-1, -1])]
        >>> alignment = Alignment(0, rows, [np.ones(2)] * 3, np.array([1, 0.9, 0.1]))
        >>> alignment.trusted_pairs()
        {(0, 1): array([[0, 1],
               [1, 0]])}
        """
        found = {}
        for group in (self, *self.others):
            matched = {*group.matched()} & {*group.trusted(at_least)}
            members = range(self.n_views) if group is self else group.trusted()
            for i in members:
                rows, is_known = group.permutations[i], group.confidence[i] == 1
                is_known &= group.known[i] > 0
                sound = np.flatnonzero((rows >= 0) & (is_known | (i in matched)))
                if i != group.template and sound.size:
                    found[group.template, i] = np.column_stack([sound, rows[sound]])
        return found

    def with_rows(
        self, n_rows: Sequence[int], ids: Sequence[Sequence[str] | None]
    ) -> "Alignment":
        """Give the same alignment with names of the rows.

        Parameters
        ----------
        n_rows : sequence of int
            Rows of each view.
        ids : sequence of sequences of str
            Names of the rows of each view; None where they are just numbered.

        Returns
        -------
        Alignment
        """
        row_ids = [None if names is None else [*map(str, names)] for names in ids]
        rows = {"n_rows": [*map(int, n_rows)], "row_ids": row_ids}
        others = [replace(group, **rows) for group in self.others]  # type: ignore[arg-type]
        return replace(self, **rows, others=others)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        """Table of the views for notebooks."""
        return to_html(self)

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
