"""Figures of docs/first_hour.md."""

from itertools import product

import numpy as np

from benchmarks import overlap
from benchmarks.first_hour import LEAST_EXACT, RESULTS, TABLES
from benchmarks.pages.markdown import DOCS, filled, head, row
from unaligned.json_lines import read_records

PAGE = DOCS / "first_hour.md"
PICTURE = DOCS / "images" / "power.svg"
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
BARS = dict.fromkeys(TRIALS, 0.8) | {"counts": 0.95, "embeddings": 1.0}


def is_accepted(record):
    """Tell whether rows were matched."""
    return record["verdict"] == "objects"


def share_right(record):
    """Share of the matches that are right."""
    return record["right"] / max(record["matches"], 1)


def trials_table(records):
    """Table of the trials."""
    lines = head(
        "trial", "accepted", "exact", "seeds that reach the bar", "expected / right",
        "CPU s",
    )  # fmt: skip
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
        lines.append(
            row(
                name,
                f"{len(accepted)} of {len(these)}",
                f"{100 * exact[0]:.0f} to {100 * exact[-1]:.0f} %",
                f"{reached} of {len(these)} (≥ {100 * BARS[kind]:.0f} %)",
                shares,
                f"{np.mean([record['cpu'] for record in these]):.0f}",
            )
        )
    return "\n".join(lines)


def splits_table(records):
    """Table of real tables with columns split between two files."""
    lines = head(
        "table", "rows", "columns", "aligned", "refused", "wrong",
        "right of the aligned", "expected",
    )  # fmt: skip
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
            f"{these[0]['rows'][0]:,}",
            " and ".join(map(str, these[0]["columns"])),
            f"{len(aligned)} of {len(these)}",
            str(len(these) - len(accepted)),
            str(len(accepted) - len(aligned)),
            *shares,
        )
        lines.append(row(name, *cells))
    return "\n".join(lines)


def share_found(record):
    """Share of the common rows that were matched right."""
    return record["right"] / record["common"]


def is_wrong(record):
    """Tell whether matches are trusted though hardly any is right."""
    return record["trusted"] and share_found(record) < LEAST_EXACT


def overlap_table(kind, *columns):
    """Table of how many pairs of files were aligned, by overlap."""
    lines = head(*columns, *(f"{100 * of:.0f} % in common" for of in overlap.OVERLAPS))
    groups = {}
    for record in read_records(overlap.RESULTS):
        if record["case"][0] == kind:
            _, what, n, share, _ = record["case"]
            groups.setdefault((*what, n), {}).setdefault(share, []).append(record)
    for (*what, n), these in sorted(groups.items()):
        if kind == "simulated":
            names = f"{n:,}", f"{what[0]} and {what[1]}", f"{what[2]:g}"
        else:
            names = what[0], f"{n:,}"
        lines.append(row(*names, *(aligned_cell(these[s]) for s in overlap.OVERLAPS)))
    return "\n".join(lines)


def aligned_cell(records):
    """Tell how many pairs of files were aligned, and how well."""
    sound = [r for r in records if r["trusted"] and not is_wrong(r)]
    cell = f"{len(sound)} of {len(records)}"
    if sound:
        cell += f", {np.mean([share_found(r) for r in sound]):.2f}"
    if wrong := sum(map(is_wrong, records)):
        cell += f", {wrong} wrong"
    return cell


def draw(path=PICTURE):
    """Draw the share of common rows that are found, refused files counted as none."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found = {}
    for record in read_records(overlap.RESULTS):
        _, what, n, share, _ = record["case"]
        found.setdefault((*what, n, share), []).append(share_found(record))
    # The same file every time, with texts as texts.
    with rc_context({"svg.hashsalt": "power", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        panels = figure.subplots(1, 4, sharey=True)
        kinds = [*product(overlap.COLUMNS, overlap.NOISES)]
        for axes, ((d, e), noise) in zip(panels, kinds, strict=True):
            for share in overlap.OVERLAPS:
                means = [np.mean(found[d, e, noise, n, share]) for n in overlap.ROWS]
                label = f"{100 * share:.0f} % in common"
                axes.plot(overlap.ROWS, means, ".-", label=label)
            axes.set(xscale="log", xlabel="rows of each file", ylim=(-0.03, 1.03))
            axes.set_xticks(overlap.ROWS, map(str, overlap.ROWS))
            axes.minorticks_off()
            axes.set_title(f"{d} and {e} columns, noise {noise:g}", fontsize=9)
        panels[0].set_ylabel("common rows found")
        panels[-1].legend(fontsize=8)
        figure.savefig(path, metadata={"Date": None})


def page(results=RESULTS):
    """Compose the page: its text as it is, its figures from the results."""
    last = {str(record["case"]): record for record in read_records(results)}
    records = [*last.values()]
    parts = {
        "trials": trials_table(records),
        "splits": splits_table(records),
        "simulated": overlap_table("simulated", "rows", "columns", "noise"),
        "real": overlap_table("real", "table", "rows"),
    }
    return filled(PAGE, parts)
