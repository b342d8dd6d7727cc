"""``unaligned bench``: the paper's evaluation, run again."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from unaligned.benchmark import protocol
from unaligned.benchmark.cells import Results
from unaligned.benchmark.environment import physical_bytes
from unaligned.benchmark.methods import METHODS, method_of
from unaligned.benchmark.page import ARTEFACTS, html_page, markdown_page, sections
from unaligned.benchmark.plans import PLANS, Study
from unaligned.benchmark.runner import Limits
from unaligned.benchmark.study import run_study
from unaligned.benchmark.summary import Case
from unaligned.cli._options import PositiveType
from unaligned.cli._outputs import check_place
from unaligned.cli._screen_tables import table_on_screen
from unaligned.cli.bench_progress import BenchProgress
from unaligned.persistence.drafts import whole_file

__all__ = ["bench"]

CELLS = "cells.jsonl"
QUICK_ROWS = 600
QUICK_SIZES = (250, 500, 1000)


@click.group()
def bench() -> None:
    """Run the paper's evaluation and write a page of results.

    Results are appended to OUTPUT/cells.jsonl, one line for every fit. A run that is
    stopped, by Ctrl-C or by force, goes on where it was when it is started again.
    """


def _names(_: Any, __: Any, value: str | None) -> tuple[str, ...]:
    """Read a list of names."""
    return tuple(name.strip() for name in (value or "").split(",") if name.strip())


def _methods(context: Any, option: Any, value: str | None) -> tuple[str, ...]:
    """Read a list of methods."""
    try:
        return tuple(method_of(name).name for name in _names(context, option, value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _ratios(context: Any, option: Any, value: str | None) -> tuple[float, ...]:
    """Read a list of shares."""
    names = _names(context, option, value)
    try:
        ratios = tuple(float(name) for name in names)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers.") from None
    if not all(0 <= ratio <= 1 for ratio in ratios):
        raise click.BadParameter(f"{value!r}: shares lie between 0 and 1.")
    return ratios


OUTPUT = click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("unaligned-bench"),
    show_default=True,
    help="Folder of the result file and the page.",
)
DATA = click.option(
    "--datasets",
    callback=_names,
    help="Names, with commas between. Default: the paper's six, those that are there.",
)
OPTIONS: list[Callable[..., Any]] = [
    DATA,
    click.option("--methods", callback=_methods, help="Names. Default: all."),
    click.option(
        "--quick",
        is_flag=True,
        help=f"{QUICK_ROWS} of the digits, small grids, 2 shuffles: minutes.",
    ),
    click.option("--shuffles", type=click.IntRange(1), help="Default: 10."),
    click.option(
        "--grid-shuffles",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        help="Shuffles that grids are searched on; 0: released and default settings.",
    ),
    click.option("--ratios", callback=_ratios, help="Shares of known pairs, figure 4."),
    click.option(
        "--rows", type=click.IntRange(10), help="So many rows of each dataset."
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        default=os.cpu_count() or 1,
        show_default=True,
        help="Fits at a time; they share the processor's cores.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1),
        envvar="OMP_NUM_THREADS",
        help="Threads of each fit. Default: OMP_NUM_THREADS, or cores over jobs.",
    ),
    click.option(
        "--time-limit",
        type=PositiveType(),
        default=600.0,
        show_default=True,
        help="Seconds that one fit may take.",
    ),
    click.option(
        "--memory-limit",
        type=PositiveType(),
        help="GB that one fit may take. Default: the machine's, over the jobs.",
    ),
    click.option("--retry", is_flag=True, help="Run again what did not end well."),
    click.option("--again", is_flag=True, help="Run again what is there, too."),
    click.option("--page/--no-page", default=True, help="Whether to write the page."),
    OUTPUT,
]


def _add_command(name: str, parts: tuple[str, ...], about: str) -> None:
    """Make the command of a table or a figure."""

    def command(**options: Any) -> None:
        _run(parts, **options)

    for option in reversed(OPTIONS):
        command = option(command)
    bench.command(name, help=about)(command)


for _name, _made in ARTEFACTS.items():
    _add_command(_name, (_name,), f"{_made.title}. {_made.intro}")
_add_command("all", tuple(PLANS), "Every table and figure.")


def _run(
    parts: tuple[str, ...],
    output: Path,
    jobs: int,
    threads: int | None,
    time_limit: float,
    memory_limit: float | None,
    retry: bool,
    again: bool,
    page: bool,
    **options: Any,
) -> None:
    """Run what is missing, print the tables, write the page."""
    check_place(output)
    console = Console(markup=False)
    if parts == ("scaling",):  # on data of its own
        options["datasets"] = ("synthetic",)
    study = _study(console, time_limit=time_limit, **options)
    try:
        results = Results(output / CELLS)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    threads = threads or max(1, (os.cpu_count() or 1) // jobs)
    limits = Limits(time_limit, _memory(memory_limit, jobs), threads)
    progress = BenchProgress(console, results, jobs)
    try:
        with _terminate_is_ctrl_c(), progress:
            run_study(
                parts, study, results, jobs=jobs, limits=limits, retry=retry,
                again=again, observer=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        console.print(
            f"Stopped. {len(results)} cells are in {results.path}; the same command "
            "goes on from there."
        )
        raise SystemExit(130) from None
    _print_tables(console, results, parts)
    if page:
        _write_page(console, results, output)


@contextmanager
def _terminate_is_ctrl_c() -> Iterator[None]:
    """Treat signals that end jobs like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _study(
    console: Console,
    *,
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    quick: bool,
    shuffles: int | None,
    grid_shuffles: int,
    ratios: tuple[float, ...],
    rows: int | None,
    time_limit: float,
) -> Study:
    """Put the options together."""
    if quick:
        rows = rows or QUICK_ROWS
    names = datasets or (("digits",) if quick else protocol.PAPER_DATASETS)
    cases = tuple(Case(name, rows) for name in _present(console, names, bool(datasets)))
    chosen: dict[str, Any] = {"sizes": QUICK_SIZES} if quick else {}
    return Study(
        cases,
        methods or tuple(METHODS),
        shuffles or (2 if quick else protocol.N_SHUFFLES),
        grid_shuffles,
        ratios or ((0.0, 0.5, 1.0) if quick else protocol.RATIOS),
        quick=quick,
        time_limit=time_limit,
        **chosen,
    )


