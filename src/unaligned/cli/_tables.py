"""Tables of results, as CSV that is safe for spreadsheets."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from unaligned.cli._outputs import spreadsheet_cell
from unaligned.report import Findings
from unaligned.spaces import Neighbors

__all__ = [
    "write_labels",
    "write_matches",
    "write_neighbours",
    "write_suspects",
    "write_unmatched",
]


def write_labels(path: Path, ids: Sequence[str], labels: Iterable[Any]) -> None:
    """Write the cluster of every row of a view."""
    lines = (
        (row, spreadsheet_cell(name), int(cluster))
        for row, (name, cluster) in enumerate(zip(ids, labels, strict=True))
    )
    _write_csv(path, ("row", "id", "cluster"), lines)


def write_matches(path: Path, findings: Findings, ids: Sequence[Sequence[str]]) -> None:
    """Write all matches, in the columns of the report's own table.

    Groups that are aligned apart from the template have their own template.
    """
    views = findings.views
    head = ["template_view", "template_row", "template_id", "view", "row", "id"]
    head += ["confidence", "trust", "verdict"]
    if views[findings.template].labels is not None:
        head += ["template_cluster", "cluster"]

    def lines(
        t: int, i: int, partners: Any, sure: Any, trust: float, verdict: str
    ) -> Iterator[Any]:
        labels, template_labels = views[i].labels, views[t].labels
        for at in (partners >= 0).nonzero()[0].tolist():
            row = int(partners[at])
            cells = [views[t].name, at, ids[t][at], views[i].name, row, ids[i][row]]
            line: list[Any] = [spreadsheet_cell(str(cell)) for cell in cells]
            line += [f"{sure[at]:.6g}", "" if isnan(trust) else f"{trust:.6g}", verdict]
            if template_labels is not None and labels is not None:
                line += [int(template_labels[at]), int(labels[row])]
            yield line

    t = findings.template
    found = [
        (t, i, view.partners, view.confidence, view.trust, view.verdict)
        for i, view in enumerate(views)
        if i != t
    ]
    for group in findings.apart:
        for i in group.trusted():
            if i != group.template:
                rows, sure = group.permutations[i], group.confidence[i]
                about = float(group.trust[i]), group.verdict[i]
                found.append((group.template, i, rows, sure, *about))
    _write_csv(path, head, chain.from_iterable(lines(*view) for view in found))


def write_unmatched(
    path: Path, findings: Findings, ids: Sequence[Sequence[str]]
) -> None:
    """Write the rows of every view that have no partner in any other."""
    lines = (
        [spreadsheet_cell(view.name), int(row), spreadsheet_cell(ids[i][row])]
        for i, view in enumerate(findings.views)
        for row in (() if view.unmatched is None else view.unmatched)
    )
    _write_csv(path, ("view", "row", "id"), lines)


def write_neighbours(
    path: Path, found: Neighbors, ids: Sequence[str], row_ids: Sequence[str]
) -> None:
    """Write the nearest rows of every vector, a line each; confidence of the first."""
    lines = (
        [
            query,
            spreadsheet_cell(ids[query]),
            rank + 1,
            int(row),
            spreadsheet_cell(row_ids[row]),
            f"{found.similarity[query, rank]:.6g}",
            *(
                f"{figures[query]:.6g}" if rank == 0 else ""
                for figures in (found.confidence, found.typical)
            ),
        ]
        for query, nearest in enumerate(found.rows)
        for rank, row in enumerate(nearest)
    )
    head = ["vector", "vector_id", "rank", "row", "id", "similarity"]
    head += ["confidence", "typical"]
    _write_csv(path, head, lines)


def write_suspects(path: Path, findings: Findings) -> None:
    """Write the known pairs that the data contradict."""
    lines = findings.suspect_rows()
    cells = ([spreadsheet_cell(str(cell)) for cell in line.values()] for line in lines)
    _write_csv(path, [*lines[0]], cells)


def _write_csv(path: Path, head: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with open(
        path, "w", newline="", encoding="utf-8", errors="backslashreplace"
    ) as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(lines)
