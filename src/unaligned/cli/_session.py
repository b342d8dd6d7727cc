"""One run of a command: progress, stopping, and errors."""

import io
import re
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column
from sklearn.exceptions import ConvergenceWarning

from unaligned.cli._memory import complain_of_no_room, memory_complaint
from unaligned.progress import SILENCE, Heartbeat

__all__ = [
    "Screen",
    "as_options",
    "printable",
    "session",
    "undisturbed",
]

STOPPING = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]

# Options of the command for parameters of the library, to reword its errors.
SPELLINGS = {
    r"\bid_column=False": "--id-column none",
    r"\bmatch_ids=True": "--match-ids",
    r"\bid_column=": "--id-column",
    r"\bexclude=\[(.*?)\]": r"--exclude \1",
    r"\bencoding=": "--encoding ",
    r"\bdelimiter=": "--delimiter ",
    r"\bn_clusters=": "-k ",
    r"\b(impute|dates|categorical|transform)=['\"](.*?)['\"]": r"--\1 \2",
    r"\bkeep=": "--keep",
    r"\buse_rep=": "--use-rep ",
    r"\blayer=": "--layer ",
    r"\bas aligned=": "with --pairs",
    r"\bThe pairs in aligned\b": "Known pairs",
    r"\bdata_home=": "--data-home",
}


class Interrupted(KeyboardInterrupt):
    """The program is to stop."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class ProgramError(click.ClickException):
    """An error in the program itself."""

    exit_code = 70


class Screen(io.TextIOBase):
    """Shows progress on stderr: a line that changes, or lines in a log.

    It also replaces stdout while the library works. So the lines that the library
    prints are shown as progress, and only the results are printed to stdout.
    """

    def __init__(self, quiet: bool) -> None:
        console = Console(stderr=True)
        self._quiet = quiet
        self._live = console.is_terminal and not quiet
        text = TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        )
        self._progress = Progress(
            SpinnerColumn(),
            text,
            TimeElapsedColumn(),
            console=console,
            transient=True,
            expand=True,
            redirect_stdout=False,
        )
        self._task = self._progress.add_task("", total=None)
        self._spoke = time.monotonic()
        self._heart = Heartbeat(show=self._hear)
        self.stopped_by: int | None = None
        self.remarks: list[str] = []
        self.caught: list[warnings.WarningMessage] = []

    def __enter__(self) -> "Screen":
        if self._live:
            self._progress.start()
        if not self._quiet:
            self._heart.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._heart.__exit__()
        if self._live:  # the end of one that never began is an empty line in old rich
            self._progress.stop()

    @property
    def notes(self) -> list[str]:
        """Remarks, and warnings for users."""
        told = [
            printable(as_options(str(warning.message)))
            for warning in self.caught
            if issubclass(warning.category, UserWarning)
            and not issubclass(warning.category, ConvergenceWarning)  # told elsewhere
        ]
        return list(dict.fromkeys([*self.remarks, *told]))

    def stage(self, title: str) -> None:
        """Show what begins."""
        self._heart.note(title)
        self._show(title, at_once=True)

    def write(self, text: str) -> int:
        """Take a line that the library prints."""
        for line in filter(None, map(str.strip, text.splitlines())):
            self._show(re.sub(r"^\[\w+\] ", "", line))
        return len(text)

    def _hear(self, line: str, again: bool) -> None:
        """Take a line of the library, or one that is shown again."""
        self._show(re.sub(r"^\[\w+\] ", "", line), at_once=again)

    def _show(self, line: str, at_once: bool = False) -> None:
        if self.stopped_by is not None:
            # What a signal raises is lost where C calls Python, as in some libraries.
            raise Interrupted(self.stopped_by)
        line = printable(line)
        if self._live:
            self._progress.update(self._task, description=line, refresh=True)
        elif not self._quiet and (at_once or time.monotonic() > self._spoke + SILENCE):
            self._spoke = time.monotonic()
            click.echo(line, err=True)


@contextmanager
def session(*, quiet: bool, debug: bool) -> Iterator[Screen]:
    """Run a command; every error becomes one message and an exit code.

    Parameters
    ----------
    quiet : bool
        Whether to show no progress.
    debug : bool
        Whether to let exceptions through, with their tracebacks.

    Yields
    ------
    Screen
    """
    screen = Screen(quiet)
    try:
        with (
            stopping_raises(screen),
            warnings.catch_warnings(record=True) as caught,
            screen,
            redirect_stdout(screen),
        ):
            screen.caught = caught
            warnings.simplefilter("always")
            complain_of_no_room()
            yield screen
    except Interrupted as stop:
        click.echo("Stopped; nothing was written.", err=True)
        raise SystemExit(128 + stop.number) from None
    except click.ClickException as error:
        raise click.ClickException(printable(error.message)) from None
    except Exception as error:
        if debug:
            raise
        raise _complaint(error) from None


def _complaint(error: Exception) -> click.ClickException:
    """Message of an exception for users of the command line."""
    if (short := memory_complaint(error)) is not None:
        return click.ClickException(printable(as_options(short)))
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return click.ClickException(printable(f"{where}{error.strerror}."))
    message = as_options(str(error))
    ours = OSError | ValueError | TypeError | ImportError | MemoryError
    if isinstance(error, ours) and message:
        return click.ClickException(printable(message))
    return ProgramError(
        printable(
            f"This should not have happened ({type(error).__name__}: {message}); run "
            "the command again with --debug, and report what it shows."
        )
    )


def as_options(message: str) -> str:
    """Put a message of the library on one line, with the options of the command.

    Examples
    --------
    >>> as_options("Give some as aligned=, or set n_clusters=3.")
    'Give some with --pairs, or set -k 3.'
    """
    message = " ".join(message.split())
    for pattern, option in SPELLINGS.items():
        message = re.sub(pattern, option, message)
    return message


@contextmanager
def stopping_raises(screen: Screen) -> Iterator[None]:
    """Raise `Interrupted` on signals to stop, unless they are ignored.

    Programs that were started with nohup, or in the background of a script, ignore some
    of the signals, and go on doing so.
    """

    def interrupt(number: int, _: Any) -> None:
        screen.stopped_by = number
        raise Interrupted(number)

    before = {number: signal.getsignal(number) for number in STOPPING}
    heard = [number for number in STOPPING if before[number] is not signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, interrupt)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back signals to stop during something short."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    try:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def printable(text: str) -> str:
    r"""Replace control characters and what no file can hold.

    Examples
    --------
    >>> print(printable("caf\u00e9 \x1b[31m"))
    café \x1b[31m
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )
