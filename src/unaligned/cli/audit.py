"""``unaligned audit``: how many rows of a released table can be found again."""

from typing import Any

import click

from unaligned.cli._options import (
    DEBUG,
    EFFORTS,
    EXIT_CODES,
    KEEP,
    SEED,
    FileType,
    NamedFile,
)

__all__ = ["audit"]


@click.command(epilog=EXIT_CODES)
@click.argument("original", type=FileType())
@click.argument("released", type=FileType())
@click.option(
    "--key",
    metavar="COLUMN",
    help="Column of both files that says which rows are the same. The attack does not "
    "see it.",
)
@click.option(
    "--same-order", is_flag=True, help="Row r of both files is the same object."
)
@click.option(
    "--exclude",
    metavar="COLUMN",
    multiple=True,
    help="Column that is not used, in whichever files have it. Can be repeated.",
)
@KEEP
@click.option(
    "--effort",
    type=click.Choice([*EFFORTS]),
    default="normal",
    show_default=True,
    help="How hard the attacker searches.",
)
@SEED
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print everything as one JSON object, and nothing else, to stdout.",
)
@DEBUG
def audit(
    original: NamedFile,
    released: NamedFile,
    key: str | None,
    same_order: bool,
    exclude: tuple[str, ...],
    keep: tuple[str, ...],
    effort: str,
    seed: int,
    as_json: bool,
    debug: bool,
) -> None:
    """Find out how many rows of a released table can be found again.

    ORIGINAL holds what somebody may know of the same people or things, RELEASED what is
    given away without names; their columns need not be the same. Rows are matched by
    their geometry alone. With --key or --same-order those found again are counted;
    without, their share is estimated.
    """
    # Here, so that --help is quick.
    import json

    from unaligned.cli._inputs import prepare_all
    from unaligned.cli._session import as_options, printable, session
    from unaligned.datasets import read_views
    from unaligned.disclosure import audit as audit_tables

    with session(quiet=as_json, debug=debug) as screen:
        screen.stage("Reading the files")
        data = read_views(
            [original.path, released.path],
            id_column=[key or original.id_column, key or released.id_column],
            exclude=exclude,
        )
        if len(data.Xs) != 2:
            raise click.ClickException(
                f"Two tables are needed, and the files hold {len(data.Xs)}."
            )
        tables = prepare_all(data, keep, exclude=exclude)
        screen.stage("Attacking the released table")
        found = audit_tables(
            *tables, key=key, same_order=same_order, effort=effort, random_state=seed
        )
        told: dict[str, Any] = {"command": "audit", **found.to_dict()}
        told["notes"] = screen.notes
    if as_json:
        click.echo(json.dumps(told, allow_nan=False))
        return
    warning, *rest = found.sentences()
    click.secho(warning, bold=True, fg="red" if found.above_chance else None)
    for sentence in (*rest, *told["notes"]):
        click.echo(as_options(sentence))
    click.echo(
        "\nRows looked up each by itself, by a regression on the original columns:\n"
        f"{'column':24} {'follows from original':>21} {'found without it':>17}"
    )
    for column in found.columns:
        name = printable(column.name)
        click.echo(f"{name:24} {column.explained:21.0%} {column.share_without:17.0%}")
    click.echo(f"{'(all columns)':24} {'':21} {found.share_with_all:17.0%}")
