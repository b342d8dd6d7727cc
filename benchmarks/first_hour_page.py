"""Write the figures of docs/first_hour.md: ``python -m benchmarks.first_hour_page``.

Everything between a pair of markers comes from the committed results.
"""

from pathlib import Path

import numpy as np

from benchmarks import overlap
from benchmarks.clusters_page import page as filled_page
from benchmarks.first_hour import LEAST_EXACT, RESULTS, TABLES
from unaligned.json_lines import read_records

PAGE = Path(__file__).parents[1] / "docs" / "first_hour.md"
TRIALS = {
    "customers": "Customers",
    "gaps": "Customers with gaps",
    "categories": "Customers with a category",
    "left out": "The same with `--categorical drop`",
    "category gaps": "With a category and gaps",
    "three categories": "With three categories",
    "unrelated categories": "With an unrelated category",
    "unrelated numbers": "With an unrelated column of numbers",
    "counts": "Counts",
    "embeddings": "Embeddings",
}
BARS = {
    "customers": 0.8,
    "gaps": 0.8,
    "categories": 0.8,
    "left out": 0.8,
    "category gaps": 0.8,
    "three categories": 0.8,
    "unrelated categories": 0.8,
    "unrelated numbers": 0.8,
    "counts": 0.95,
    "embeddings": 1.0,
}


def is_accepted(record):
    """Tell whether rows were matched."""
    return record["verdict"] == "objects"


def share_right(record):
    """Share of the matches that are right."""
    return record["right"] / max(record["matches"], 1)


def trials_table(records):
    """Table of the trials."""
    lines = [
        "| trial | accepted | exact | seeds that reach the bar | expected / right | "
        "CPU s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind, name in TRIALS.items():
        these = [record for record in records if record["case"][0] == kind]
        if not these:
            continue
        accepted = [record for record in these if is_accepted(record)]
        exact = sorted(record["exact"] for record in these)
        reached = sum(share >= BARS[kind] for share in exact)
        told = [r for r in accepted if r["expected_right"] is not None]
        expected = np.mean([record["expected_right"] for record in told] or [np.nan])
        right = np.mean([share_right(record) for record in told] or [np.nan])
        shares = f"{100 * expected:.0f} / {100 * right:.0f} %" if told else ""
        cells = (
            name,
            f"{len(accepted)} of {len(these)}",
            f"{100 * exact[0]:.0f} to {100 * exact[-1]:.0f} %",
            f"{reached} of {len(these)} (≥ {100 * BARS[kind]:.0f} %)",
            shares,
            f"{np.mean([record['cpu'] for record in these]):.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def splits_table(records):
    """Table of real tables with columns split between two files."""
    lines = [
        "| table | rows | columns | aligned | refused | wrong | right of the aligned | "
        "expected |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in TABLES:
        these = [r for r in records if r["case"][:2] == ["split", name]]
        if not these:
            continue
        accepted = [record for record in these if is_accepted(record)]
        aligned = [r for r in accepted if share_right(r) >= LEAST_EXACT]
        shares = "", ""
        if aligned:
            right = np.mean([share_right(record) for record in aligned])
            expected = np.mean([record["expected_right"] for record in aligned])
            shares = f"{100 * right:.0f} %", f"{100 * expected:.0f} %"
        cells = (
            name,
            f"{these[0]['rows'][0]:,}",
            " and ".join(map(str, these[0]["columns"])),
            f"{len(aligned)} of {len(these)}",
            str(len(these) - len(accepted)),
            str(len(accepted) - len(aligned)),
            *shares,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(results=RESULTS):
    """Compose the page: its text as it is, its figures from the results."""
    last = {str(record["case"]): record for record in read_records(results)}
    records = [*last.values()]
    parts = {
        "trials": trials_table(records),
        "splits": splits_table(records),
        **overlap.parts(),
    }
    return filled_page(PAGE.name, parts)


def main():
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
