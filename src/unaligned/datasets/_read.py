"""Views from the files that people have."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unaligned.datasets._file_views import (
    FileViews,
    different_names,
    in_precision,
    set_aside,
    shared_ids,
)
from unaligned.datasets.readers.contents import (
    DataFileError,
    FileView,
    Options,
    listed,
)
from unaligned.datasets.readers.delimited import read_delimited
from unaligned.datasets.readers.hdf5 import SIGNATURE, read_anndata, read_mudata
from unaligned.datasets.readers.matlab import read_matlab
from unaligned.datasets.readers.numpy_files import read_npy, read_npz
from unaligned.datasets.readers.parquet import read_parquet
from unaligned.plain_files import check_plain

__all__ = ["FileViews", "read_view", "read_views"]

PathLike = str | os.PathLike[str]
IdColumn = str | int | bool | None
Reader = Callable[[Path, Options], list[FileView]]

READERS: dict[str, tuple[str, Reader]] = {
    ".csv": ("a table of text", read_delimited),
    ".tsv": ("a table of text", read_delimited),
    ".tab": ("a table of text", read_delimited),
    ".txt": ("a table of text", read_delimited),
    ".parquet": ("a Parquet file", read_parquet),
    ".pq": ("a Parquet file", read_parquet),
    ".npy": ("a NumPy array", read_npy),
    ".npz": ("a NumPy archive", read_npz),
    ".mat": ("a MATLAB file", read_matlab),
    ".h5ad": ("an AnnData file", read_anndata),
    ".h5mu": ("a MuData file", read_mudata),
}
# What files of a format begin with, whatever they are called.
BEGINNINGS = {
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"PK\x03\x04": "a NumPy archive",
    b"MATLAB 5.0 MAT": "a MATLAB file",
}


def read_view(path: PathLike, **options: Any) -> FileView:
    r"""Read one view from a file.

    Parameters
    ----------
    path : path
        A file in one of the formats that `read_views` describes.
    **options
        The same as for `read_views`. A file with several views needs ``view``.

    Returns
    -------
    FileView
        A named tuple: ``name``, ``X``, ``row_ids`` (None where the file has none),
        ``feature_names`` (None likewise) and ``other_columns``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "people.csv")
    >>> _ = file.write_text("id,age,city\nann,31,Rome\nbob,25,Oslo\n")
    >>> people = read_view(file)
    >>> people.X, people.row_ids, people.feature_names
    (array([[31.],
           [25.]]), ['ann', 'bob'], ['age'])
    >>> people.other_columns
    {'city': array(['Rome', 'Oslo'], dtype=object)}
    """
    read_with = Options(**options)
    views = read_file(path, read_with)
    found = [(Path(path), view) for view in views]
    _check_excluded(found, read_with.exclude, {read_with.id_column})
    if len(views) > 1:
        names = [view.name for view in views]
        raise DataFileError(
            f"{path} holds {len(views)} views; choose one with view= (one of {names}), "
            "or read them all with read_views."
        )
    return views[0]


def read_views(
    paths: PathLike | Sequence[PathLike],
    *,
    view: str | None = None,
    id_column: IdColumn | Sequence[IdColumn] = None,
    exclude: Sequence[str | int] = (),
    match_ids: bool = False,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    dtype: Any = None,
    mmap: bool = False,
    use_rep: str | None = None,
    layer: str | None = None,
) -> FileViews:
    r"""Read views from files, several formats together if need be.

    Parameters
    ----------
    paths : path or sequence of paths
        Files with one view or several:

        - ``.csv``, ``.tsv``, ``.tab``, ``.txt``, also ``.gz``: a table of text;
        - ``.parquet``, ``.pq``: a table, also with lists of numbers (extra ``io``);
        - ``.npy``: a matrix;
        - ``.npz``: a matrix, several, a sparse one as SciPy writes it, or the form
          that `load` describes;
        - ``.mat``: a matrix, several, or a cell array of them (version 7.3 needs the
          extra ``io``);
        - ``.h5ad``, ``.h5mu``: AnnData, and MuData with its modalities as views (extra
          ``io``).
    view : str, default=None
        Of files with several views, the one to read. For ``.h5ad``, another matrix
        than ``X``, such as ``"obsm/X_pca"``.
    id_column : str, int, bool, None or a list of them, default=None
        Column with the ids of the rows, by name or position. None: a column with a
        telling name, or a first column of text; False: rows have no ids. A list has one
        for each path.
    exclude : sequence of str or int, default=()
        Columns that are no features. They are among ``other_columns``. Names need not
        occur in every file.
    match_ids : bool, default=False
        Whether equal ids in different files mean the same object, and so a known pair.
        In one MuData file they do in any case, unless they are just row numbers.
    header : bool, default=None
        Whether the first row of a table of text names the columns. None: find out.
    delimiter : str, default=None
        What stands between the fields of a table of text. None: find out.
    encoding : str, default="utf-8"
        Encoding of tables of text.
    dtype : {None, numpy.float32, numpy.float64}, default=None
        Precision of dense views. None: as in the file, float64 from text.
    mmap : bool, default=False
        Whether to leave ``.npy`` files on disk and read what is needed of them.
    use_rep, layer : str, default=None
        Of AnnData and MuData files, the key of ``obsm`` or of ``layers`` to read
        instead of ``X``.

    Returns
    -------
    FileViews
        A named tuple: ``Xs``, ``view_names``, ``row_ids``, ``has_ids``,
        ``feature_names``, ``other_columns``, ``aligned`` and ``paths``.

    Raises
    ------
    DataFileError
        A ValueError that names the file, what is wrong with it, and the way out.

    Notes
    -----
    Nothing in a file is executed, and a file that declares more than it holds or than
    fits into memory is refused before memory is taken for it. HDF5 is read in a process
    of its own, because the HDF5 library can crash on damaged files.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "blood.csv").write_text("id,iron\nann,1.5\nbob,2.5\n")
    >>> _ = (folder / "xray.csv").write_text("id,size\nbob,7\neve,8\n")
    >>> data = read_views([folder / "blood.csv", folder / "xray.csv"], match_ids=True)
    >>> data.view_names, data.aligned
    (['blood', 'xray'], {(0, 1): array([[1, 0]])})
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        raise DataFileError("No file is named; name at least one.")
    ids = _per_file(id_column, len(paths))
    aside = tuple(exclude)
    form = (header, delimiter, encoding, dtype, mmap, use_rep, layer)
    options = [Options(view, column, aside, *form) for column in ids]
    files = [
        (Path(path), read_file(path, each))
        for path, each in zip(paths, options, strict=True)
    ]
    views = [(path, view) for path, views in files for view in views]
    _check_excluded(views, aside, {*ids})
    named = [view.row_ids is not None for _, view in views]
    return FileViews(
        Xs=[view.X for _, view in views],
        view_names=different_names(views),
        row_ids=[
            view.row_ids or [str(row) for row in range(view.X.shape[0])]
            for _, view in views
        ],
        has_ids=named,
        feature_names=[view.feature_names for _, view in views],
        other_columns=[view.other_columns for _, view in views],
        aligned=shared_ids(views, match_ids) or None,
        paths=[path for path, _ in views],
        id_columns=[view.id_column for _, view in views],
        are_tables=[view.is_table for _, view in views],
        excluded=[view.excluded for _, view in views],
    )


