"""Figures of docs/cells.md."""

import numpy as np

from benchmarks.cells import DATASETS, RESULTS, UNPAIRED
from benchmarks.pages.markdown import DOCS, filled, head, row
from unaligned.json_lines import read_records

PAGE = DOCS / "cells.md"


def percent(records, name):
    """Mean of a share over runs, in percent."""
    shares = [record[name] for record in records if name in record]
    return f"{100 * np.mean(shares):.1f}" if shares else "–"


def labels_table(records):
    """Table of labels that were carried, by data, known pairs and direction."""
    lines = head(
        "data", "known", "from, to", "trusted", "right", "nearest pairs", "commonest",
        "confidence", "given", "right of given",
    )  # fmt: skip
    for name in (*DATASETS, *UNPAIRED):
        of_name = [record for record in records if record["dataset"] == name]
        for ratio in sorted({record["ratio"] for record in of_name}):
            for way in ((0, 1), (1, 0)):
                these = [
                    record
                    for record in of_name
                    if (record["ratio"], record["from"], record["to"]) == (ratio, *way)
                ]
                trusted = [r for r in these if r["verdict"] != "none"]
                lines.append(
                    row(
                        name,
                        f"{100 * ratio:.0f} %",
                        "{} → {}".format(*way),
                        f"{len(trusted)} of {len(these)}",
                        percent(trusted, "right"),
                        percent(trusted, "nearest pairs"),
                        percent(these, "commonest"),
                        percent(trusted, "confidence"),
                        percent(trusted, "given"),
                        percent(trusted, "right of given"),
                    )
                )
    return "\n".join(lines)


def labels_summary(records):
    """Say how the figures compare with the goals."""
    trusted = [r for r in records if r.get("trust", 0) >= 0.5 and "from" in r]
    below = sum(r["right"] < r["commonest"] for r in trusted)
    lines = [
        f"- Of {len(trusted)} trusted runs {below} are right less often than the "
        "commonest type (goal: none)."
    ]
    for name in DATASETS:
        for ratio in (0.1, 0.5):
            these = [r for r in trusted if r["dataset"] == name and r["ratio"] == ratio]
            if these:
                lines.append(
                    f"- {name}, {100 * ratio:.0f} % known, both ways: "
                    f"{percent(these, 'right')} % right, nearest pairs "
                    f"{percent(these, 'nearest pairs')} %, expected "
                    f"{percent(these, 'confidence')} %."
                )
    return "\n".join(lines)


def unseen_sentence(records):
    """Say what becomes of cells of a type that the source lacks."""
    these = [record for record in records if "without" in record]
    return (
        f"Of {len(these)} digits, each removed from the source in turn, the mean "
        f"confidence is {percent(these, 'confidence')} %, and "
        f"{percent(these, 'unknown')} % are called unknown. That of the others is "
        f"{percent(these, 'confidence of others')} %, and "
        f"{percent(these, 'right of others')} % of these are right."
    )


def size_table(records):
    """Table of CPU time and memory at 20,000 cells."""
    lines = head("known", "what", "verdict", "CPU s", "peak GB", "right", "expected")
    for record in records:
        if "peak GB" in record:
            labels = record["what"] == "labels" and record["verdict"] != "none"
            lines.append(
                row(
                    f"{100 * record['ratio']:.0f} %",
                    record["what"],
                    record["verdict"],
                    f"{record['CPU s']:.0f}",
                    f"{record['peak GB']:.1f}",
                    percent([record], "right") if labels else "–",
                    percent([record], "confidence") if labels else "–",
                )
            )
    return "\n".join(lines)


def page():
    """Compose the page: its text as it is, its figures from the results."""
    records = [*read_records(RESULTS)]
    parts = {
        "labels": labels_table(records),
        "goals": labels_summary(records),
        "unseen": unseen_sentence(records),
        "size": size_table(records),
    }
    return filled(PAGE, parts)
