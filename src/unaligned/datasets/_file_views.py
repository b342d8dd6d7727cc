"""Views out of several files, put together."""

import warnings
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.datasets.readers.contents import FileView
from unaligned.known_pairs import are_row_numbers, pairs_by_name

__all__ = ["FileViews", "different_names", "in_precision", "set_aside", "shared_ids"]


class FileViews(NamedTuple):
    """Views read from files, ready for ``fit(data.Xs, aligned=data.aligned)``."""

    Xs: list[Any]
    """The numbers, rows × columns: arrays or sparse matrices."""
    view_names: list[str]
    """A name for each view, all different."""
    row_ids: list[list[str]]
    """What each view calls its rows; ``"0"``, ``"1"``, … where it has no ids."""
    has_ids: list[bool]
    """Whether those ids come from the file."""
    feature_names: list[list[str] | None]
    """What each view calls its columns, if anything."""
    other_columns: list[dict[str, NDArray[Any]]]
    """One value per row each: text, dates, classes and columns left out."""
    aligned: dict[tuple[int, int], NDArray[np.intp]] | None
    """Known pairs, for each two views their rows in two columns; None without any."""
    paths: list[Path]
    """The file of each view."""
    id_columns: list[str | None]
    """The column that the ids of each view come from, if it is one."""
    are_tables: list[bool]
    """Whether each view is a table, with columns of different kinds."""
    excluded: list[tuple[str, ...]]
    """Names of the other columns of each view that ``exclude`` left out."""

    def view(self, i: int) -> FileView:
        """One of the views, as `read_view` gives it.

        Parameters
        ----------
        i : int
            Index of the view.

        Returns
        -------
        FileView
        """
        return FileView(
            self.view_names[i],
            self.Xs[i],
            self.row_ids[i] if self.has_ids[i] else None,
            self.feature_names[i],
            self.other_columns[i],
            self.id_columns[i],
            self.are_tables[i],
            self.excluded[i],
        )


def set_aside(view: FileView, columns: tuple[str | int, ...]) -> FileView:
    """Take columns out of a view, if its reader has left them in, and name them."""
    names = view.feature_names or []
    out = [i for i, name in enumerate(names) if name in columns]
    others = view.other_columns
    if out:
        taken = view.X[:, out].toarray() if sparse.issparse(view.X) else view.X[:, out]
        others = others | {names[i]: taken[:, at] for at, i in enumerate(out)}
        kept = np.delete(np.arange(len(names)), out)
        view = view._replace(X=view.X[:, kept], feature_names=[names[i] for i in kept])
    excluded = tuple(name for name in others if name in columns)
    return view._replace(other_columns=others, excluded=excluded)


def in_precision(view: FileView, dtype: Any) -> FileView:
    """Give a dense, real view the precision asked for."""
    X = view.X
    if dtype is None or sparse.issparse(X) or X.dtype.kind == "c":
        return view
    return view._replace(X=X.astype(dtype, copy=False))


def different_names(views: list[tuple[Path, FileView]]) -> list[str]:
    """Names of the views; with their files', or numbered, where two are the same."""
    names = [view.name for _, view in views]
    if len(set(names)) < len(names):
        stems = [path.name.split(".")[0] for path, _ in views]
        names = [
            name if name == stem else f"{stem}:{name}"
            for name, stem in zip(names, stems, strict=True)
        ]
    return [
        name if name not in names[:i] else f"{name} ({i})"
        for i, name in enumerate(names)
    ]


def shared_ids(
    views: list[tuple[Path, FileView]], match_ids: bool
) -> dict[tuple[int, int], NDArray[np.intp]]:
    """Pairs of rows that have the same id, where that means something."""
    ids = [view.row_ids or [] for _, view in views]
    numbered = [are_row_numbers(own) for own in ids]
    paths = [path for path, _ in views]
    pairs, silent = {}, set()
    for i, j in combinations(range(len(views)), 2):
        in_one = paths[i] == paths[j] and paths[i].suffix.lower() == ".h5mu"
        if in_one and numbered[i] and numbered[j] and not match_ids:
            silent.add(paths[i])
        elif match_ids or in_one:
            shared = pairs_by_name(ids[i], ids[j])
            if len(shared):
                pairs[i, j] = shared
    for path in sorted(silent):
        warnings.warn(
            f"{path}: the names of the rows are just row numbers in two modalities or "
            "more, and no pair is taken from them. If rows of one number are the same "
            "object, say match_ids=True.",
            UserWarning,
            stacklevel=3,
        )
    return pairs
