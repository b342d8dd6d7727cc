"""Arguments and options that ``unaligned cluster`` and ``unaligned align`` share."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from unaligned.preparation.options import CATEGORICAL, DATES, IMPUTE, TRANSFORM

__all__ = [
    "BASELINES",
    "DEBUG",
    "EFFORTS",
    "EXIT_CODES",
    "FORCE",
    "KEEP",
    "OUTPUT",
    "QUIET",
    "SEED",
    "SUMMARY_AS_JSON",
    "FileType",
    "NamedFile",
    "PositiveType",
    "column_of",
    "file_options",
    "say_loading",
]

# Names are repeated here, because importing the estimators takes seconds.
EFFORTS = ("quick", "normal", "thorough")
BASELINES = (
    "AEVC",
    "CAMVC",
    "CMVNMF",
    "CPMN",
    "FDAGF",
    "FMVACC",
    "FPMVSCAG",
    "LMVSC",
    "MvCLN",
    "PVC",
    "RCAGL",
    "Rosetta",
    "SCOT",
    "SMILE",
    "SURE",
    "UPMGCSM",
    "VuCG",
)

EXIT_CODES = """\
Exit codes: 0 done; 1 the input or the output folder cannot be used; 2 the command was
not understood; 70 an error of this program; 130 stopped by Ctrl-C; 143 terminated."""


class NamedFile(NamedTuple):
    """A file, and the column with its ids if the user names one."""

    path: Path
    id_column: str | int | bool | None = None


def column_of(text: str) -> str | int | bool:
    """Read the name or the position of a column, or "none".

    Examples
    --------
    >>> column_of("name"), column_of("3"), column_of("none")
    ('name', 3, False)
    """
    if text.lower() == "none":
        return False
    return int(text) if text.isdecimal() else text


class FileType(click.Path):
    """A path of an existing file, optionally followed by ``:id_column``."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Split off the column if the whole is not an existing path."""
        path, colon, column = str(value).rpartition(":")
        if colon and column and not Path(value).exists() and Path(path).is_file():
            return NamedFile(Path(path), column_of(column))
        return NamedFile(Path(str(super().convert(value, param, ctx))))


class PositiveType(click.FloatRange):
    """A number above 0."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Also refuse NaN."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


# Options of several commands.
OUTPUT = click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for the results: a new or an empty one.",
)
SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="The same seed gives the same results.",
)
FORCE = click.option(
    "--force", is_flag=True, help="Replace earlier results in the folder."
)
QUIET = click.option(
    "--quiet", "-q", is_flag=True, help="Print nothing but complaints."
)
SUMMARY_AS_JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the summary as one JSON object, and nothing else, to stdout.",
)
KEEP = click.option(
    "--keep",
    metavar="COLUMN",
    multiple=True,
    help="Column to use as it is, in whichever files have it, though it looks like an "
    "id or is skewed. Can be repeated.",
)
DEBUG = click.option("--debug", is_flag=True, help="Show the traceback of an error.")

PREPARATION: list[Callable[..., Any]] = [
    click.option(
        "--impute",
        type=click.Choice(IMPUTE),
        default=IMPUTE[0],
        show_default=True,
        help="How missing values are filled in from the other columns; none: complain.",
    ),
    click.option(
        "--categorical",
        type=click.Choice(CATEGORICAL),
        default=CATEGORICAL[0],
        show_default=True,
        help="Columns of text with few different values: a column of 0 and 1 for each "
        "value, or left out.",
    ),
    click.option(
        "--dates",
        type=click.Choice(DATES),
        default=DATES[0],
        show_default=True,
        help="Dates: left out, or days since 1970.",
    ),
    click.option(
        "--transform",
        type=click.Choice(TRANSFORM),
        default=TRANSFORM[0],
        show_default=True,
        help="auto: logarithms of counts, by the depth of the row, and of highly "
        "skewed amounts; components of peaks. lsi: all columns are peaks.",
    ),
    KEEP,
    click.option(
        "--use-rep",
        metavar="KEY",
        help="Of AnnData and MuData files, the key of obsm to read instead of X.",
    ),
    click.option(
        "--layer",
        metavar="KEY",
        help="Of AnnData and MuData files, the layer to read instead of X.",
    ),
]

OPTIONS: list[Callable[..., Any]] = [
    click.argument(
        "files",
        nargs=-1,
        required=True,
        type=FileType(),
    ),
    OUTPUT,
    click.option(
        "--effort",
        type=click.Choice([*EFFORTS]),
        help="How hard to search for the correspondence. Default: normal.",
    ),
    click.option(
        "--pairs",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Table of known pairs. Its first line names the views; every other line "
        "names rows of one object, by id or by number from 0 on.",
    ),
    click.option(
        "--match-ids",
        is_flag=True,
        help="Equal ids in two files mean the same object. (In one MuData file they "
        "do in any case, unless they are just row numbers.)",
    ),
    click.option(
        "--id-column",
        metavar="COLUMN",
        callback=lambda _, __, value: None if value is None else column_of(value),
        help="Column with the ids of the rows, by name or by position from 0 on; "
        '"none": there is none. For one file only, write it after the file, as in '
        "crm.csv:customer. Default: find out.",
    ),
    click.option(
        "--label-column",
        "label_columns",
        metavar="COLUMN",
        multiple=True,
        help="Column that is no feature, to colour the report by. Can be repeated.",
    ),
    click.option(
        "--exclude",
        metavar="COLUMN",
        multiple=True,
        help="Column that is no feature, in whichever files have it. Can be repeated.",
    ),
    *PREPARATION,
    click.option(
        "--encoding",
        default="utf-8",
        show_default=True,
        help="Encoding of tables of text.",
    ),
    click.option(
        "--delimiter",
        help="What stands between the fields of tables of text. Default: find out.",
    ),
    SEED,
    click.option(
        "--report/--no-report",
        default=None,
        help="Whether to write report.html. Default: if jinja2 is installed.",
    ),
    FORCE,
    QUIET,
    SUMMARY_AS_JSON,
    DEBUG,
]


def say_loading(*, quiet: bool) -> None:
    """Print "Loading" at once, because importing takes a second or two.

    The next line replaces it, so it is printed on terminals only.
    """
    if not quiet and sys.stderr.isatty():
        click.echo("Loading\r", nl=False, err=True)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments and options that both commands have."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
