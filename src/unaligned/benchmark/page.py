"""The page of results: one self-contained HTML file, and Markdown for the docs."""

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from unaligned.benchmark import figures, rivals, scaling, tables
from unaligned.benchmark.cells import Results
from unaligned.benchmark.columns import Table, show
from unaligned.benchmark.html import Section, render_page
from unaligned.benchmark.pictures import Picture
from unaligned.benchmark.summary import RULES
from unaligned.benchmark.verdict import verdict_tables

__all__ = ["ARTEFACTS", "Section", "html_page", "markdown_page", "sections"]

HOW = (
    "Rows of every view are shuffled on their own. Shuffle s at ratio ρ is "
    "`unaligned.datasets.unalign(Xs, y, ratio=ρ, random_state=s)`; "
    "`unaligned bench shuffles` writes the row orders as files, and the package holds "
    "a digest of each that every run is checked against.",
    "Scores are percentages, means over shuffles, with the standard deviation after ±. "
    "A method that finds a template is scored in the template's row order, one that "
    "takes row r of all views for one object in the order of the first view, and "
    "CMVNMF in every view, averaged. The scores of PAVuC are means of five runs of its "
    "final k-means with 20 restarts each, as in the paper; those of the others come "
    "from the labels that their fit returns.",
    "“Same class” is the share of matched rows whose partner has the same class, over "
    "all views but the template; “by chance” is what a random matching gives. A dash "
    "means that the method matches no rows. The template alone is PAVuC's template, "
    "clustered from its own anchor graph without any partner.",
    "Views are used as they come, but for CIFAR-10 (standardised columns), Reuters "
    "(100 dimensions by a truncated SVD) and the digits (centred).",
    "Every fit runs in a process of its own, whose wall time and peak memory are its "
    "own. A fit that fails, takes too long or too much memory is listed as such.",
)
IN_SHORT = (
    "Which published figures these runs reproduce, and what stands behind the scores "
    "of PAVuC-ATS: its template, single views, and how often matched rows share a "
    "class."
)


@dataclass(frozen=True)
class Artefact:
    """How a section is made."""

    title: str
    intro: str
    tables: Callable[[Results], list[Table]] = lambda results: []
    pictures: Callable[[Results], list[Picture]] = lambda results: []


ARTEFACTS = {
    "table4": Artefact(
        "Table 4: all views, no pair known",
        "Ours beside the published figures, with rows that the paper lacks: random "
        "labels, k-means on one view, PAVuC's template alone, and SAVuC.",
        tables.table4,
    ),
    "table5": Artefact(
        "Table 5: two views",
        "Beside the methods that cannot do without known pairs.",
        tables.table5,
    ),
    "table6": Artefact(
        "Table 6: the alignment term taken out",
        "NPA-VuC is PAVuC without the term that pulls matched rows together.",
        tables.table6,
    ),
    "table7": Artefact("Table 7: time", "Whole fits.", tables.table7),
    "figure3": Artefact(
        "Figure 3: maps", "What the views and the fused graph look like.",
        pictures=figures.figure3,
    ),
    "figure4": Artefact(
        "Figure 4: more and more pairs known",
        "Scores against the share of rows whose partner is known.",
        pictures=figures.figure4,
    ),
    "figure5": Artefact(
        "Figure 5: sensitivity", "PAVuC over α and μ.", pictures=figures.figure5
    ),
    "figure6": Artefact(
        "Figure 6: convergence",
        "Objective, ACC and NMI after every iteration of PAVuC.",
        pictures=figures.figure6,
    ),
    "scaling": Artefact(
        "Scaling",
        "Time and memory against the number of rows.",
        scaling.scaling_tables,
        figures.scaling,
    ),
    "halves": Artefact(
        "Disjoint halves",
        "One view is learned from some objects, the other from others; unseen pairs "
        "are then looked up.",
        rivals.halves_tables,
    ),
    "rivals": Artefact(
        "Rivals",
        "Methods from the alignment of single cells and of embeddings beside ours, on "
        "two views.",
        rivals.rivals_tables,
    ),
}  # fmt: skip


