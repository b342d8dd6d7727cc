"""``unaligned compare``: all methods that can run on two files, side by side."""

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from unaligned.benchmark.columns import Table
from unaligned.benchmark.comparison import (
    Compared,
    choose_methods,
    comparison_table,
    run_comparison,
)
from unaligned.benchmark.environment import describe_environment
from unaligned.benchmark.html import Section, render_page
from unaligned.benchmark.runner import Limits
from unaligned.cli._command import report_is_possible
from unaligned.cli._inputs import Inputs, read_named
from unaligned.cli._options import EXIT_CODES, NamedFile, PositiveType, file_options
from unaligned.cli._outputs import (
    SUMMARY,
    check_names,
    check_output,
    whole_folder,
    write_summary,
)
from unaligned.cli._screen_tables import table_on_screen
from unaligned.cli._session import Screen, session
from unaligned.cli.cluster import read_n_clusters
from unaligned.estimators import ESTIMATORS
from unaligned.selection import select_n_clusters
from unaligned.views import check_n_clusters, check_views

__all__ = ["compare"]

PAGE = "comparison.html"
HOW = (
    "Every method ran in a process of its own, with its default settings. No labels "
    "were used.",
)


def _methods(_: Any, __: Any, value: str | None) -> tuple[str, ...]:
    """Read a list of methods."""
    by_name = {name.lower(): name for name in ESTIMATORS}
    names = [name.strip().lower() for name in (value or "").split(",") if name.strip()]
    for name in names:
        if name not in by_name:
            raise click.BadParameter(
                f"{name!r} is no method; there are {', '.join(ESTIMATORS)}."
            )
    return tuple(by_name[name] for name in names)


@click.command(epilog=EXIT_CODES)
@click.option(
    "--k",
    "-k",
    "n_clusters",
    metavar="N|auto",
    default="auto",
    show_default=True,
    callback=read_n_clusters,
    help='Number of clusters; "auto" chooses one without labels.',
)
@click.option(
    "--methods",
    callback=_methods,
    help="Names, with commas between. Default: all that can run on these files.",
)
@click.option(
    "--time-limit",
    type=PositiveType(),
    default=300.0,
    show_default=True,
    help="Seconds that one method may take.",
)
@file_options
def compare(
    n_clusters: int | None,
    methods: tuple[str, ...],
    time_limit: float,
    effort: str | None,
    seed: int,
    files: tuple[NamedFile, ...],
    output: Path,
    report: bool | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    debug: bool,
    **reading: Any,
) -> None:
    """Compare all methods that can run on two files, without labels.

    FILES hold two views: CSV, TSV, Parquet, .npy, .npz, MATLAB, AnnData (.h5ad) or
    MuData (.h5mu). What each method matched is tested by the same evidence, from rows
    and directions that were held out.
    """
    start = time.monotonic()
    with session(quiet=quiet, debug=debug) as screen:
        check_output(output, force=force)
        draw = report_is_possible(report, screen)
        check_names(output, [PAGE, SUMMARY])
        screen.stage("Reading the files")
        inputs = read_named(files, **reading)
        compared = _compared(inputs, n_clusters, seed, screen)
        settings = {"SAVuC": {"effort": effort or "normal"}}
        chosen = _chosen(methods, compared, screen)
        records = []
        asked = {name: settings.get(name, {}) for name in chosen}
        screen.stage(f"Fitting {chosen[0]}")
        for record in run_comparison(compared, asked, Limits(time_limit)):
            records.append(record)
            for name in chosen[len(records) : len(records) + 1]:
                screen.stage(f"Fitting {name}")
        names = inputs.data.view_names
        table = comparison_table(records, (names[0], names[1]))
        with whole_folder(output) as folder:
            if draw:
                page = _page(table, screen)
                (folder / PAGE).write_text(page, encoding="utf-8")
            told = {
                "views": names,
                "n_clusters": compared.n_clusters,
                "seed": seed,
                "methods": [_entry(record) for record in records],
            }
            summary = write_summary(folder, "compare", told, screen.notes, start)
    if as_json:
        click.echo(json.dumps(summary, allow_nan=False))
    elif not quiet:
        _tell(table, screen, output, draw)


def _compared(
    inputs: Inputs, n_clusters: int | None, seed: int, screen: Screen
) -> Compared:
    """Check that there are two views, and choose a number of clusters."""
    if len(inputs.data.Xs) != 2:
        raise click.ClickException(
            f"Methods are compared on two views, and there are {len(inputs.data.Xs)}."
        )
    views = check_views(inputs.Xs)
    if n_clusters is not None:
        check_n_clusters(n_clusters, views)
    else:
        screen.stage("Choosing the number of clusters")
        found = select_n_clusters(inputs.Xs, random_state=seed, verbose=1)
        n_clusters = int(found.n_clusters)
        screen.remarks.append(
            f"The number of clusters, {n_clusters}, was chosen without labels; set "
            "another with -k."
        )
    return Compared(views.arrays, inputs.data.aligned, n_clusters, seed)


def _chosen(
    methods: tuple[str, ...], compared: Compared, screen: Screen
) -> tuple[str, ...]:
    """Methods to run; an error for those that were asked for and cannot run."""
    able, reasons = choose_methods(compared)
    for name in methods:
        if name in reasons:
            raise click.ClickException(f"{name} cannot run here: it {reasons[name]}.")
    if not methods and reasons:
        told = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
        screen.remarks.append(f"Not run: {told}.")
    return methods or tuple(able)


def _entry(record: dict[str, Any]) -> dict[str, Any]:
    """Pick the part of a record that goes into the summary."""
    cell = ("dataset", "ratio", "shuffle", "views", "rows", "measure")
    return {name: value for name, value in record.items() if name not in cell}


def _page(table: Table, screen: Screen) -> str:
    """Render the table as a page."""
    about = (
        "What each method matched, tested by the same evidence from held-out rows and "
        "directions. Made by `unaligned compare`."
    )
    section = Section("methods", "Methods", "The largest evidence first.", [table])
    return render_page(
        "Methods compared",
        about,
        [section],
        how=HOW,
        rules={},
        summary=" ".join(screen.notes),
        failures=[],
        environments={"this run": describe_environment()},
    )


def _tell(table: Table, screen: Screen, output: Path, drawn: bool) -> None:
    """Print the table, and where the page is."""
    console = Console(markup=False)
    console.print(table_on_screen(table, console.width))
    for note in (*table.notes, *screen.notes):
        console.print(note, style="dim")
    if drawn:
        console.print(f"Page: {output / PAGE}")
