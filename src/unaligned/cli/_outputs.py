"""What a command writes: a folder of results, complete or not at all.

Results are drafted in a private folder. A new output folder is that draft, moved. Into
one that exists they go file by file, and a kill can come in between. So the draft is
first renamed to *ready*, and the next command with the same output finishes what it
finds there.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import click

from unaligned.cli._session import undisturbed
from unaligned.drafts import abandoned_drafts, begin_draft
from unaligned.preparation import Prepared
from unaligned.report.clusters import ViewClusters

__all__ = [
    "KIND",
    "SUMMARY",
    "check_names",
    "check_output",
    "check_place",
    "cluster_entries",
    "column_entries",
    "label_files",
    "spreadsheet_cell",
    "whole_folder",
    "write_summary",
]

KIND = "unaligned results"
SUMMARY = "summary.json"
DRAFT, READY = "draft", "ready"
EARLIER = ".earlier.json"  # summary of the results that are being replaced
FORMULAS_BEGIN = "=+-@\N{MINUS SIGN}"
LINE_ENDS = ("\t", "\r", "\n")  # and of cells, in tables of text
LONGEST_NAME = 100  # bytes that a view adds to the name of its file


def check_output(output: Path, *, force: bool) -> None:
    """Complain, before anything takes time, where results cannot be written.

    Only results of an earlier run are ever replaced, and no other file is touched.
    """
    check_place(output)
    _clear_up(output)
    if not output.is_dir() or not any(output.iterdir()):
        return
    if _files_of(output / SUMMARY) is None:
        raise click.ClickException(
            f"{output} holds other files; name an empty or a new folder with --output."
        )
    if not force:
        raise click.ClickException(
            f"{output} holds earlier results; replace them with --force, or name "
            "another folder with --output."
        )


def check_names(output: Path, names: Iterable[str]) -> None:
    """Complain where results would take the place of files that are no results."""
    listed = _files_of(output / SUMMARY)
    earlier = set() if listed is None else {*listed, SUMMARY}
    for path in (output / name for name in names):
        if os.path.lexists(path) and (path.name not in earlier or path.is_dir()):
            raise click.ClickException(
                f"{path} is not among the earlier results, and results of this name "
                "would replace it; move it, or name another folder with --output."
            )


def check_place(output: Path) -> None:
    """Complain where the folder cannot be made or written into.

    By trying, under another name: what permissions say is not what a disk does.
    """
    try:
        for place in (output, *output.parents):
            if place.exists() and not place.is_dir():
                raise click.ClickException(
                    f"{place} is a file; name a folder with --output."
                )
            if place.is_symlink() and not place.exists():
                raise click.ClickException(
                    f"{place} is a link that leads nowhere; name a folder with "
                    "--output."
                )
        place = _place_beside(output)
        trial = begin_draft(place, output)
        try:
            way = output.absolute().relative_to(place)
            (trial.folder / "trial" / way).mkdir(parents=True)
        finally:
            trial.remove()
    except OSError as error:
        raise click.ClickException(
            f"{output} cannot be made or written into ({error.strerror}); name another "
            "folder with --output."
        ) from None


def _place_beside(output: Path) -> Path:
    """Find a folder on the disk of the output: itself, or the nearest above it."""
    output = output.absolute()
    return next(place for place in (output, *output.parents) if place.is_dir())


def _files_of(path: Path) -> set[str] | None:
    """Names of the files that a summary speaks of; None: there is no such summary."""
    if not path.is_file():  # reading a pipe may take for ever
        return None
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        if summary["kind"] != KIND:
            return None
        names = {str(name) for name in summary["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {name for name in names if Path(name).name == name}


@contextmanager
def whole_folder(output: Path) -> Iterator[Path]:
    """Give a folder to write into, whose files reach the output when all are there.

    Where anything goes wrong, or somebody stops the program, it disappears.
    """
    private = begin_draft(_place_beside(output), output)
    try:
        draft = private.folder / DRAFT
        draft.mkdir()
        yield draft
        with undisturbed():
            if output.exists():
                check_names(output, os.listdir(draft))
                ready = draft.rename(private.folder / READY)
                _publish(ready, output)
            else:
                output.parent.mkdir(parents=True, exist_ok=True)
                draft.rename(output)
    finally:
        with undisturbed():
            private.remove()


def _publish(ready: Path, output: Path) -> None:
    """Move complete results into an existing folder, from wherever a kill left off."""
    names = _files_of(ready / SUMMARY)
    if names is None:  # all is done: the summary is what comes last
        return
    if _files_of(output / SUMMARY) is not None:
        os.replace(output / SUMMARY, ready / EARLIER)
    for name in (_files_of(ready / EARLIER) or set()) - names:
        (output / name).unlink(missing_ok=True)
    for name in sorted(names, key=lambda name: name == SUMMARY):
        if (ready / name).exists():
            os.replace(ready / name, output / name)


def _clear_up(output: Path) -> None:
    """Finish or remove what commands that were killed left of the same output."""
    output = output.absolute()
    places = dict.fromkeys([output, output.parent, _place_beside(output)])
    for place in filter(Path.is_dir, places):
        for draft in abandoned_drafts(place, output):
            if (ready := draft.folder / READY).is_dir():
                _publish(ready, output)
            draft.remove()


def spreadsheet_cell(text: str) -> str:
    r"""Text that a spreadsheet will not take for a formula.

    Spreadsheets pass over blanks and invisible characters before a formula, and read
    full-width signs as the common ones.

    Examples
    --------
    >>> [spreadsheet_cell(text) for text in ("=1+1", "\n\uff1d1", "cell-1")]
    ["'=1+1", "'\n＝1", 'cell-1']
    """
    seen = (c for c in text if not c.isspace() and category(c)[0] not in "CZ")
    begins_formula = normalize("NFKC", next(seen, "x"))[:1] in FORMULAS_BEGIN
    return f"'{text}" if begins_formula or text.startswith(LINE_ENDS) else text


def label_files(view_names: Sequence[str]) -> list[str]:
    """Name a file for the labels of each view, whatever the view is called.

    Examples
    --------
    >>> label_files(["rna", "a/b", "A_B"])
    ['labels_rna.csv', 'labels_a_b.csv', 'labels_A_B_2.csv']
    """
    names: list[str] = []
    taken: set[str] = set()  # disks may not tell capital from small letters
    for view, name in enumerate(view_names):
        plain = re.sub(r"[^\w.-]+", "_", name)
        plain = plain.encode("utf-8", "ignore")[:LONGEST_NAME].decode("utf-8", "ignore")
        while plain.casefold() in taken:
            plain = f"{plain}_{view}"
        taken.add(plain.casefold())
        names.append(f"labels_{plain}.csv")
    return names


def column_entries(prepared: Prepared) -> list[dict[str, Any]]:
    """List what became of columns, those together of which the same is said."""
    named = prepared.feature_names is not None
    return [
        {"action": action, "why": why, "n_columns": len(names)}
        | ({"columns": names} if named else {})
        for action, why, names in prepared.grouped()
    ]


def cluster_entries(clusters: ViewClusters) -> list[dict[str, Any]]:
    """List the clusters of a view, with the columns in which each differs most."""
    described = zip(clusters.names, clusters.sizes, clusters.telling, strict=True)
    return [
        {"cluster": name, "rows": size, "differs_in": dict(telling)}
        for name, size, telling in described
    ]


def write_summary(path: Path, summary: dict[str, Any]) -> None:
    """Write a summary, one entry a line."""
    text = json.dumps(summary, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
