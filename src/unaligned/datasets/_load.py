"""Datasets by name: built in, in a file, or to be fetched."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unaligned.datasets._digits import load_digits_views
from unaligned.datasets._download import checksum_matches, download
from unaligned.datasets._read import read_file
from unaligned.datasets._registry import (
    Dataset,
    data_folders,
    download_folder,
    find_dataset,
    local_files,
    paper_datasets,
    plain,
)
from unaligned.datasets.readers.contents import DataFileError, FileView, Options

__all__ = ["fetch", "find_file", "load"]

PathLike = str | os.PathLike[str]


def load(
    name: str,
    data_home: PathLike | None = None,
    *,
    download_if_missing: bool = True,
    quiet: bool = False,
) -> Bunch:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        ``"digits"``, which is built in; one of the six datasets of the paper,
        ``"ProteinFold"``, ``"Wiki"``, ``"Caltech101-20"``, ``"Caltech-101"``,
        ``"Reuters"`` and ``"CIFAR-10"``; or the name of an ``.npz`` or ``.mat`` file
        without its suffix. Case and punctuation do not matter.
    data_home : path, default=None
        Folder with the files, which takes downloads, too. None: the folder
        ``$UNALIGNED_DATA`` and the library's cache folder. Subfolders ``data`` are
        searched as well.
    download_if_missing : bool, default=True
        Whether to fetch a dataset that is in none of the folders.
    quiet : bool, default=False
        Whether to fetch without a progress bar.

    Returns
    -------
    Bunch
        ``Xs`` (list of views), ``y`` (classes; None for unpaired views), ``ys``
        (classes of each view's rows), ``view_names``, ``DESCR`` and, if there is one,
        ``filename``.

    Raises
    ------
    FileNotFoundError
        If there is no such file, with the places searched.
    DownloadError
        An OSError: the dataset could not be fetched, why, and what to do without it.
    DataFileError
        A ValueError: what is wrong with the file.

    Notes
    -----
    An ``.npz`` file holds views ``view0``, ``view1``, … (samples × features) and
    classes ``y``, or ``y_view0``, ``y_view1``, … where the views are unpaired; their
    names, if any, are in ``view_names``. A sparse view is four arrays: ``view0_data``,
    ``view0_indices``, ``view0_indptr`` and ``view0_shape`` (CSR). A ``view0_scale`` is
    multiplied back. A ``.mat`` file holds a cell array ``X`` of views and a vector
    ``Y`` of classes. Files are read with pickle off: one from a stranger can do no more
    than fail.

    Caltech-101 and CIFAR-10 cannot be fetched, because their features are not
    published; ``unaligned datasets info CIFAR-10`` says what file to bring.

    Examples
    --------
    >>> load("digits").view_names
    ['pixels', 'gradients', 'fourier', 'profiles']
    """
    if plain(name) == "digits":
        digits = load_digits_views()
        return Bunch(ys=[digits.y] * len(digits.Xs), **digits)
    dataset = find_dataset(name)
    path = find_file(name, data_home)
    if path is None and download_if_missing and dataset and dataset.urls:
        path = fetch(name, data_home, quiet=quiet)
    if path is None:
        raise FileNotFoundError(_missing(name, dataset, data_home))
    views = read_file(path, Options())
    if dataset is None:
        return _bunch(views, path, f"{path.stem}: {_shape(views)}.")
    _check_dataset(dataset, views, path)
    if dataset.view_names and len(views) == len(dataset.view_names):
        renamed = zip(views, dataset.view_names, strict=True)
        views = [view._replace(name=name) for view, name in renamed]
    return _bunch(
        views,
        path,
        f"{dataset.name}: {_shape(views)}.\n\n{dataset.about}\n\n"
        f"Licence: {dataset.licence}. Origin: {dataset.origin}. File: {path}.",
    )


