"""Models on disk: a zip file of arrays and one manifest, with no code in it.

The manifest is JSON: the version of the format, the version of the library, and the
model, or the checkpoint of a fit, as a tree; see `unaligned.persistence.packing`.
"""

import json
import os
import zipfile
from typing import Any

from unaligned._version import __version__
from unaligned.persistence.archives import EPOCH, check_sizes
from unaligned.persistence.drafts import whole_file
from unaligned.persistence.packing import Reader, Writer
from unaligned.plain_files import check_plain

__all__ = ["FORMAT", "SavingMixin", "load", "read_whole", "write_whole"]

FORMAT = 1  # goes up whenever an older version could misread what is written
KINDS = {"model": "unaligned model", "checkpoint": "unaligned checkpoint"}
MANIFEST = "manifest.json"

# What scikit-learn adds to estimators, and what belongs to a session, not to a model.
NOT_SAVED = (
    "_skl_callbacks",
    "_callback_",
    "_parent_callback_",
    "_metadata_request",
    "_deadline",
)


class SavingMixin:
    """For estimators that can be written to a file and read back.

    One that keeps things no file has a word for, such as networks, says what they are
    made of: `_saved_state` returns arrays, numbers, text, lists, tuples and dicts, and
    `_restore_state` makes the things from them again.
    """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to a file, for `unaligned.load` to read.

        The file appears when it is complete; where anything goes wrong, what was there
        before stays. Callbacks are not saved. Estimators that keep their views, to
        answer later questions about them, write those too.

        Parameters
        ----------
        path : path
            An existing file is replaced.
        """
        write_whole(path, "model", self)

    def _saved_state(self) -> dict[str, Any]:
        """Say what a fit left behind, by attribute."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {
            name: value
            for name, value in vars(self).items()
            if name not in parameters and not name.startswith(NOT_SAVED)
        }

    def _restore_state(self, state: dict[str, Any]) -> None:
        """Take up what `_saved_state` gave."""
        vars(self).update(state)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``model.save(path)`` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        With the parameters and fitted attributes of the one that was saved.

    Raises
    ------
    ValueError
        If the file is no model, is damaged, or was saved by a version whose files
        this one cannot read.

    Examples
    --------
    >>> import os, tempfile
    >>> import unaligned
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.model")
    >>> digits = unaligned.datasets.load_digits_views()
    >>> model = unaligned.baselines.LMVSC(10, random_state=0).fit(digits.Xs)
    >>> model.save(path)
    >>> (unaligned.load(path).labels_ == model.labels_).all()
    np.True_
    """
    return read_whole(path, "model", SavingMixin)


def write_whole(path: str | os.PathLike[str], kind: str, content: Any) -> None:
    """Write a model or a checkpoint; the file appears when it is complete."""
    with whole_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        manifest = {
            "kind": KINDS[kind],
            "format": FORMAT,
            "version": __version__,
            kind: Writer(archive).pack(content),
        }
        text = json.dumps(manifest, indent=1, allow_nan=False)
        archive.writestr(zipfile.ZipInfo(MANIFEST, EPOCH), text)


def read_whole(path: str | os.PathLike[str], kind: str, expected: type) -> Any:
    """Read what `write_whole` wrote, or say what is wrong with the file."""
    version = __version__
    check_plain(path)
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive, os.path.getsize(path))
                manifest = json.loads(archive.read(MANIFEST))
                if manifest["kind"] != KINDS[kind]:
                    raise ValueError(f"it holds a {manifest['kind']!r}")
                version, form = manifest["version"], manifest["format"]
                if form > FORMAT:
                    raise ValueError(f"formats up to {FORMAT} are known, not {form}")
                content = Reader(archive).unpack(manifest[kind])
                if not isinstance(content, expected):
                    raise ValueError(f"it holds a {type(content).__name__}")
                return content
        # A hostile file can make any part of the reading fail in any way.
        except Exception as error:
            raise ValueError(_complaint(path, kind, version, error)) from error


# What to do about a file that cannot be read, written by this version or by another.
WAYS_OUT = {
    "model": (
        "Save the model again with model.save(path)",
        "Use the version it was saved with, or fit and save the model again",
    ),
    "checkpoint": (
        "Name another file as checkpoint, or delete this one to start anew",
        "Go on with the version that wrote it, or delete it to start anew",
    ),
}


def _complaint(path: Any, kind: str, version: Any, error: Exception) -> str:
    """Say why a file cannot be read, and the way out."""
    why = str(error).rstrip(".") or type(error).__name__
    again, other_version = WAYS_OUT[kind]
    if version == __version__:
        return (
            f"{path} is not a {kind} that unaligned {__version__} can read, or it is "
            f"damaged: {why}. {again}."
        )
    return (
        f"{path} was saved by unaligned {version}, and unaligned {__version__} cannot "
        f"read it: {why}. {other_version}."
    )
