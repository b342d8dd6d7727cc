"""A fit on disk while it runs, for the same fit to go on from after it was stopped."""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unaligned._version import __version__
from unaligned.alignment import Alignment
from unaligned.known_pairs import KnownPairs
from unaligned.persistence.drafts import remove_abandoned
from unaligned.persistence.restored import check_course
from unaligned.persistence.saving import read_whole, write_whole
from unaligned.plain_files import check_plain
from unaligned.progress import say
from unaligned.shapes import MissingPart
from unaligned.views import Views, label

__all__ = ["CHECKPOINT", "Course", "FitCheckpoint", "digest"]

CHECKPOINT: list[Any] = [str, os.PathLike, None]  # what the parameter may be

SHARE_FOR_WRITING = 0.1  # of the time of a fit, at most
# Parameters that may change while a fit is stopped: its steps do not depend on them.
FREE = ("checkpoint", "max_iter", "verbose")


# What the first step raises where a checkpoint is not what the fit has written.
UNFIT = (AttributeError, ArithmeticError, LookupError, TypeError, ValueError)


class Course(NamedTuple):
    """How far a fit has come, and what it settled before its first iteration."""

    seed: int
    n_clusters: int
    identities: list[NDArray[np.intp]]
    """Pairs that were known or learned, see `KnownPairs`."""
    found: Alignment | None = None
    """What they were learned from."""
    evidence: Any = None
    """On the number of clusters, see `unaligned.selection.ClusterEvidence`."""
    n_iter: int = 0
    objectives: list[float] = []
    state: dict[str, Any] = {}
    """Of the solver, in arrays, numbers and lists of them."""


class Milestone(NamedTuple):
    """What a solver can go on from within an iteration, and no row be labelled by."""

    state: dict[str, Any]
    """In arrays, numbers, generators of them, and lists and dicts of those."""


class Terminated(SystemExit):
    """Somebody wants the program to end."""


