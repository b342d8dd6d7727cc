"""What a command writes: a folder of results, complete or not at all."""

import csv
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from unaligned.cli._session import undisturbed
from unaligned.report import Findings

__all__ = [
    "KIND",
    "SUMMARY",
    "check_output",
    "label_files",
    "spreadsheet_cell",
    "whole_folder",
    "write_labels",
    "write_matches",
    "write_summary",
]

KIND = "unaligned results"
SUMMARY = "summary.json"
LONGEST_NAME = 100  # bytes that a view adds to the name of its file


def check_output(output: Path, *, force: bool) -> None:
    """Complain, before anything takes time, where results cannot be written.

    Only results of an earlier run are ever replaced, and no other file is touched.
    """
    if output.exists() and not output.is_dir():
        raise click.ClickException(f"{output} is a file; name a folder with --output.")
    place = _place_beside(output)
    if not os.access(place, os.W_OK | os.X_OK):
        raise click.ClickException(
            f"{output} cannot be written, because {place} is write-protected; name "
            "another folder with --output."
        )
    if not output.is_dir() or not any(output.iterdir()):
        return
    if not _earlier_files(output):
        raise click.ClickException(
            f"{output} holds other files; name an empty or a new folder with --output."
        )
    if not force:
        raise click.ClickException(
            f"{output} holds earlier results; replace them with --force, or name "
            "another folder with --output."
        )


def _place_beside(output: Path) -> Path:
    """Find a folder on the disk of the output: itself, or the nearest above it."""
    output = output.absolute()
    return next(place for place in (output, *output.parents) if place.is_dir())


def _earlier_files(folder: Path) -> list[Path]:
    """Files that an earlier run wrote, its summary first; none: not such a folder."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        if summary["kind"] != KIND:
            return []
        names = {str(name) for name in summary["files"]} - {SUMMARY}
    except (OSError, ValueError, KeyError, TypeError):
        return []
    inside = sorted(name for name in names if Path(name).name == name)
    return [folder / name for name in (SUMMARY, *inside)]


@contextmanager
def whole_folder(output: Path) -> Iterator[Path]:
    """Give a folder to write into, whose files reach the output when all are there.

    Where anything goes wrong, or somebody stops the program, it disappears.
    """
    name = f".{output.absolute().name}.{secrets.token_hex(4)}.part"
    draft = _place_beside(output) / name
    try:
        draft.mkdir()
        yield draft
        with undisturbed():
            _publish(draft, output)
    finally:
        with undisturbed():
            shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, output: Path) -> None:
    """Put a complete folder in its place; into an existing one, file by file."""
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(output)
        return
    for file in _earlier_files(output):
        file.unlink(missing_ok=True)
    # The summary says that results are there: it comes last.
    for file in sorted(draft.iterdir(), key=lambda file: file.name == SUMMARY):
        os.replace(file, output / file.name)


def spreadsheet_cell(text: str) -> str:
    """Text that a spreadsheet will not take for a formula, as the report writes it.

    Examples
    --------
    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("cell-1")
    ("'=1+1", 'cell-1')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


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


def write_labels(path: Path, ids: Sequence[str], labels: Iterable[Any]) -> None:
    """Write the cluster of every row of a view."""
    lines = (
        (row, spreadsheet_cell(name), int(cluster))
        for row, (name, cluster) in enumerate(zip(ids, labels, strict=True))
    )
    _write_csv(path, ("row", "id", "cluster"), lines)


def write_matches(path: Path, findings: Findings, ids: Sequence[Sequence[str]]) -> None:
    """Write all matches, in the columns of the report's own table."""
    template = findings.views[findings.template]
    head = ["template_view", "template_row", "template_id", "view", "row", "id"]
    head += ["confidence", "trust"]
    if template.labels is not None:
        head += ["template_cluster", "cluster"]

    def lines() -> Iterator[list[Any]]:
        for view, its_ids in zip(findings.views, ids, strict=True):
            if view is template:
                continue
            for at in (view.partners >= 0).nonzero()[0].tolist():
                row = int(view.partners[at])
                cells = [template.name, at, ids[findings.template][at]]
                cells += [view.name, row, its_ids[row]]
                line: list[Any] = [spreadsheet_cell(str(cell)) for cell in cells]
                line += [f"{view.confidence[at]:.6g}", f"{view.trust:.6g}"]
                if template.labels is not None and view.labels is not None:
                    line += [int(template.labels[at]), int(view.labels[row])]
                yield line

    _write_csv(path, head, lines())


def write_summary(path: Path, summary: dict[str, Any]) -> None:
    """Write a summary, one entry a line."""
    text = json.dumps(summary, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_csv(path: Path, head: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with open(
        path, "w", newline="", encoding="utf-8", errors="backslashreplace"
    ) as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(lines)
