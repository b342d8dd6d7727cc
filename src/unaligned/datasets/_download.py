"""Downloads that can be interrupted, go on where they stopped, and are what they claim.

A file is gathered in a hidden folder that is ours, and moves out of it when it is
complete and its checksum is right. pooch looks after the cache, requests after the
network.
"""

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from unaligned.datasets._registry import Dataset
from unaligned.progress import download_bar

__all__ = ["DownloadError", "checksum_matches", "download"]

TIMEOUT = (10, 30)  # seconds to connect, and without a byte
MOST_BYTES = 1 << 32  # of a file whose size is not known
GATHERED_IN = ".unaligned-downloads"
CHUNK = 1 << 13  # bytes at a time, and the most that an interruption costs


class DownloadError(OSError):
    """A dataset that could not be fetched: why, and what to do without it."""


def download(dataset: Dataset, folder: Path, *, quiet: bool = False) -> Path:
    """Fetch the file of a dataset into a folder, unless it is there.

    Raises
    ------
    DownloadError
        If no address gives the file that the registry describes.
    """
    path = folder / dataset.file
    failures = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _sole_user(folder):
            for url in dataset.urls:
                if path.exists():  # by now, or thanks to another process
                    break
                try:
                    _retrieve(dataset, url, folder, quiet)
                except Mishap as mishap:
                    failures.append(f"{urlsplit(url).netloc}: {mishap}")
    except OSError as error:
        failures.append(f"{folder}: {error.strerror or error}")
    if path.exists():
        return path
    reasons = "; ".join(dict.fromkeys(failures))
    raise DownloadError(
        f"{dataset.name} could not be fetched ({reasons}). Try again later, or get "
        f"{dataset.file} elsewhere, e.g. from {dataset.urls[0]}, and put it into "
        f"{folder}. Without a network, datasets.load_digits_views() gives views to try "
        "things on."
    )


def checksum_matches(dataset: Dataset, path: Path) -> bool:
    """Whether a file is the published one, as far as that is pinned."""
    if dataset.sha256 is not None:
        import pooch  # slow to import, and rarely needed

        return bool(pooch.file_hash(os.fspath(path)) == dataset.sha256)
    if dataset.git_blob is not None:
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
        return digest.hexdigest() == dataset.git_blob
    return True


class Mishap(Exception):
    """Why one address did not give the file."""


def _retrieve(dataset: Dataset, url: str, folder: Path, quiet: bool) -> None:
    """Fetch the file from one address."""
    import pooch

    known = f"sha256:{dataset.sha256}" if dataset.sha256 else None

    def downloader(url: str, output_file: Any, _: Any) -> None:
        part = folder / GATHERED_IN / dataset.file
        part.parent.mkdir(exist_ok=True)
        try:
            if not _complete(dataset, url, part, quiet):
                _complete(dataset, url, part, quiet)  # what was there was no good
            os.replace(part, output_file)
        finally:
            with suppress(OSError):  # something is half here
                part.parent.rmdir()

    with _silent_pooch():
        pooch.retrieve(
            url, known, dataset.file, os.fspath(folder), downloader=downloader
        )


def _complete(dataset: Dataset, url: str, part: Path, quiet: bool) -> bool:
    """Fetch what is missing of a partial file, and check the whole.

    Returns False, with the file removed, where it goes back to an earlier attempt and
    is not the right one; complains where it is all from this one.
    """
    before = _receive(dataset, url, part, quiet)
    if checksum_matches(dataset, part):
        return True
    part.unlink()
    if before:
        return False
    raise Mishap("it sends another file than the one that was published")


def _receive(dataset: Dataset, url: str, part: Path, quiet: bool) -> int:
    """Append what a partial file lacks; return how many bytes of it were kept."""
    import requests

    before = part.stat().st_size if part.exists() else 0
    # Packed on the way, the length of what comes would not be known.
    headers = {"Accept-Encoding": "identity"}
    if before:
        headers["Range"] = f"bytes={before}-"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416:  # nothing is missing, or it was another file
                return before
            answer.raise_for_status()
            if answer.status_code != 206:
                before = 0
            length = answer.headers.get("Content-Length", "")
            total = before + int(length) if length.isdigit() else dataset.size
            most = dataset.size or MOST_BYTES
            with (
                open(part, "ab" if before else "wb") as file,
                download_bar(dataset.name, total, before, quiet) as advance,
            ):
                for chunk in answer.iter_content(CHUNK):
                    file.write(chunk)
                    advance(len(chunk))
                    if file.tell() > most:  # too long: its checksum will be wrong
                        total = None
                        break
                received = file.tell()
    except requests.RequestException as error:
        raise Mishap(_reason(error)) from error
    if total is not None and received < total:
        raise Mishap(f"the connection broke off after {received} of {total} bytes")
    return before


def _reason(error: Any) -> str:
    """Say in a few words what went wrong on the way."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"it answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "it does not answer"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "it cannot be reached"
    return str(error)


@contextmanager
def _sole_user(folder: Path) -> Iterator[None]:
    """Wait until no other process fetches into a folder, where the system can tell."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _silent_pooch() -> Iterator[None]:
    """Keep pooch from announcing the download, which has a bar of its own."""
    import pooch

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
