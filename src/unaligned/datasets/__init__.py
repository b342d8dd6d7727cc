"""Views to try things on, views out of files, and a way to take alignment away."""

from unaligned.datasets._digits import load_digits_views
from unaligned.datasets._download import DownloadError
from unaligned.datasets._load import fetch, load
from unaligned.datasets._read import FileViews, read_view, read_views
from unaligned.datasets._unalign import unalign
from unaligned.datasets.readers.contents import DataFileError, FileView

__all__ = [
    "DataFileError",
    "DownloadError",
    "FileView",
    "FileViews",
    "fetch",
    "load",
    "load_digits_views",
    "read_view",
    "read_views",
    "unalign",
]
