"""Shared by ``unaligned cluster`` and ``unaligned align``."""

import json
import time
from collections.abc import Callable
from fnmatch import fnmatch
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import click

from unaligned.cli._inputs import Inputs, read_named
from unaligned.cli._options import NamedFile
from unaligned.cli._outputs import (
    SUMMARY,
    check_names,
    check_output,
    cluster_entries,
    column_entries,
    label_files,
    whole_folder,
    write_summary,
)
from unaligned.cli._session import Screen, as_options, printable, session
from unaligned.cli._tables import (
    write_labels,
    write_matches,
    write_suspects,
    write_unmatched,
)
from unaligned.report import Findings, gather, render
from unaligned.report.findings import ViewFindings
from unaligned.report.next_step import next_step
from unaligned.report.page import require_jinja2
from unaligned.report.verdict import judge, standing

__all__ = ["Answer", "answer", "report_is_possible"]

MATCHES, REPORT, SUSPECTS = "matches.csv", "report.html", "suspects.csv"
UNMATCHED = "unmatched.csv"
FILES = {
    REPORT: "all results, for a browser",
    "labels_*.csv": "the cluster of every row, a file for each view",
    MATCHES: "pairs of rows, with confidence and trust",
    UNMATCHED: "rows without a partner",
    SUSPECTS: "known pairs that the data contradict",
    "clusters.model": "the fitted model, for unaligned.load in Python",
    "column_means.npz": "what was subtracted from the columns of each view",
    SUMMARY: "the summary for programs",
}


class Answer(NamedTuple):
    """The results of a command."""

    found: Any
    """A fitted estimator or an Alignment."""
    settings: dict[str, Any]
    files: dict[str, Callable[[Path], Any]] = {}
    """Further files, and the functions that write them."""


def answer(
    command: str,
    find: Callable[[Inputs, Screen], Answer],
    *,
    files: tuple[NamedFile, ...],
    output: Path,
    report: bool | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    debug: bool,
    **reading: Any,
) -> None:
    """Read files, run a method on them, and write and print the results.

    Parameters
    ----------
    command : str
    find : callable
        Runs the method, given the views and the screen for progress.
    files, output, report, force, quiet, as_json, debug
        The options of the command.
    **reading
        For `read_named`.
    """
    start = time.monotonic()
    with session(quiet=quiet, debug=debug) as screen:
        check_output(output, force=force)
        draw = report_is_possible(report, screen)
        screen.stage(f"Reading {_amount(files)}")
        inputs = read_named(files, **reading)
        names = [name for name in FILES if "*" not in name]
        check_names(output, [*names, *label_files(inputs.data.view_names)])
        found = find(inputs, screen)
        if draw:
            screen.stage("Drawing the report")
        findings = gather(
            found.found,
            dict(zip(inputs.data.view_names, inputs.prepared, strict=True)),
            ids=inputs.ids,
            columns=inputs.columns,
            maps=draw,
            effort=found.settings.get("effort"),
            verbose=1,
        )
        with whole_folder(output) as folder:
            screen.stage("Writing the results")
            _write(folder, inputs, found, findings, draw)
            told = _summarise(inputs, found, findings)
            summary = write_summary(folder, command, told, screen.notes, start)
    if as_json:
        click.echo(json.dumps(summary, allow_nan=False))
    elif not quiet:
        _print_summary(summary, output)


def report_is_possible(wanted: bool | None, screen: Screen) -> bool:
    """Whether a report can be written; an error only if it was asked for."""
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


def _amount(files: tuple[NamedFile, ...]) -> str:
    megabytes = sum(file.path.stat().st_size for file in files) / 1e6
    number = "one file" if len(files) == 1 else f"{len(files)} files"
    return f"{number}, {megabytes:,.1f} MB"


def _write(
    folder: Path, inputs: Inputs, found: Answer, findings: Findings, draw: bool
) -> None:
    """Write all files except the summary."""
    ids, names = inputs.data.row_ids, label_files(inputs.data.view_names)
    for i, view in enumerate(findings.views):
        if view.labels is not None:
            write_labels(folder / names[i], ids[i], view.labels)
    write_matches(folder / MATCHES, findings, ids)
    if findings.views[findings.template].unmatched is not None:
        write_unmatched(folder / UNMATCHED, findings, ids)
    if findings.n_suspects:
        write_suspects(folder / SUSPECTS, findings)
    for name, write in found.files.items():
        write(folder / name)
    if draw:
        html = render(findings)
        (folder / REPORT).write_bytes(html.encode("utf-8", "backslashreplace"))


def _summarise(inputs: Inputs, found: Answer, findings: Findings) -> dict[str, Any]:
    """Give the results for programs."""
    verdict, step = judge(findings), next_step(findings)
    best = findings.best_view
    return {
        "method": findings.method,
        **found.settings,
        "level": verdict.level,
        "headline": verdict.headline,
        "sentences": [line.replace("\u00a0", " ") for line in verdict.sentences],
        "next_step": None if step is None else step.for_command(),
        "template": findings.views[findings.template].name,
        "best_view": None if best is None else findings.views[best].name,
        "suspects": findings.n_suspects,
        "views": [_view_entry(i, inputs, findings) for i in range(len(findings.views))],
    }


def _view_entry(i: int, inputs: Inputs, findings: Findings) -> dict[str, Any]:
    """Give the results for one view."""
    data, prepared, view = inputs.data, inputs.prepared[i], findings.views[i]
    t = findings.template
    entry = {
        "name": view.name,
        "file": str(data.paths[i]),
        "rows": view.n_rows,
        "features": view.n_features,
        "has_ids": data.has_ids[i],
        "standing": standing(view, findings),
        "verdict": view.verdict,
        "trust": None if isnan(view.trust) else view.trust,
        "promising": view.promising,
        "basis": view.basis,
        "known": view.known,
        "matches": view.n_matched,
        "expected_right": _expected_right(view) if i != t else None,
        "doubtful": view.n_doubtful if view.verdict == "objects" else None,
        "unmatched": None if view.unmatched is None else len(view.unmatched),
        "known_matches": len(inputs.known.between(i, t)[0]) if i != t else 0,
        "columns": column_entries(prepared),
        "imputed": prepared.n_imputed,
        "preparation": prepared.summary(),
    }
    if view.labels is not None:
        entry["labels"] = label_files(data.view_names)[i]
        entry["shares_clusters"] = view.shares_clusters
    if view.clusters is not None:
        entry["clusters"] = cluster_entries(view.clusters)
        entry["agreement_alone"] = view.clusters.agreement
    return entry


def _expected_right(view: ViewFindings) -> float | None:
    """Share of the matches that are expected to be right, if known."""
    if view.verdict != "objects" or not view.n_matched:
        return None
    return view.expected_right / view.n_matched


def _print_summary(summary: dict[str, Any], output: Path) -> None:
    """Print the results, and where the files are."""
    click.secho(f"{summary['headline']}.", bold=True)
    for sentence in (*summary["sentences"], *summary["notes"]):
        click.echo(sentence)
    for view in summary["views"]:
        click.echo(f"{view['name']}: {printable(as_options(view['preparation']))}")
    if summary["next_step"]:
        click.secho(f"Next step: {summary['next_step']}", bold=True)
    click.echo(f"\nIn {output}:")
    for pattern, what in FILES.items():
        if any(fnmatch(name, pattern) for name in summary["files"]):
            click.echo(f"  {pattern:17} {what}")
