"""Input of a command: the views of its files, and known pairs."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned.cli._options import NamedFile
from unaligned.cli._outputs import spreadsheet_cell
from unaligned.cli._session import printable
from unaligned.datasets import FileViews, read_views
from unaligned.datasets.readers.contents import listed
from unaligned.known_pairs import KnownPairs, check_aligned
from unaligned.plain_files import check_plain
from unaligned.preparation import Prepared, prepare
from unaligned.views import Views, label

__all__ = [
    "Inputs",
    "complain_of_no_match",
    "joined",
    "prepare_all",
    "read_inputs",
    "read_named",
    "read_pairs",
]

DELIMITERS = ",;\t|"

Pairs = dict[tuple[int, int], NDArray[np.intp]]


class Inputs(NamedTuple):
    """Views of files, and what is known of their rows."""

    data: FileViews
    prepared: list[Prepared]
    """What was made of the columns of each view."""
    known: KnownPairs
    columns: dict[str, list[NDArray[Any] | None]]
    """Columns to colour rows by, one array per view that has them."""

    @property
    def Xs(self) -> dict[str, Any]:
        """The views by name."""
        Xs = [view.X for view in self.prepared]
        return dict(zip(self.data.view_names, Xs, strict=True))

    @property
    def ids(self) -> list[list[str] | None]:
        """Names of the rows in each file; None if there are none."""
        return [
            ids if named else None
            for ids, named in zip(self.data.row_ids, self.data.has_ids, strict=True)
        ]


def read_named(
    files: tuple[NamedFile, ...],
    *,
    id_column: str | int | bool | None,
    impute: str,
    categorical: str,
    dates: str,
    transform: str,
    **reading: Any,
) -> Inputs:
    """Read the files of a command by its options.

    A file may name its own column of ids; ``id_column`` is that of the others.
    """
    own = [id_column if file.id_column is None else file.id_column for file in files]
    preparation = {
        "impute": impute,
        "categorical": categorical,
        "dates": dates,
        "transform": transform,
    }
    paths = tuple(file.path for file in files)
    return read_inputs(paths, id_column=own, preparation=preparation, **reading)


def read_inputs(
    files: tuple[Path, ...],
    *,
    pairs: Path | None = None,
    match_ids: bool = False,
    label_columns: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
    preparation: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> Inputs:
    """Read the views and what is known of them.

    Parameters
    ----------
    files : tuple of paths
    pairs : path, optional
        A table of known pairs, see `read_pairs`.
    match_ids : bool, default=False
        Whether equal ids in different files are known pairs.
    label_columns : tuple of str
        Columns that are no features, to colour rows by.
    exclude : tuple of str
        Columns that are no features.
    keep : tuple of str
        Columns to use as they are, in whichever files have them.
    preparation : mapping
        Further options of `unaligned.prepare`.
    **options
        For `unaligned.datasets.read_views`.

    Returns
    -------
    Inputs
    """
    cells = any(file.suffix.lower() in (".h5ad", ".h5mu") for file in files)
    for option, key in (("--use-rep", "use_rep"), ("--layer", "layer")):
        if options.get(key) is not None and not cells:
            raise click.ClickException(
                f"{option} belongs to AnnData and MuData files, and there is none."
            )
    data = read_views(files, match_ids=match_ids, exclude=exclude, **options)
    data = data._replace(view_names=[printable(name) for name in data.view_names])
    complain_of_no_match(match_ids, data)
    columns = {}
    for name in label_columns:
        data, columns[name] = _take_column(data, name)
    if pairs is not None:
        data = data._replace(aligned=joined(data.aligned, read_pairs(pairs, data)))
    aside = (*exclude, *label_columns)
    prepared = prepare_all(data, keep, exclude=aside, **preparation)
    Xs = [view.X for view in prepared]
    known = check_aligned(data.aligned, Views(Xs, data.view_names))
    return Inputs(data, prepared, known, columns)


def complain_of_no_match(match_ids: bool, data: FileViews) -> None:
    """Refuse to match ids if no id is in two files."""
    if match_ids and not data.aligned:
        raise click.ClickException(
            "--match-ids finds no id that occurs in two files; name the columns with "
            "FILE:COLUMN, or leave --match-ids out."
        )


def prepare_all(
    data: FileViews, keep: tuple[str, ...], **options: Any
) -> list[Prepared]:
    """Prepare all tables; errors name the file."""
    views = [data.view(i) for i in range(len(data.Xs))]
    columns = [{*(view.feature_names or ()), *view.other_columns} for view in views]
    for name in keep:
        if not any(name in known for known in columns):
            raise click.ClickException(
                f"No file has the column {name!r} that --keep asks for; named columns "
                f"are {listed(sorted(set().union(*columns)))}."
            )
    prepared = []
    for i, view in enumerate(views):
        wanted = [name for name in keep if name in columns[i]]
        try:
            prepared.append(prepare(view, keep=wanted, **options))
        except ValueError as error:
            raise ValueError(f"{data.paths[i]}: {error}") from None
    return prepared


def _take_column(
    data: FileViews, name: str
) -> tuple[FileViews, list[NDArray[Any] | None]]:
    """Remove a column from the views that have it."""
    Xs, features = list(data.Xs), list(data.feature_names)
    values: list[NDArray[Any] | None] = [
        others.get(name) for others in data.other_columns
    ]
    for i, (X, named) in enumerate(zip(Xs, features, strict=True)):
        if values[i] is not None or not named or name not in named:
            continue
        at = named.index(name)
        rest = np.delete(np.arange(X.shape[1]), at)
        column = X[:, [at]].toarray() if sparse.issparse(X) else X[:, [at]]
        values[i] = np.asarray(column).ravel()
        Xs[i], features[i] = X[:, rest], [named[j] for j in rest]
    if all(column is None for column in values):
        names = [n for named in features for n in named or ()]
        names += [n for others in data.other_columns for n in others]
        raise click.ClickException(
            f"No file has the column {name!r} that --label-column asks for; named "
            f"columns are {listed(dict.fromkeys(names))}."
        )
    return data._replace(Xs=Xs, feature_names=features), values


def read_pairs(path: Path, data: FileViews) -> Pairs:
    """Read known pairs from a table of text.

    The first line names views, or their files. Every other line names rows of these
    views that describe one object, by their ids, or by their numbers from 0 on; a cell
    may stay empty. One column goes by ids if it holds any.

    Parameters
    ----------
    path : path
    data : FileViews

    Returns
    -------
    dict
        For each two views, their rows in two columns.
    """
    header, lines = _read_table(path, data)
    columns = [
        _rows_of(path, view, [(number, cells[at]) for number, cells in lines], data)
        for at, view in enumerate(header)
    ]
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for rows in zip(*columns, strict=True):
        named = [(v, r) for v, r in zip(header, rows, strict=True) if r is not None]
        for view, row in named[1:]:
            first, its_row = named[0]
            found.setdefault((first, view), []).append((its_row, row))
    if not found:
        raise click.ClickException(
            f"{path} holds no pair; below the names of the views, every line names "
            "rows of two of them or more."
        )
    return {views: np.array(rows, dtype=np.intp) for views, rows in found.items()}


def _read_table(
    path: Path, data: FileViews
) -> tuple[list[int], list[tuple[int, list[str]]]]:
    """Read the view of each column from the first line, and the other lines."""
    check_plain(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise click.ClickException(
            f"{path} is not utf-8 text; write it again as such."
        ) from None
    views = _names_of_views(data)

    def read(text: str, delimiter: str) -> list[list[str]]:
        file = io.StringIO(text, newline="")
        lines = csv.reader(file, delimiter=delimiter, strict=True)
        return [[cell.strip() for cell in line] for line in lines]

    def n_views(delimiter: str) -> int:
        cells = read(text.partition("\n")[0], delimiter)
        return len(views.keys() & {*cells[0]}) if cells else 0

    try:
        lines = read(text, max(DELIMITERS, key=n_views))
    except csv.Error as error:
        raise click.ClickException(f"{path} is no table of text: {error}.") from None
    header = lines[0] if lines else []
    listed = ", ".join(map(repr, data.view_names))
    for name in header:
        if name not in views:
            raise click.ClickException(
                f"{path}: its first line must name views, and {name!r} is none; the "
                f"views are {listed}."
            )
    columns = [views[name] for name in header]
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise click.ClickException(
            f"{path}: its first line must name two different views or more; the views "
            f"are {listed}."
        )
    for number, cells in enumerate(lines[1:], start=2):
        if cells and len(cells) != len(columns):
            raise click.ClickException(
                f"{path}, line {number}: there are {len(cells)} cells, but "
                f"{len(columns)} views."
            )
    return columns, [(n, cells) for n, cells in enumerate(lines, 1) if n > 1 and cells]


def _names_of_views(data: FileViews) -> dict[str, int]:
    """List the names of views, and the names of files that hold one view."""
    views = {name: i for i, name in enumerate(data.view_names)}
    for spell in (str, lambda path: path.name, lambda path: path.stem):
        files = [spell(path) for path in data.paths]
        for i, name in enumerate(files):
            if files.count(name) == 1:
                views.setdefault(name, i)
    return views


def _rows_of(
    path: Path, view: int, cells: list[tuple[int, str]], data: FileViews
) -> list[int | None]:
    """Rows of a view that the cells of a column name."""
    ids = data.row_ids[view]
    rows = {str(row): row for row in range(len(ids))}
    wanted = f"no row number (0 to {len(ids) - 1})"
    if data.has_ids[view]:
        by_id = {spreadsheet_cell(name): row for row, name in enumerate(ids)}
        by_id |= {name: row for row, name in enumerate(ids)}
        no_id = f"no id (such as {ids[0]!r})"
        if any(cell in by_id for _, cell in cells):
            rows, wanted = by_id, no_id
        else:
            wanted = f"{no_id} and {wanted}"
    for number, cell in cells:
        if cell and cell not in rows:
            raise click.ClickException(
                f"{path}, line {number}: {cell!r} is {wanted} of "
                f"{label(data.view_names[view])}."
            )
    return [rows[cell] if cell else None for _, cell in cells]


def joined(one: Pairs | None, other: Pairs) -> Pairs:
    """Join two sets of pairs."""
    joined = dict(one or {})
    for views, rows in other.items():
        before = [joined[views]] if views in joined else []
        joined[views] = np.concatenate([*before, rows])
    return joined
