"""Output of a command: a folder of results, complete or not at all.

Results are written into a private folder, the draft. If the output folder is new, the
draft is moved there. Files are moved into an existing folder one by one, and a kill can
interrupt that. So the draft is first renamed to *ready*, and the next command with the
same output completes it.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import click

from unaligned._version import __version__
from unaligned.cli._session import undisturbed
from unaligned.persistence.drafts import abandoned_drafts, begin_draft
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
LONGEST_NAME = 100  # bytes of the name of a view in a file name


def check_output(output: Path, *, force: bool) -> None:
    """Check early that results can be written.

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
    """Refuse to replace files that are no results."""
    listed = _files_of(output / SUMMARY)
    earlier = set() if listed is None else {*listed, SUMMARY}
    for path in (output / name for name in names):
        if os.path.lexists(path) and (path.name not in earlier or path.is_dir()):
            raise click.ClickException(
                f"{path} is not among the earlier results, and results of this name "
                "would replace it; move it, or name another folder with --output."
            )


def check_place(output: Path) -> None:
    """Check that the folder can be made and written into.

    By trying, under another name, because permissions are not enough to know.
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
    """Names of the files that a summary lists; None if there is no summary."""
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
    """Give a folder to write into, whose files are moved to the output at the end.

    If anything goes wrong, or the program is stopped, the folder is removed.
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
    """Move complete results into an existing folder, also after a kill."""
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
    """Complete or remove drafts of killed commands with the same output."""
    output = output.absolute()
    places = dict.fromkeys([output, output.parent, _place_beside(output)])
    for place in filter(Path.is_dir, places):
        for draft in abandoned_drafts(place, output):
            if (ready := draft.folder / READY).is_dir():
                _publish(ready, output)
            draft.remove()


def spreadsheet_cell(text: str) -> str:
    r"""Text that a spreadsheet does not read as a formula.

    Spreadsheets ignore blanks and invisible characters before a formula, and read
    full-width signs like the common ones.

    Examples
    --------
    >>> [spreadsheet_cell(text) for text in ("=1+1", "\n\uff1d1", "cell-1")]
    ["'=1+1", "'\n＝1", 'cell-1']
    """
    seen = (c for c in text if not c.isspace() and category(c)[0] not in "CZ")
    begins_formula = normalize("NFKC", next(seen, "x"))[:1] in FORMULAS_BEGIN
    return f"'{text}" if begins_formula or text.startswith(LINE_ENDS) else text


def label_files(view_names: Sequence[str]) -> list[str]:
    """Names of the files of labels, for any names of views.

    Examples
    --------
    >>> label_files(["rna", "a/b", "A_B"])
    ['labels_rna.csv', 'labels_a_b.csv', 'labels_A_B_2.csv']
    """
    names: list[str] = []
    taken: set[str] = set()  # some disks ignore case
    for view, name in enumerate(view_names):
        plain = re.sub(r"[^\w.-]+", "_", name)
        plain = plain.encode("utf-8", "ignore")[:LONGEST_NAME].decode("utf-8", "ignore")
        while plain.casefold() in taken:
            plain = f"{plain}_{view}"
        taken.add(plain.casefold())
        names.append(f"labels_{plain}.csv")
    return names


def column_entries(prepared: Prepared) -> list[dict[str, Any]]:
    """List the notes on columns, with columns of the same note together."""
    named = prepared.feature_names is not None
    return [
        {"action": action, "why": why, "n_columns": len(names)}
        | ({"columns": names} if named else {})
        for action, why, names in prepared.grouped()
    ]


def cluster_entries(clusters: ViewClusters) -> list[dict[str, Any]]:
    """List the clusters of a view, with the columns in which each differs most."""
    described = zip(clusters.names, clusters.sizes, clusters.distinctive, strict=True)
    return [
        {"cluster": name, "rows": size, "differs_in": dict(distinctive)}
        for name, size, distinctive in described
    ]


def write_summary(
    folder: Path, command: str, told: dict[str, Any], notes: list[str], start: float
) -> dict[str, Any]:
    """Write what a command tells of its results, one entry a line; return it.

    ``start`` is the time at which the command began.
    """
    summary = {
        "kind": KIND,
        "version": __version__,
        "command": command,
        **told,
        "notes": notes,
        "seconds": round(time.monotonic() - start, 1),
        "files": sorted([*(file.name for file in folder.iterdir()), SUMMARY]),
    }
    text = json.dumps(summary, indent=2, allow_nan=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return summary
