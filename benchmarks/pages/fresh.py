"""Tables of docs/fresh.md."""

from collections import Counter

import numpy as np

from benchmarks.pages.markdown import DOCS, filled, head, row
from benchmarks.records import FOLDER
from unaligned.alignment import TRUSTED
from unaligned.json_lines import read_records

RESULTS = FOLDER / "fresh.jsonl"
CLUSTERS = RESULTS.with_name("fresh_clusters.jsonl")
PAGE = DOCS / "fresh.md"
LEAST_EXACT = 0.05  # share of right matches from which objects were found
LEAST_KEPT = 0.5  # share of the right matches that refinement keeps, of true ones
RELATED = {
    "split": "columns split at random",
    "groups": "natural groups of columns",
}
NULLS = {
    "cross": "two tables",
    "disjoint": "columns split, other rows",
    "parts": "natural groups of columns, other rows",
    "columns": "columns of one file permuted one by one",
}
OUTCOMES = (
    "aligned",
    "FALSE TRUST",
    "search failed",
    "refinement left",
    "test refused",
    "nothing to find",
)


def outcome(record):
    """Tell what came of a case, and of a refusal why."""
    if record["trusted"]:
        found = record.get("exact", 0.0) >= LEAST_EXACT
        return "aligned" if found else "FALSE TRUST"
    if record["case"][0] in NULLS:
        return "refused"
    truth = record["truth"]
    if max(truth["exact"], truth["started"]) < LEAST_EXACT:
        return "nothing to find"
    if truth["trust"] >= TRUSTED and truth["exact"] >= LEAST_EXACT:
        return "search failed"
    left = truth["exact"] < LEAST_KEPT * truth["started"]
    return "refinement left" if left else "test refused"


def describe(record):
    """Line on a case."""
    kind, what, _, seed = record["case"]
    told = f"{kind} {', '.join(what)} #{seed} {record['rows'][0]} rows,"
    told += f" {record['columns']} columns: {outcome(record)},"
    told += f" excess {record['excess']:.3f}, {record['CPU s']} s"
    if "exact" in record:
        told += f", exact {record['exact']:.3f}"
    if truth := record.get("truth"):
        told += f" | truth {truth['started']:.2f} {truth['exact']:.2f}"
        told += f" excess {truth['excess']:.3f} score {truth['score']:.2f}"
        told += f" (found {record['score']:.2f}) few {record['few factors']}"
    return told


def by_table(records, kind):
    """Table of one kind of case: what came of it, table by table."""
    groups = {}
    for record in records:
        if record["case"][0] == kind:
            groups.setdefault(", ".join(record["case"][1]), []).append(record)
    lines = head(
        "table", "rows", "columns", *map(str.lower, OUTCOMES), "exact", "from the truth"
    )
    for name, these in groups.items():
        counts = Counter(map(outcome, these))
        aligned = [r["exact"] for r in these if outcome(r) == "aligned"]
        truths = [
            max(r["truth"]["exact"], r["truth"]["started"])
            for r in these
            if "truth" in r
        ]
        lines.append(
            row(
                name,
                f"{these[0]['rows'][0]:,}",
                " and ".join(map(str, these[0]["columns"])),
                *(counts[what] or "" for what in OUTCOMES),
                *(f"{np.mean(of):.2f}" if of else "" for of in (aligned, truths)),
            )
        )
    total = Counter(outcome(r) for of in groups.values() for r in of)
    lines.append(row("all", "", "", *(total[what] for what in OUTCOMES), "", ""))
    return "\n".join(lines)


def of_nulls(records):
    """Table of pairs without a common object."""
    lines = head("pairs", "number", "tables", "trusted", "largest excess", "CPU s")
    for kind, told in NULLS.items():
        these = [r for r in records if r["case"][0] == kind]
        if not these:
            continue
        lines.append(
            row(
                told,
                len(these),
                len({name for r in these for name in r["case"][1]}),
                sum(r["trusted"] for r in these),
                f"{max(r['excess'] for r in these):.3f}",
                f"{np.mean([r['CPU s'] for r in these]):.1f}",
            )
        )
    return "\n".join(lines)