def _per_file(id_column: IdColumn | Sequence[IdColumn], n_files: int) -> list[IdColumn]:
    """One column of ids for each file."""
    if id_column is None or isinstance(id_column, str | int):
        return [id_column] * n_files
    if len(id_column) != n_files:
        raise ValueError(
            f"id_column lists {len(id_column)} columns, but there are {n_files} files."
        )
    return [*id_column]


def read_file(path: PathLike, options: Options) -> list[FileView]:
    """All views in a file; whatever is wrong with it becomes one kind of error."""
    path = Path(path)
    if options.dtype is not None and np.dtype(options.dtype) not in (
        np.dtype(np.float32),
        np.dtype(np.float64),
    ):
        raise ValueError(f"dtype={options.dtype!r} must be float32, float64 or None.")
    try:
        check_plain(path)
    except ValueError as error:
        raise DataFileError(str(error)) from None
    kind, reader = _find_reader(path)
    try:
        views = [set_aside(view, options.exclude) for view in reader(path, options)]
        return [in_precision(view, options.dtype) for view in views]
    except DataFileError as error:
        raise DataFileError(f"{path}: {error}") from None
    except (FileNotFoundError, ImportError, IsADirectoryError, PermissionError):
        raise
    except MemoryError:
        raise DataFileError(f"{path}: it takes more memory than there is.") from None
    except Exception as error:  # parsers of damaged files raise what they please
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise DataFileError(
            f"{path}: it cannot be read as {kind} ({said[0][:200]}); get it again or "
            "write it anew."
        ) from error


def _check_excluded(
    views: list[tuple[Path, FileView]], exclude: tuple[str | int, ...], ids: set[Any]
) -> None:
    """Complain about a column that is to be left out and that no file has."""
    aside = ids | {name for _, v in views for name in v.other_columns}
    missing = [c for c in exclude if isinstance(c, str) and c not in aside]
    if missing:
        files = dict.fromkeys(str(path) for path, _ in views)
        names = [name for _, v in views for name in v.feature_names or ()]
        names += [name for name in aside if isinstance(name, str)]
        raise DataFileError(
            f"{', '.join(files)}: there is no column {missing[0]!r} to exclude; named "
            f"columns are {listed(dict.fromkeys(names))}."
        )


def _find_reader(path: Path) -> tuple[str, Reader]:
    """Choose the reader by the suffix, unless the content contradicts it."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    text = suffixes[-1:] == [".gz"] and len(suffixes) > 1
    suffix = suffixes[-2] if text else "".join(suffixes[-1:])
    if suffix not in READERS or (text and READERS[suffix][1] is not read_delimited):
        ending = "".join(suffixes[-1 - text :])
        raise DataFileError(
            f"{path}: files {f'ending in {ending!r}' if ending else 'without ending'} "
            f"are not known; save it as .csv (known are {', '.join(READERS)}, .csv.gz)."
        )
    kind, reader = READERS[suffix]
    with open(path, "rb") as file:
        beginning = file.read(16)
    held = [what for bytes_, what in BEGINNINGS.items() if beginning.startswith(bytes_)]
    hdf5 = beginning.startswith(SIGNATURE) and suffix not in (".mat", ".h5ad", ".h5mu")
    if hdf5 or (held and held[0] != kind):
        raise DataFileError(
            f"{path}: it is named as {kind} but holds {held[0] if held else 'HDF5'}; "
            "give it the right suffix."
        )
    return kind, reader
