"""``unaligned translate``: new vectors of one embedding space looked up in another."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unaligned.cli._options import (
    DEBUG,
    EFFORTS,
    EXIT_CODES,
    FORCE,
    OUTPUT,
    QUIET,
    SEED,
    SUMMARY_AS_JSON,
    FileType,
    NamedFile,
)

if TYPE_CHECKING:
    from unaligned.datasets import FileView, FileViews
    from unaligned.spaces import SpaceTranslator

__all__ = ["translate"]

NEIGHBOURS, VECTORS = "neighbours.csv", "translated.npy"


@click.command(epilog=EXIT_CODES)
@click.argument("one", type=FileType())
@click.argument("other", type=FileType())
@click.option(
    "--new",
    "queries",
    type=FileType(),
    help="File with new vectors of the first space. Default: those of the first file.",
)
@OUTPUT
@click.option(
    "--neighbours",
    "-n",
    "n_neighbors",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Rows of the second space to give for each vector.",
)
@click.option(
    "--vectors/--no-vectors",
    default=False,
    show_default=True,
    help=f"Whether to write the translated vectors, too, as {VECTORS}.",
)
@click.option(
    "--effort",
    type=click.Choice([*EFFORTS]),
    default="normal",
    show_default=True,
    help="How hard to search for the correspondence.",
)
@click.option(
    "--pairs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Table of known pairs. Its first line names the two files; every other line "
    "names a row of each, by id or by number from 0 on.",
)
@click.option(
    "--match-ids", is_flag=True, help="Equal ids in both files mean the same object."
)
@SEED
@FORCE
@QUIET
@SUMMARY_AS_JSON
@DEBUG
def translate(
    one: NamedFile,
    other: NamedFile,
    queries: NamedFile | None,
    output: Path,
    n_neighbors: int,
    vectors: bool,
    effort: str,
    pairs: Path | None,
    match_ids: bool,
    seed: int,
    force: bool,
    quiet: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Look up vectors of one embedding space in another.

    ONE and OTHER hold vectors, one in each row: Parquet, .npy, CSV and others. No pair
    of rows need be known. The spaces are aligned, vectors of the first are translated
    into the second, and the nearest rows there are given with the probability that
    they are the right ones. Numbers are used as they are; .npy files stay on disk.
    """
    # Here, so that --help is quick.
    import json
    import time

    from unaligned.cli._outputs import (
        SUMMARY,
        check_names,
        check_output,
        whole_folder,
        write_summary,
    )
    from unaligned.cli._session import session
    from unaligned.spaces import SpaceTranslator

    start = time.monotonic()
    with session(quiet=quiet, debug=debug) as screen:
        check_output(output, force=force)
        check_names(output, [NEIGHBOURS, VECTORS, SUMMARY])
        screen.stage("Reading the files")
        data, asked = _read(one, other, queries, pairs, match_ids)
        screen.stage("Searching for the correspondence")
        spaces = SpaceTranslator(effort=effort, random_state=seed, verbose=1)
        spaces.fit(*data.Xs, aligned=data.aligned)
        with whole_folder(output) as folder:
            told: dict[str, Any] = {
                "spaces": data.view_names,
                "rows": [len(X) for X in data.Xs],
                "effort": effort,
                "seed": seed,
                **_standing(spaces),
            }
            if spaces.n_pairs_:
                screen.stage("Looking up the vectors")
                told |= _write(folder, spaces, asked, data, n_neighbors, vectors)
            summary = write_summary(folder, "translate", told, screen.notes, start)
    if as_json:
        click.echo(json.dumps(summary, allow_nan=False))
    elif not quiet:
        _tell(summary, output)


def _read(
    one: NamedFile,
    other: NamedFile,
    queries: NamedFile | None,
    pairs: Path | None,
    match_ids: bool,
) -> "tuple[FileViews, tuple[Any, list[str]]]":
    """Read both spaces, known pairs, and the vectors to look up."""
    from unaligned.cli._inputs import complain_of_no_match, joined, read_pairs
    from unaligned.datasets import read_view, read_views
    from unaligned.matrices import as_matrix
    from unaligned.views import check_views

    ids = [one.id_column, other.id_column]
    data = read_views(
        [one.path, other.path], id_column=ids, match_ids=match_ids, mmap=True
    )
    if len(data.Xs) != 2:
        raise click.ClickException(
            f"Two spaces are needed, and the files hold {len(data.Xs)}."
        )
    complain_of_no_match(match_ids, data)
    if pairs is not None:
        data = data._replace(aligned=joined(data.aligned, read_pairs(pairs, data)))
    # Input that cannot be used is refused before the search, with the name of its file.
    for path, X in zip((one.path, other.path), data.Xs, strict=True):
        _check_dense(path, X)
    check_views(dict(zip(data.view_names, data.Xs, strict=True)))
    if queries is None:
        return data, (data.Xs[0], data.row_ids[0])
    view = read_view(queries.path, id_column=queries.id_column, mmap=True)
    _check_dense(queries.path, view.X)
    X = as_matrix(_in_order(view, queries.path, data), str(queries.path))
    return data, (X, view.row_ids or [*map(str, range(len(X)))])


