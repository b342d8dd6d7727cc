"""Figures of docs/scaling.md."""

from benchmarks.data.shared_rows import NOISE
from benchmarks.pages.markdown import DOCS, filled, head, row
from benchmarks.scaling import METHODS, RESULTS
from unaligned.benchmark.scaling import SMALLEST, exponent
from unaligned.json_lines import read_records

PAGE = DOCS / "scaling.md"
ENDS = {"memory": "no memory", "time": "no time"}


def by_cell(records):
    """Sort records by method and rows; of several of one cell, the last counts."""
    usual = [record for record in records if record.get("noise", NOISE) == NOISE]
    return {(record["method"], record["rows"]): record for record in usual}


def sizes_of(cells):
    """List all numbers of rows that a cell was run on."""
    return sorted({rows for _, rows in cells})


def grid(cells, text):
    """Table with a line for every method, and a column for every number of rows."""
    sizes = sizes_of(cells)
    lines = head("method", *(f"{n:,}" for n in sizes))
    for method in METHODS:
        told = []
        for n in sizes:
            record = cells.get((method, n))
            if record is None:
                told.append("")
            elif record["status"] in ENDS:
                told.append(f"**{ENDS[record['status']]}**")
            else:
                told.append(text(record))
        lines.append(row(method, *told))
    return "\n".join(lines)


def time_and_memory(record):
    """CPU seconds and peak of memory."""
    return f"{record['cpu_seconds']:,.0f} s, {record['peak_gb']:.1f} GB"


def exactness(record):
    """Share of rows with a partner that found it, and that a refusal is one."""
    if record["status"] == "refused":
        return f"refused (trust {record['trust']:.2f})"
    return f"{record['exact']:.3f}"


def end_of(record):
    """Tell what ended a method, and at how many rows."""
    limits = {
        "memory": f"memory ({record['memory_limit']})",
        "time": f"time ({record['seconds_limit']:,} CPU s)",
        "refused": "refused: nothing found that is trusted",
    }
    return f"{limits[record['status']]}, at {record['rows']:,} rows"


def growth_table(cells):
    """Exponents of time, most rows that were done, and what ended each method."""
    lines = head("method", "time grows as rows to the", "most rows done", "ended by")
    for method in METHODS:
        records = [cells[key] for key in sorted(cells) if key[0] == method]
        done = [r for r in records if r["status"] == "done"]
        curve = [(r["rows"], r["cpu_seconds"]) for r in done]
        power = exponent(curve, SMALLEST["cpu_seconds"])
        ends = [end_of(r) for r in records if r["status"] != "done"]
        end = ends[0] if ends else ""
        most = f"{done[-1]['rows']:,}" if done else ""
        told = "" if power is None else f"{power:.2f}"
        lines.append(row(method, told, most, end))
    return "\n".join(lines)


def unmatched_table(cells):
    """Tell what our methods say of rows without a partner."""
    lines = head(
        "method",
        "rows",
        "confident (≥ 0.5), of all rows",
        "right among the confident",
        "calibration error",
        "rows without a partner that got none",
    )
    for method in [name for name in METHODS if name.startswith("SAVuC")]:
        for n in sizes_of(cells):
            record = cells.get((method, n))
            if record is None or record["status"] != "done":
                continue
            lines.append(
                row(
                    method,
                    f"{n:,}",
                    f"{100 * record['confident']:.1f} %",
                    f"{100 * record['right_if_confident']:.1f} %",
                    f"{record['calibration_error']:.3f}",
                    f"{100 * record['found_alone']:.1f} %",
                )
            )
    return "\n".join(lines)


def page():
    """Compose the page: its text as it is, its figures from the results."""
    cells = by_cell(read_records(RESULTS))
    parts = {
        "growth": growth_table(cells),
        "cost": grid(cells, time_and_memory),
        "exact": grid(cells, exactness),
        "unmatched": unmatched_table(cells),
    }
    return filled(PAGE, parts)
