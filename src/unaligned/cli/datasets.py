"""``unaligned datasets``: datasets that can be loaded, and where they are."""

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from unaligned.cli._session import as_options
from unaligned.datasets import fetch, load_digits_views
from unaligned.datasets._load import find_file
from unaligned.datasets._registry import (
    Dataset,
    data_folders,
    download_folder,
    find_dataset,
    local_files,
    paper_datasets,
)
from unaligned.datasets.readers.numpy_files import npz_shapes

__all__ = ["datasets"]

DATA_HOME = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the files. Default: $UNALIGNED_DATA, or else the cache folder.",
)


@click.group()
def datasets() -> None:
    """Show and fetch the datasets of the paper, and list your own."""


@datasets.command("list")
@DATA_HOME
def list_(data_home: Path | None) -> None:
    """List the datasets that can be loaded by name."""
    folders = ", ".join(map(str, data_folders(data_home)))
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=0,
        caption=f"Folders: {folders}. More of each: unaligned datasets info NAME.",
        caption_justify="left",
    )
    table.add_column("name", no_wrap=True)
    for column in ("rows", "views", "classes", "MB"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("licence", no_wrap=True)
    table.add_column("where", no_wrap=True)
    digits = load_digits_views()
    table.add_row(
        "digits", f"{len(digits.y)}", f"{len(digits.Xs)}", "10", "", "", "built in"
    )
    ours = set()
    for dataset in paper_datasets().values():
        path = _path(dataset, data_home)
        ours.add(path)
        table.add_row(
            dataset.name,
            str(dataset.rows),
            str(len(dataset.columns)),
            str(dataset.classes),
            _megabytes(path.stat().st_size if path else dataset.size),
            dataset.licence,
            _where(dataset, path),
        )
    for path in local_files(data_home).values():
        if path not in ours:
            shapes = npz_shapes(path)
            rows = sorted({shape[0] for shape in shapes if shape})
            between = "–".join(dict.fromkeys(map(str, [*rows[:1], *rows[-1:]])))
            views = str(len(shapes) or "")
            size = _megabytes(path.stat().st_size)
            table.add_row(path.stem, between, views, "", size, "", "here")
    Console().print(table)


@datasets.command()
@click.argument("name")
@DATA_HOME
def info(name: str, data_home: Path | None) -> None:
    """Tell what a dataset is, where it comes from and where it lies."""
    dataset = find_dataset(name)
    path = _complain(find_file, name, data_home)
    if dataset is None:
        if name.lower() == "digits":
            click.echo(load_digits_views().DESCR.strip())
            return
        if path is None:
            raise click.ClickException(
                f"There is no dataset {name!r}. See them all with: unaligned datasets "
                "list"
            )
        shapes = ", ".join(" × ".join(map(str, s)) for s in npz_shapes(path))
        click.echo(f"{path.stem}: a file of your own{shapes and ', views ' + shapes}.")
        click.echo(f"File: {path}")
        return
    columns = " / ".join(str(width) for width in dataset.columns)
    click.echo(f"{dataset.name}\n\n{dataset.about}\n")
    click.echo(f"Rows:     {dataset.rows}")
    click.echo(f"Views:    {len(dataset.columns)}, with {columns} columns")
    click.echo(f"Classes:  {dataset.classes}")
    click.echo(f"Licence:  {dataset.licence}")
    click.echo(f"Origin:   {dataset.origin}")
    for url in dataset.urls:
        click.echo(f"Address:  {url}")
    if dataset.sha256:
        click.echo(f"SHA-256:  {dataset.sha256}")
    if dataset.git_blob:
        click.echo(f"Git blob: {dataset.git_blob}")
    place = path or download_folder(data_home) / dataset.file
    click.echo(f"File:     {place} ({_where(dataset, path)})")


@datasets.command("fetch")
@click.argument("names", nargs=-1, required=True)
@DATA_HOME
@click.option("--quiet", is_flag=True, help="No progress bar.")
def fetch_(names: tuple[str, ...], data_home: Path | None, quiet: bool) -> None:
    """Fetch datasets of the paper: NAMES, or "all" that can be fetched."""
    if names == ("all",):
        names = tuple(d.name for d in paper_datasets().values() if d.urls)
    for name in names:
        path = _complain(fetch, name, data_home, quiet=quiet)
        if not quiet:
            click.echo(path)


def _complain(action: Any, *arguments: Any, **options: Any) -> Any:
    """Do something with files; errors become one sentence without traceback."""
    try:
        return action(*arguments, **options)
    except (OSError, ValueError) as error:
        raise click.ClickException(as_options(str(error))) from None


def _path(dataset: Dataset, data_home: Path | None) -> Path | None:
    """File of a dataset; None if there is none or it is not the right one."""
    try:
        return find_file(dataset.name, data_home)
    except ValueError:
        return None


def _where(dataset: Dataset, path: Path | None) -> str:
    if path is not None:
        return "here"
    return "fetchable" if dataset.urls else "local file"


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.2f}"