def false_trust(records):
    """Lines on the pairs that were trusted though wrong."""
    wrong = [record for record in records if outcome(record) == "FALSE TRUST"]
    return "\n".join(f"- {describe(record)}" for record in wrong) or "None."


def spread(values):
    """Mean of a difference over tables, its standard error, and its ends."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    ends = f"{min(values):+.1f} to {max(values):+.1f}"
    return f"{np.mean(values):+.1f} ± {error:.1f} ({ends})"


def over_tables(records, value):
    """Mean of a value over the cases of each table."""
    groups = {}
    for record in records:
        groups.setdefault(record["case"][1][0], []).append(value(record))
    return [float(np.mean(of)) for of in groups.values()]


def beyond_oracle(record):
    """Accuracy of the labels of the best view less that of the best single view."""
    return record["accuracy"][record["best view"]] - max(record["oracle"])


def better_view(record):
    """Accuracy of the better of both views less that of the best single view."""
    return max(record["accuracy"]) - max(record["oracle"])


def of_views(records):
    """Table of clusters where no pair is known."""
    lines = head(
        "views", "rows", "classes", "best view", "other view", "oracle", "chosen number"
    )
    these = [record for record in records if record["case"][0] == "unknown"]
    for record in these:
        best, low_high = record["best view"], record["interval"]
        told = f"{record['chosen k']} ({low_high[0]} to {low_high[1]})"
        lines.append(
            row(
                ", ".join(record["case"][1]),
                f"{record['rows']:,}",
                record["k"],
                record["accuracy"][best],
                record["accuracy"][1 - best],
                max(record["oracle"]),
                told + (", flat" if record["flat"] else ""),
            )
        )
    return "\n".join(lines)


def of_known(records):
    """Table of joint clusters where half of the pairs are known."""
    lines = head("views", "rows", "classes", "SAVuC", "plain bridge", "random names")
    for record in records:
        if record["case"][0] == "half":
            lines.append(
                row(
                    ", ".join(record["case"][1]),
                    f"{record['rows']:,}",
                    record["k"],
                    *(record[what] for what in ("joint", "plain bridge", "floor")),
                )
            )
    return "\n".join(lines)


def of_clusters(records):
    """Table of differences, in points, over all tables and those of many classes."""
    lines = head("", "all tables", "of more than two classes")
    unknown, half = (
        [r for r in records if r["case"][0] == kind] for kind in ("unknown", "half")
    )
    rows = {
        "best view less oracle": (unknown, beyond_oracle),
        "better view, by labels, less oracle": (unknown, better_view),
        "half known: SAVuC less plain bridge": (
            half,
            lambda r: r["joint"] - r["plain bridge"],
        ),
        "half known: SAVuC less random names": (
            half,
            lambda r: r["joint"] - r["floor"],
        ),
    }
    for name, (these, value) in rows.items():
        many = [record for record in these if record["k"] > 2]
        cells = [spread(over_tables(of, value)) if of else "" for of in (these, many)]
        lines.append(row(name, *cells))

    def counted(of):
        exact = sum(r["chosen k"] == r["k"] for r in of)
        within = sum(r["interval"][0] <= r["k"] <= r["interval"][1] for r in of)
        return f"{exact} right, {within} within the interval, of {len(of)}"

    many = [record for record in unknown if record["k"] > 2]
    lines.append(row("number of clusters", counted(unknown), counted(many)))
    return "\n".join(lines)


def page():
    """Compose the page: its text as it is, its tables from the results."""
    records, clusters = [*read_records(RESULTS)], [*read_records(CLUSTERS)]
    parts = {kind: by_table(records, kind) for kind in RELATED}
    parts |= {
        "nulls": of_nulls(records),
        "wrong": false_trust(records),
        "clusters": of_clusters(clusters),
        "views": of_views(clusters),
        "known": of_known(clusters),
    }
    return filled(PAGE, parts)
