"""Datasets by name, from files in the library's own form."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pooch
from scipy import sparse
from sklearn.utils import Bunch

from unaligned.datasets._digits import load_digits_views

__all__ = ["load"]


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        ``"digits"``, which is built in, or the name of an ``.npz`` file, in any case
        and without its suffix.
    data_home : path, default=None
        Folder with the files. None: the folder ``$UNALIGNED_DATA``, or else the
        library's cache folder. A subfolder ``data`` is searched too.

    Returns
    -------
    Bunch
        ``Xs`` (list of views), ``y`` (classes; None for unpaired views), ``ys``
        (classes of each view's rows), ``view_names`` and ``DESCR``.

    Notes
    -----
    A file holds views ``view0``, ``view1``, … (samples × features) and classes ``y``,
    or ``y_view0``, ``y_view1``, … where the views are unpaired. A sparse view is four
    arrays: ``view0_data``, ``view0_indices``, ``view0_indptr`` and ``view0_shape``
    (CSR). A ``view0_scale`` is multiplied back. Files are read with pickle off: one
    from a stranger can do no more than fail.

    Examples
    --------
    >>> load("digits").view_names
    ['pixels', 'gradients', 'fourier', 'profiles']
    """
    if name.lower() == "digits":
        digits = load_digits_views()
        return Bunch(ys=[digits.y] * len(digits.Xs), **digits)
    return read_npz(find_file(name, data_home))


def find_file(name: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """Path of the file that holds a dataset."""
    home = Path(
        data_home or os.environ.get("UNALIGNED_DATA") or pooch.os_cache("unaligned")
    )
    files = {
        path.stem.lower(): path
        for folder in (home / "data", home)
        if folder.is_dir()
        for path in sorted(folder.glob("*.npz"))
    }
    if name.lower() not in files:
        found = ", ".join(sorted(path.stem for path in files.values())) or "none"
        raise FileNotFoundError(
            f"There is no dataset {name!r}: no file {name}.npz in {home}. Put it "
            "there, or name its folder with data_home= or the environment variable "
            f"UNALIGNED_DATA. Datasets in that folder: {found}. Built in: digits."
        )
    return files[name.lower()]


def read_npz(path: str | os.PathLike[str]) -> Bunch:
    """Read views and classes from a file in the form that `load` describes."""
    path = Path(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    Xs: list[Any] = []
    while (view := _read_view(arrays, f"view{len(Xs)}")) is not None:
        Xs.append(view)
    if not Xs:
        raise ValueError(
            f"{path} holds no view: it needs an array 'view0', but has "
            f"{sorted(arrays)[:10]}."
        )
    y = arrays.get("y")
    ys = [arrays.get(f"y_view{i}", y) for i in range(len(Xs))]
    rows = " / ".join(str(X.shape[0]) for X in Xs)
    columns = " / ".join(str(X.shape[1]) for X in Xs)
    return Bunch(
        Xs=Xs,
        y=y,
        ys=ys,
        view_names=[f"view{i}" for i in range(len(Xs))],
        DESCR=f"{path.stem}: {len(Xs)} views, rows {rows}, columns {columns}.",
    )


def _read_view(arrays: dict[str, Any], key: str) -> Any:
    if f"{key}_data" in arrays:
        parts = (arrays[f"{key}_{part}"] for part in ("data", "indices", "indptr"))
        view = sparse.csr_array(tuple(parts), shape=tuple(arrays[f"{key}_shape"]))
        view.check_format(full_check=True)  # indices outside would crash compiled code
    elif key in arrays:
        view = arrays[key]
    else:
        return None
    if f"{key}_scale" in arrays:
        view = view.astype(np.float32) * arrays[f"{key}_scale"].astype(np.float32)
    return view
