"""What ``unaligned cluster`` and ``unaligned align`` have in common."""

import json
import time
from collections.abc import Callable
from fnmatch import fnmatch
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import click

from unaligned._version import __version__
from unaligned.cli._inputs import Inputs, read_inputs
from unaligned.cli._outputs import (
    KIND,
    SUMMARY,
    check_names,
    check_output,
    label_files,
    whole_folder,
    write_labels,
    write_matches,
    write_summary,
    write_suspects,
)
from unaligned.cli._session import Screen, session
from unaligned.report import Findings, gather, render
from unaligned.report.page import require_jinja2
from unaligned.report.verdict import judge, standing
from unaligned.savuc.config import EFFORTS

__all__ = ["Answer", "answer", "file_options", "report_is_possible"]

MATCHES, REPORT, SUSPECTS = "matches.csv", "report.html", "suspects.csv"
FILES = {
    REPORT: "everything at a glance",
    "labels_*.csv": "the cluster of every row, a file for each view",
    MATCHES: "who belongs to whom, with confidence and trust",
    SUSPECTS: "known pairs that the data contradict",
    "clusters.model": "the fitted model, for unaligned.load in Python",
    "column_means.npz": "what was subtracted from the columns of each view",
    SUMMARY: "the summary for programs",
}


class Answer(NamedTuple):
    """What a command found."""

    found: Any
    """A fitted estimator or an Alignment."""
    settings: dict[str, Any]
    files: dict[str, Callable[[Path], Any]] = {}
    """Further files, and what writes them."""


def _id_column(_: Any, __: Any, value: str | None) -> str | int | bool | None:
    """Read the name of a column, its position, or that there is none."""
    if value is None:
        return None
    if value.lower() == "none":
        return False
    return int(value) if value.isdecimal() else value


OPTIONS: list[Callable[..., Any]] = [
    click.argument(
        "files",
        nargs=-1,
        required=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
    click.option(
        "--output",
        "-o",
        required=True,
        type=click.Path(path_type=Path),
        help="Folder for the results: a new or an empty one.",
    ),
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
        callback=_id_column,
        help="Column with the ids of the rows, by name or by position from 0 on; "
        '"none": there is none. Default: find out.',
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
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="The same seed gives the same results.",
    ),
    click.option(
        "--report/--no-report",
        default=None,
        help="Whether to write report.html. Default: if jinja2 is installed.",
    ),
    click.option(
        "--force", is_flag=True, help="Replace earlier results in the folder."
    ),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but complaints."),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print the summary as one JSON object, and nothing else, to stdout.",
    ),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
]


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments and options that both commands have."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def answer(
    command: str,
    find: Callable[[Inputs, Screen], Answer],
    *,
    files: tuple[Path, ...],
    output: Path,
    report: bool | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    debug: bool,
    **reading: Any,
) -> None:
    """Read files, find what there is in them, write it down and say it.

    Parameters
    ----------
    command : str
    find : callable
        Does the work, given the views and the screen to show progress on.
    files, output, report, force, quiet, as_json, debug
        As the options say.
    **reading
        For `read_inputs`.
    """
    start = time.monotonic()
    with session(quiet=quiet, debug=debug) as screen:
        check_output(output, force=force)
        draw = report_is_possible(report, screen)
        screen.stage(f"Reading {_amount(files)}")
        inputs = read_inputs(files, **reading)
        names = [name for name in FILES if "*" not in name]
        check_names(output, [*names, *label_files(inputs.data.view_names)])
        found = find(inputs, screen)
        if draw:
            screen.stage("Drawing the report")
        findings = gather(
            found.found,
            inputs.Xs,
            ids=inputs.ids,
            columns=inputs.columns,
            maps=draw,
            verbose=1,
        )
        with whole_folder(output) as folder:
            screen.stage("Writing the results")
            summary = _write(folder, command, inputs, found, findings, draw)
            summary["notes"] = screen.notes
            summary["seconds"] = round(time.monotonic() - start, 1)
            write_summary(folder / SUMMARY, summary)
    if as_json:
        click.echo(json.dumps(summary, allow_nan=False))
    elif not quiet:
        _tell(summary, output)


def report_is_possible(wanted: bool | None, screen: Screen) -> bool:
    """Whether a report can be written; complain only where one was asked for."""
    if wanted is False:
        return False
    try:
        require_jinja2()
    except ImportError as error:
        if wanted:
            raise
        screen.remarks.append(f"There is no report. {error}")
        return False
    return True


def _amount(files: tuple[Path, ...]) -> str:
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    number = "one file" if len(files) == 1 else f"{len(files)} files"
    return f"{number}, {megabytes:,.1f} MB"


def _write(
    folder: Path,
    command: str,
    inputs: Inputs,
    found: Answer,
    findings: Findings,
    draw: bool,
) -> dict[str, Any]:
    """Write all files but the summary, which is returned."""
    data, t = inputs.data, findings.template
    views = [
        {
            "name": view.name,
            "file": str(data.paths[i]),
            "rows": view.n_rows,
            "features": view.n_features,
            "has_ids": data.has_ids[i],
            "standing": standing(view, findings),
            "verdict": view.verdict,
            "trust": None if isnan(view.trust) else view.trust,
            "basis": view.basis,
            "known": view.known,
            "matches": view.n_matched,
            "known_matches": len(inputs.known.between(i, t)[0]) if i != t else 0,
        }
        for i, view in enumerate(findings.views)
    ]
    names = label_files(data.view_names)
    for i, view in enumerate(findings.views):
        if view.labels is not None:
            write_labels(folder / names[i], data.row_ids[i], view.labels)
            views[i] |= {"labels": names[i], "shares_clusters": view.shares_clusters}
    write_matches(folder / MATCHES, findings, data.row_ids)
    if findings.n_suspects:
        write_suspects(folder / SUSPECTS, findings)
    for name, write in found.files.items():
        write(folder / name)
    if draw:
        html = render(findings)
        (folder / REPORT).write_bytes(html.encode("utf-8", "backslashreplace"))
    verdict = judge(findings)
    return {
        "kind": KIND,
        "version": __version__,
        "command": command,
        "method": findings.method,
        **found.settings,
        "level": verdict.level,
        "headline": verdict.headline,
        "sentences": [line.replace("\u00a0", " ") for line in verdict.sentences],
        "template": findings.views[t].name,
        "suspects": findings.n_suspects,
        "views": views,
        "files": sorted([*(file.name for file in folder.iterdir()), SUMMARY]),
    }


def _tell(summary: dict[str, Any], output: Path) -> None:
    """Say what was found, and where it lies."""
    click.secho(f"{summary['headline']}.", bold=True)
    for sentence in (*summary["sentences"], *summary["notes"]):
        click.echo(sentence)
    click.echo(f"\nIn {output}:")
    for pattern, what in FILES.items():
        if any(fnmatch(name, pattern) for name in summary["files"]):
            click.echo(f"  {pattern:17} {what}")