def sections(results: Results) -> list[Section]:
    """Give the findings in short, and what tables and figures there are results for."""
    verdict = verdict_tables(results)
    found = [Section("short", "In short", IN_SHORT, verdict, [])] if verdict else []
    for name, made in ARTEFACTS.items():
        parts = made.tables(results), made.pictures(results)
        if any(parts):
            found.append(Section(name, made.title, made.intro, *parts))
    return found


def html_page(results: Results, parts: list[Section]) -> str:
    """One HTML file with everything in it; it loads nothing from elsewhere.

    Parameters
    ----------
    results : Results
    parts : list of Section
        Its `sections`.
    """
    return render_page(
        "The paper, reproduced",
        "Probabilistically Aligned View-unaligned Clustering with Adaptive Template "
        "Selection: its evaluation, run again by `unaligned bench`.",
        parts,
        how=HOW,
        rules=RULES,
        summary=summary(results),
        failures=failures(results),
        environments=results.environments,
    )


def summary(results: Results) -> str:
    """Say in a sentence how much was run."""
    records = [record for _, record in results]
    done = sum(record["status"] == "done" for record in records)
    hours = sum(record.get("worker_cpu_seconds", 0) for record in records) / 3600
    days = sorted({record["at"][:10] for record in records if "at" in record})
    when = f" between {days[0]} and {days[-1]}" if len(days) > 1 else ""
    when = f" on {days[0]}" if len(days) == 1 else when
    return (
        f"{len(records):,} cells, {done:,} of them done, {hours:.1f} hours of "
        f"processor time{when}.{busy(results)}"
    )


def busy(results: Results) -> str:
    """Warn of times that were taken while the machine did other things, too."""
    loads = [record["load"] for _, record in results if record.get("load") is not None]
    cores = [about.get("cores") or 1 for about in results.environments.values()]
    if not loads or not cores or (load := statistics.median(loads)) <= max(cores) + 1:
        return ""
    return (
        f" The machine was busy with other work: {load:.0f} processes wanted its "
        f"{max(cores)} cores. Seconds are upper bounds."
    )


def failures(results: Results) -> list[tuple[str, str, str, int]]:
    """Dataset, method, what happened and how often, of cells that did not end well."""
    found = Counter(
        (cell.dataset, cell.method, f"{record['status']}: {record.get('reason', '')}")
        for cell, record in results
        if record["status"] != "done"
    )
    return [(*key, times) for key, times in sorted(found.items())]


def markdown_page(
    results: Results, parts: list[Section], images: str, source: str
) -> str:
    """Write the same in Markdown.

    Parameters
    ----------
    results : Results
    parts : list of Section
        Its `sections`.
    images : str
        Folder that figures are referred to in, by their names.
    source : str
        Sentence that says where the page comes from.
    """
    text = ["# The paper, reproduced", source, summary(results)]
    for section in parts:
        text += [f"## {section.title}", section.intro]
        for table in section.tables:
            text += [f"### {table.title}", markdown_table(table), *table.notes]
        for picture in section.pictures:
            image = f"![{picture.title}]({images}/{picture.name}.svg)"
            text += [f"### {picture.title}", image, picture.caption]
    text += ["## How each number was made", *HOW]
    text.append("\n".join(f"- **{rule}**: {about}." for rule, about in RULES.items()))
    if failures(results):
        text += ["## What did not come to an end", markdown_failures(results)]
    text += ["## Machine and versions", markdown_environments(results)]
    return "\n\n".join(text) + "\n"


def markdown_table(table: Table) -> str:
    """Table with pipes."""
    aligned = ["---" if column.digits is None else "---:" for column in table.columns]
    lines = [[column.name for column in table.columns], aligned]
    for row in table.rows:
        lines.append([show(c, v) for c, v in zip(table.columns, row, strict=True)])
    rows = [" | ".join(cell.replace("|", "/") for cell in line) for line in lines]
    return "\n".join(f"| {row} |" for row in rows)


def markdown_failures(results: Results) -> str:
    """List of what did not end well."""
    return "\n".join(
        f"- {dataset}, {method}: {what} ({times} cells)"
        for dataset, method, what, times in failures(results)
    )


def markdown_environments(results: Results) -> str:
    """List of machines, with versions."""
    return "\n".join(
        f"- `{name}`: " + ", ".join(f"{key} {value}" for key, value in about.items())
        for name, about in results.environments.items()
    )
