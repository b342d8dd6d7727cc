"""The datasets of the paper: what they are, where they come from, where they lie."""

import json
import os
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = [
    "Dataset",
    "data_folders",
    "download_folder",
    "find_dataset",
    "local_files",
    "paper_datasets",
    "plain",
]

SUFFIXES = (".npz", ".mat")  # of files that can be loaded by name


@dataclass(frozen=True)
class Dataset:
    """What is known of a dataset of the paper without reading it."""

    name: str
    file: str
    """Name of the published file."""
    rows: int
    columns: list[int]
    """Columns of each view."""
    classes: int
    licence: str
    """As stated where the file is published."""
    origin: str
    about: str
    view_names: list[str] | None = None
    aliases: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    """Where the file can be fetched: none, or several that hold the same."""
    size: int | None = None
    """Bytes of the file, if known."""
    sha256: str | None = None
    git_blob: str | None = None
    """Its id in git: the SHA-1 of ``blob <size>`` and the content."""

    @property
    def spellings(self) -> set[str]:
        """All names it goes by, without case and punctuation."""
        return {
            plain(name) for name in (self.name, Path(self.file).stem, *self.aliases)
        }


@cache
def paper_datasets() -> dict[str, Dataset]:
    """Read what is known of the six datasets of the paper."""
    text = files("unaligned.datasets").joinpath("registry.json").read_text("utf-8")
    entries: dict[str, Any] = json.loads(text)
    return {name: Dataset(name=name, **entry) for name, entry in entries.items()}


def find_dataset(name: str) -> Dataset | None:
    """Find the dataset of the paper that goes by a name, in any usual spelling.

    Examples
    --------
    >>> find_dataset("caltech 101").name, find_dataset("Caltech_101-20").name
    ('Caltech-101', 'Caltech101-20')
    >>> find_dataset("digits") is None
    True
    """
    found = [d for d in paper_datasets().values() if plain(name) in d.spellings]
    return found[0] if found else None


def plain(name: str) -> str:
    """Leave out case and punctuation."""
    return re.sub(r"[\W_]+", "", name.lower())


def data_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """List the folders to look for files in.

    They are ``data_home``; or else the folder that ``$UNALIGNED_DATA`` names, if any,
    and the library's cache folder.
    """
    if data_home is not None:
        return [Path(data_home).expanduser()]
    import pooch  # slow to import, and rarely needed

    named = os.environ.get("UNALIGNED_DATA")
    cache_folder = Path(pooch.os_cache("unaligned"))
    return [Path(named).expanduser(), cache_folder] if named else [cache_folder]


def download_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Choose the first folder that is not there yet or can be written to."""
    folders = data_folders(data_home)
    free = (f for f in folders if not f.exists() or os.access(f, os.W_OK))
    return next(free, folders[0])


def local_files(data_home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Find files that can be loaded by name, also in subfolders called ``data``."""
    found: dict[str, Path] = {}
    for folder in data_folders(data_home):
        for place in (folder, folder / "data"):
            if place.is_dir():
                for path in sorted(place.iterdir()):
                    if path.suffix.lower() in SUFFIXES and path.is_file():
                        found.setdefault(plain(path.stem), path)
    return found