class FitCheckpoint:
    """The file of one fit, and what happens to it however the fit ends.

    Used as a context around the fit: if it is done the file goes; if it is stopped, by
    Ctrl-C or by SIGTERM, a sentence says where it can go on. A program that has its own
    way with SIGTERM keeps it.

    Parameters
    ----------
    estimator : estimator
        Its parameter ``checkpoint`` is the path; None, or an estimator without it: no
        file is written or read.
    views : Views
    pairs : KnownPairs
    """

    def __init__(self, estimator: Any, views: Views, pairs: KnownPairs) -> None:
        self.estimator = estimator
        path = getattr(estimator, "checkpoint", None)
        self.path = None if path is None else Path(path)
        self._writable = self.path is not None
        self._last: int | None = None
        self._next_at = 0.0  # when enough has been computed to write again
        self._resumed = False  # and no step was made since
        self._listens = False
        self._terminated_by: int | None = None
        if self.path is not None:
            _check_place(self.path)
            self._views = views
            self._identity = identify(estimator, views, pairs)

    def read(self) -> Course | None:
        """How far the fit came before; None where there is no file."""
        if self.path is None:
            return None
        remove_abandoned(self.path)
        if not self.path.exists():
            return None
        content = read_whole(self.path, "checkpoint", dict)
        if "identity" not in content:
            raise self._damaged("it does not say of which fit it is")
        if set(content) != {"identity", *Course._fields}:
            raise self._of_another_version("it holds other parts")
        self._compare(content.pop("identity"))
        course = Course(**content)
        try:
            check_course(course, self.estimator, self._views)
        except MissingPart as error:
            raise self._of_another_version(str(error)) from error
        except Exception as error:  # a file can hold anything
            raise self._damaged(str(error)) from error
        most = getattr(self.estimator, "max_iter", 1)
        if course.n_iter >= most:
            raise ValueError(
                f"The checkpoint {self.path} is of iteration {course.n_iter}, and "
                f"max_iter={most} leaves nothing to do. Raise max_iter to go on, or "
                "delete the file to start anew."
            )
        self._last = course.n_iter
        self._resumed = True
        if self.estimator.verbose:
            name = type(self.estimator).__name__
            say(f"[{name}] goes on after {_progress(course.n_iter)}, from {self.path}")
        return course

    def _damaged(self, why: str) -> ValueError:
        return ValueError(
            f"{self.path} is damaged: {why}. Delete it to start anew, or name another "
            "file as checkpoint."
        )

    def _of_another_version(self, why: str) -> ValueError:
        return ValueError(
            f"{self.path} is of another version of unaligned: {why}. Go on with the "
            "version that wrote it, or delete it to start anew."
        )

    def _compare(self, identity: Any) -> None:
        """Complain about a file of another fit, and say what is different."""
        mine = self._identity
        if not isinstance(identity, dict) or not all(
            isinstance(text, str) for text in (*identity, *identity.values())
        ):
            raise self._damaged("it does not say of which fit it is")
        others = [n for n in mine | identity if identity.get(n) != mine.get(n)]
        if "the estimator" in others:
            others = ["the estimator"]  # which has other parameters, too
        if others:
            raise ValueError(
                f"The checkpoint {self.path} is of another fit: not the same are "
                f"{', '.join(others)}. Fit as before to go on from it, name another "
                "file as checkpoint, or delete this one to start anew."
            )

    def next_iterate(self, solver: Iterator[Any], course: Course) -> Any:
        """Let a solver go on to its next iterate, and keep milestones on the way."""
        while True:
            if self._terminated_by is not None:
                # What a signal raises is lost where C calls Python, as numba may.
                raise Terminated(128 + self._terminated_by)
            try:
                iterate = next(solver)
            except UNFIT as error:
                if not self._resumed:
                    raise
                raise self._damaged(
                    f"the fit cannot go on from it ({error})"
                ) from error
            self._resumed = False
            if not isinstance(iterate, Milestone):
                return iterate
            self.keep(course, iterate.state)

    def keep(self, course: Course, state: Any) -> None:
        """Write how far the fit has come, unless it was written only just now.

        So little time goes into it that the fit hardly notices, and so little is lost
        when it is stopped: the iteration in flight, and at most ten times the time that
        writing takes.
        """
        start = time.perf_counter()
        if self.path is None or not self._writable or start < self._next_at:
            return
        course = course._replace(state=self.estimator._plain_state(state))
        content = {"identity": self._identity, **course._asdict()}
        try:
            write_whole(self.path, "checkpoint", content)
        except OSError as error:
            self._writable = False
            warnings.warn(
                f"The checkpoint {self.path} cannot be written any more "
                f"({error.strerror}). The fit goes on without.",
                stacklevel=4,
            )
            return
        self._last = course.n_iter
        end = time.perf_counter()
        self._next_at = end + (end - start) / SHARE_FOR_WRITING

    def __enter__(self) -> "FitCheckpoint":
        in_main_thread = threading.current_thread() is threading.main_thread()
        if self.path is not None and in_main_thread:
            self._listens = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if self._listens:
            signal.signal(signal.SIGTERM, self._terminate)
        return self

    def __exit__(self, kind: Any, stop: BaseException | None, _: Any) -> None:
        if self._listens:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self.path is None:
            return
        if stop is None:
            self.path.unlink(missing_ok=True)
        elif self._last is not None and isinstance(stop, KeyboardInterrupt):
            stop.add_note(self._way_on())
        elif isinstance(stop, Terminated):
            stopped = f"{type(self.estimator).__name__} was terminated"
            nowhere = self._last is None
            way_on = " before its first step." if nowhere else f"; {self._way_on()}"
            say(stopped + way_on, to=sys.stderr)

    def _terminate(self, number: int, _: Any) -> None:
        self._terminated_by = number
        raise Terminated(128 + number)

    def _way_on(self) -> str:
        return (
            f"the checkpoint {self.path} has {_progress(self._last)}, and the same fit "
            "goes on from there."
        )


def _progress(n_iter: int | None) -> str:
    """Say how far a fit has come: so many iterations, or into the first."""
    return f"iteration {n_iter}" if n_iter else "what was done"


def identify(estimator: Any, views: Views, pairs: KnownPairs) -> dict[str, str]:
    """Name what the steps of a fit depend on, each with text that identifies it."""
    parameters = estimator.get_params(deep=False)
    names = [label(name) for name in views.names]
    return {
        "the version of unaligned": __version__,
        "the estimator": type(estimator).__module__,
        **{n: digest(value) for n, value in parameters.items() if n not in FREE},
        **dict(zip(names, estimator._digest_views(views), strict=True)),
        "aligned": digest(pairs.identities),
    }


def digest(value: Any) -> str:
    """Short text that is the same for the same value, in any process."""
    if sparse.issparse(value):  # it also remembers what it was asked
        value = [value.shape, value.data, value.indices, value.indptr]
    if is_dataclass(value) and not isinstance(value, type):
        value = [(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, list | tuple):  # whether its items are one object or equal
        value = [digest(item) for item in value]
    return str(joblib.hash(value))


def _check_place(path: Path) -> None:
    """Complain, before anything takes time, where no file can be written."""
    check_plain(path)
    if path.is_dir():
        raise ValueError(f"checkpoint={str(path)!r} is a folder. Name a file in it.")
    folder = path.absolute().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"checkpoint={str(path)!r} cannot be written: {folder} "
            f"{'is write-protected' if folder.exists() else 'does not exist'}. Name a "
            "file in another folder."
        )