def _check_dense(path: Path, X: Any) -> None:
    """Complain about a sparse matrix."""
    if hasattr(X, "toarray"):
        raise click.ClickException(
            f"{path} holds a sparse matrix. Reduce it to some hundred columns first, "
            "e.g. with sklearn.decomposition.TruncatedSVD."
        )


def _in_order(view: "FileView", path: Path, data: "FileViews") -> Any:
    """Put the columns of new vectors in the order of the first space."""
    names, wanted = view.feature_names, data.feature_names[0]
    width = data.Xs[0].shape[1]
    if view.X.shape[1] != width:
        raise click.ClickException(
            f"{path} has vectors of {view.X.shape[1]} numbers, and {data.paths[0]} has "
            f"vectors of {width}. --new takes vectors of the first space."
        )
    if not names or not wanted or names == wanted:
        return view.X
    if missing := [name for name in wanted if name not in names]:
        raise click.ClickException(
            f"{path} has no column {missing[0]!r}, which {data.paths[0]} has. --new "
            "takes the same columns; rename those that are."
        )
    return view.X[:, [names.index(name) for name in wanted]]


def _standing(spaces: "SpaceTranslator") -> dict[str, Any]:
    """Describe the result for the two spaces."""
    found = spaces.alignment_
    other = 1 - found.template
    told = {
        "verdict": found.verdict[other],
        "trust": float(found.trust[other]),
        "promising": other in found.promising(),
        "known": float(found.known[other]),
        "pairs": spaces.n_pairs_,
    }
    if spaces.n_pairs_:
        told |= {"explained": spaces.quality_, "top1_held_out": spaces.top1_}
    return told


def _write(
    folder: Path,
    spaces: "SpaceTranslator",
    asked: tuple[Any, list[str]],
    data: "FileViews",
    n_neighbors: int,
    vectors: bool,
) -> dict[str, Any]:
    """Write the nearest rows of every vector, and the vectors if asked for."""
    import numpy as np

    from unaligned.calibration import UNTYPICAL
    from unaligned.cli._tables import write_neighbours

    X, ids = asked
    n_neighbors = min(n_neighbors, len(data.Xs[1]))
    found = spaces.nearest(X, n_neighbors)
    write_neighbours(folder / NEIGHBOURS, found, ids, data.row_ids[1])
    if vectors:
        np.save(folder / VECTORS, spaces.translate(X))
    sure = found.confidence
    return {
        "vectors": len(ids),
        "expected_right": float(sure.mean()),
        "sure": {f"{level:g}": int((sure >= level).sum()) for level in (0.5, 0.9)},
        "untypical": int((found.typical < UNTYPICAL).sum()),
    }


def _tell(summary: dict[str, Any], output: Path) -> None:
    """Print the results, and where the files are."""
    one, other = summary["spaces"]
    if not summary["pairs"]:
        click.secho(f"{one} and {other} could not be aligned.", bold=True)
        state = ", promising, not confirmed" if summary["promising"] else ""
        click.echo(
            f"The verdict is none (trust {summary['trust']:.2f}{state}), and nothing "
            "was translated. Give some pairs with --pairs, or try --effort thorough."
        )
        return
    click.secho(
        f"{summary['vectors']:,} vectors were looked up in {other}; "
        f"{summary['expected_right']:.0%} of the nearest rows are expected to be the "
        "right ones.",
        bold=True,
    )
    click.echo(
        f"The map was learned from {summary['pairs']:,} pairs (verdict "
        f"{summary['verdict']}, trust {summary['trust']:.2f}) and explains "
        f"{summary['explained']:.0%} of the variance of pairs held out."
    )
    click.echo(f"Confidence is 0.9 or more for {summary['sure']['0.9']:,} vectors.")
    if summary["untypical"]:
        click.echo(
            f"{summary['untypical']:,} vectors are unlike those that the map was "
            f"learned from, or have no clear counterpart in {other}: less confidence. "
            "About 5 to 10 % are to be expected."
        )
    for note in summary["notes"]:
        click.echo(note)
    click.echo(f"\nIn {output}: {', '.join(summary['files'])}")
