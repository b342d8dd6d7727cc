"""Tables of docs/choosing.md, on the number of clusters.

Criteria are compared by leaving datasets out one at a time: the criterion that is best
on the others is scored on the one, and so is the width of the interval.
"""

import numpy as np

from benchmarks.number_criteria import CRITERIA
from benchmarks.number_of_clusters import RESULTS, USED
from benchmarks.pages.markdown import DOCS, best_on_others, filled, head, row
from unaligned.json_lines import read_records
from unaligned.selection.evidence import weigh

PAGE = DOCS / "choosing.md"
COMPARED = *USED, *CRITERIA
SHARES = (0.98, 0.95, 0.9, 0.85, 0.8, 0.7)  # of the best score, for the interval
COVERED = 0.8  # share of datasets whose number of classes an interval should hold


def accuracy_of(record, at):
    """Accuracy of the view that SAVuC would take, with a number of clusters."""
    view = int(np.argmax(np.array(record["quality"])[:, at]))
    return record["accuracy"][view][at]


def accuracy_with_classes(record):
    """Accuracy of the view that SAVuC would take, with the number of classes."""
    view = int(np.argmax(np.array(record["quality with the classes"])[:, 0]))
    return record["accuracy with the classes"][view][0]


def chosen_by(record, criterion):
    """Give the position of the number that a criterion chooses."""
    return int(np.argmax(np.mean(record["scores"][criterion], axis=0)))


def nearest_to_ten(record):
    """Give the position of the number that is nearest to ten."""
    return int(np.argmin(np.abs(np.array(record["candidates"]) - 10)))


def evidence_of(record, **near):
    """Weigh modularity and agreement as the library does."""
    scores = [np.array(record["scores"][name]) for name in USED]
    return weigh(np.array(record["candidates"]), *scores, **near)


def n_near(records, criterion):
    """Count the numbers chosen that are within 1.5 times the number of classes."""
    chosen = [r["candidates"][chosen_by(r, criterion)] for r in records]
    factors = np.array(chosen) / [r["classes"] for r in records]
    return np.sum(np.abs(np.log(factors)) <= np.log(1.5))


def criteria_table(records):
    """Share of the accuracy with the true number, for every criterion."""
    truth = np.array([accuracy_with_classes(record) for record in records])
    found = {
        name: np.array([accuracy_of(r, chosen_by(r, name)) for r in records])
        for name in COMPARED
    }
    compared = np.column_stack([*found.values()])
    found["ten clusters"] = np.array(
        [accuracy_of(r, nearest_to_ten(r)) for r in records]
    )
    found["best criterion on the other datasets"] = best_on_others(compared)
    first = f"criterion ({len(records)} datasets)"
    lines = head(first, "share of the accuracy", "error", "within 1.5 times")
    for name, values in found.items():
        share = values.sum() / truth.sum()
        # Of a ratio of means, by the delta method.
        error = np.std(values - share * truth, ddof=1) / np.sqrt(len(truth))
        shares = f"{100 * share:.0f} %", f"{100 * error / truth.mean():.0f} %"
        near = n_near(records, name) if name in COMPARED else "–"
        lines.append(row(name, *shares, near))
    return "\n".join(lines)


def inside(record, **near):
    """Whether an interval holds the number of classes."""
    low, high = evidence_of(record, **near).interval
    return low <= record["classes"] <= high


def best_share(records):
    """Find the narrowest intervals that hold enough numbers of classes."""
    for near in SHARES:
        if np.mean([inside(record, near=near) for record in records]) >= COVERED:
            return near
    return SHARES[-1]


def datasets_table(records):
    """Tell what the library says of every dataset, and how often it is right."""
    lines = head("data", "classes", "chosen", "interval", "others", "accuracy (with k)")
    for record in records:
        found = evidence_of(record)
        low, high = found.interval
        accuracy = accuracy_of(record, record["candidates"].index(found.n_clusters))
        lines.append(
            row(
                record["dataset"],
                record["classes"],
                found.n_clusters,
                f"{low}–{high}{', flat' if found.flat else ''}",
                ", ".join(map(str, found.alternatives)) or "–",
                f"{100 * accuracy:.0f} ({100 * accuracy_with_classes(record):.0f})",
            )
        )
    return "\n".join(lines)


def coverage(records):
    """Say how many intervals hold the number of classes."""
    now = [evidence_of(record) for record in records]
    left_out = [
        inside(record, near=best_share([r for r in records if r is not record]))
        for record in records
    ]
    spans = np.median([e.interval[1] / e.interval[0] for e in now])
    return (
        f"The interval holds the number of classes on {sum(map(inside, records))} of "
        f"{len(records)} datasets; with its width set on the others, on "
        f"{sum(left_out)}. The median of largest over smallest is {spans:.1f}, and "
        f"{sum(e.flat for e in now)} are flat."
    )


def page():
    """Compose the page: its text as it is, its tables from the results."""
    records = [*read_records(RESULTS)]
    parts = {
        "numbers": criteria_table(records),
        "coverage": coverage(records),
        "datasets": datasets_table(records),
    }
    return filled(PAGE, parts)