def fetch(name: str, data_home: PathLike | None = None, *, quiet: bool = False) -> Path:
    """Fetch a dataset of the paper, unless it is there, and return its file.

    Parameters
    ----------
    name : str
        One of the datasets that can be fetched: ``"ProteinFold"``, ``"Wiki"``,
        ``"Caltech101-20"`` and ``"Reuters"``.
    data_home : path, default=None
        Folder to put it into. None: the folder ``$UNALIGNED_DATA``, if there is one
        and it can be written to, or else the library's cache folder.
    quiet : bool, default=False
        Whether to go without a progress bar.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    DownloadError
        An OSError that says why, and what to do without the dataset.

    Notes
    -----
    A download that was interrupted goes on where it stopped. A file appears under its
    name only when it is complete and its checksum is right.
    """
    dataset = find_dataset(name)
    path = find_file(name, data_home)
    if path is not None:
        return path
    if dataset is None or not dataset.urls:
        raise FileNotFoundError(_missing(name, dataset, data_home))
    return download(dataset, download_folder(data_home), quiet=quiet)


def find_file(name: str, data_home: PathLike | None = None) -> Path | None:
    """Find the file that holds a dataset, under any of its names."""
    files = local_files(data_home)
    dataset = find_dataset(name)
    spellings = [plain(name), *sorted(dataset.spellings if dataset else [])]
    path = next((files[spelling] for spelling in spellings if spelling in files), None)
    if path is None or dataset is None or path.name != dataset.file:
        return path
    if not checksum_matches(dataset, path):
        raise DataFileError(
            f"{path}: it is not the {dataset.name} that was published, for its "
            "checksum is another. Delete it, and it is fetched anew; or give it "
            "another name, and load it by that."
        )
    return path


def _missing(name: str, dataset: Dataset | None, data_home: PathLike | None) -> str:
    """Say what to do about a dataset that is not there."""
    folders = " or ".join(map(str, data_folders(data_home)))
    if dataset is None:
        found = sorted(path.stem for path in local_files(data_home).values())
        return (
            f"There is no dataset {name!r}: no file {name}.npz or {name}.mat in "
            f"{folders}. Put it there, or name its folder with data_home= or the "
            "environment variable UNALIGNED_DATA. Datasets in that folder: "
            f"{', '.join(found) or 'none'}. Built in: digits. From the paper: "
            f"{', '.join(paper_datasets())}."
        )
    why = (
        "is not there, and fetching is turned off."
        if dataset.urls
        else "cannot be fetched, because its features are not published."
    )
    return (
        f"{dataset.name} {why} Put {dataset.file}, or an .npz file called "
        f"{dataset.name}.npz, into {folders}; 'unaligned datasets info {dataset.name}' "
        "says what it holds. Without it, datasets.load_digits_views() gives views to "
        "try things on."
    )


def _check_dataset(dataset: Dataset, views: list[FileView], path: Path) -> None:
    """Warn of a file that goes by the name of a dataset and is something else."""
    held = [view.X.shape for view in views]
    if held != [(dataset.rows, width) for width in dataset.columns]:
        warnings.warn(
            f"{path} is called {dataset.name} but is not the paper's: it has views of "
            f"shape {held}, not {dataset.rows} rows with {dataset.columns} columns. "
            "Scores are not comparable.",
            UserWarning,
            stacklevel=3,
        )


def _shape(views: list[FileView]) -> str:
    """Count views, rows and columns."""
    rows = " / ".join(str(view.X.shape[0]) for view in views)
    columns = " / ".join(str(view.X.shape[1]) for view in views)
    return f"{len(views)} views, rows {rows}, columns {columns}"


def _bunch(views: list[FileView], path: Path, description: str) -> Bunch:
    ys = [_classes(view, path) for view in views]
    first = ys[0]
    paired = first is not None and all(
        y is not None and np.array_equal(first, y) for y in ys
    )
    return Bunch(
        Xs=[view.X for view in views],
        y=first if paired else None,
        ys=ys,
        view_names=[view.name for view in views],
        DESCR=description,
        filename=str(path),
    )


def _classes(view: FileView, path: Path) -> NDArray[Any] | None:
    """Classes of a view's rows; MATLAB's, which are any numbers, counted from 0."""
    y = view.other_columns.get("y")
    if y is None or path.suffix.lower() != ".mat":
        return y
    return np.unique(y, return_inverse=True)[1]