def _present(console: Console, names: tuple[str, ...], strict: bool) -> list[str]:
    """Datasets that can be loaded; all of those that were asked for must be."""
    found = []
    for name in names:
        entry = protocol.entry_of(name)
        try:
            protocol.load_views(entry)
        except (OSError, ValueError) as error:
            if strict:
                raise click.ClickException(str(error)) from None
            console.print(f"Without {name}: {error}", style="dim")
        else:
            found.append(entry.name)
    if not found:
        raise click.ClickException(
            "None of the paper's datasets is there. Run with --quick, which needs no "
            "file, or name what you have with --datasets."
        )
    return found


def _memory(limit: float | None, jobs: int) -> int | None:
    """Bytes that a worker may take."""
    if limit is not None:
        return int(limit * 1e9)
    physical = physical_bytes()
    return physical and physical // jobs


def _print_tables(console: Console, results: Results, parts: tuple[str, ...]) -> None:
    for part in parts:
        for table in ARTEFACTS[part].tables(results):
            console.print(table_on_screen(table, console.width))
            for note in table.notes:
                console.print(note, style="dim")


def _write_page(console: Console, results: Results, output: Path) -> None:
    """Write the page, its Markdown and its figures."""
    try:
        parts = sections(results)
        html = html_page(results, parts)
    except ImportError as error:
        console.print(f"No page: {error}")
        return
    source = f"Made by `unaligned bench` from `{CELLS}`."
    markdown = markdown_page(results, parts, "figures", source)
    (output / "figures").mkdir(parents=True, exist_ok=True)
    pictures = [picture for section in parts for picture in section.pictures]
    files = {f"figures/{picture.name}.svg": picture.file for picture in pictures}
    for name, text in (files | {"page.md": markdown, "page.html": html}).items():
        with whole_file(output / name) as file:
            file.write(text.encode())
    console.print(f"Page: {output / 'page.html'}")


@bench.command("page")
@OUTPUT
def page_command(output: Path) -> None:
    """Write the page again from OUTPUT/cells.jsonl, without running anything."""
    if not (output / CELLS).exists():
        raise click.ClickException(f"There is no {output / CELLS}.")
    try:
        _write_page(Console(markup=False), Results(output / CELLS), output)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as bad:
        raise click.ClickException(
            f"{output / CELLS} holds a result that cannot be shown ({bad!r}); run the "
            "study again into another folder."
        ) from None


@bench.command("shuffles")
@DATA
@click.option("--ratios", callback=_ratios, help="Shares of known pairs.")
@OUTPUT
def shuffles_command(
    datasets: tuple[str, ...], ratios: tuple[float, ...], output: Path
) -> None:
    """Write the row orders of the ten shuffles, for other programs.

    One text file for every dataset, share and shuffle: a column for every view, with
    the original row (from 0) behind each row of the shuffled view.
    """
    check_place(output)
    console = Console(markup=False)
    folder = output / "shuffles"
    folder.mkdir(parents=True, exist_ok=True)
    names = _present(console, datasets or protocol.PAPER_DATASETS, bool(datasets))
    for name in names:
        data = protocol.load_views(protocol.entry_of(name))
        for ratio in ratios or protocol.RATIOS:
            for shuffle in range(protocol.N_SHUFFLES):
                orders = protocol.row_orders(len(data.y), len(data.Xs), ratio, shuffle)
                path = folder / f"{name}_ratio{ratio:g}_shuffle{shuffle}.csv"
                _write_orders(path, orders)
    console.print(f"Row orders: {folder}")


def _write_orders(path: Path, orders: list[Any]) -> None:
    head = ",".join(f"view{i}" for i in range(len(orders)))
    lines = (",".join(map(str, rows)) for rows in zip(*orders, strict=True))
    path.write_text("\n".join([head, *lines]) + "\n")
