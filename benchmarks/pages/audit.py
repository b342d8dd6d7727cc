"""Figures of docs/audit.md."""

import numpy as np

from benchmarks.audit import CANCER, RESULTS
from benchmarks.pages.markdown import DOCS, filled, head, row
from unaligned.alignment import TRUSTED
from unaligned.json_lines import read_records

PAGE = DOCS / "audit.md"
HARDLY_ANYTHING = 0.1  # share of the rows that can be found
SHARES = "found", "by_search", "estimated"


def describe(records, what):
    """Say how far the estimates are from the shares found, in points."""
    off = np.array([100 * (r["estimated"] - r["found"]) for r in records])
    if not len(off):
        return f"- {what}: none"
    return (
        f"- {what}, {len(off)}: off by {np.median(np.abs(off)):.1f} points in the "
        f"median, {np.mean(np.abs(off)):.1f} in the mean, "
        f"{np.abs(off).max():.1f} at most"
    )


def page():
    """Compose the page: its text as it is, its figures from the results."""
    records = [*read_records(RESULTS)]
    others = [r for r in records if not r["tables"].startswith(CANCER)]
    trusted, refused = (
        [r for r in others if (r["trust"] >= TRUSTED) == wanted]
        for wanted in (True, False)
    )
    nothing = [r["estimated"] for r in refused if r["found"] < HARDLY_ANYTHING]
    estimates = [
        describe(trusted, "Trusted searches"),
        describe(refused, "Searches that are not trusted"),
        f"- Of these, {len(nothing)} in which less than "
        f"{100 * HARDLY_ANYTHING:.0f} % can be found: estimated "
        f"{100 * min(nothing):.0f} to {100 * max(nothing):.0f} %",
    ]
    cancer = head("tables", "seed", "found", "by search", "estimated", "trust")
    for r in records:
        if r["tables"].startswith(CANCER):
            shares = (
                f"{100 * r[k]:.1f} %" for k in ("found", "by_search", "estimated")
            )
            cancer.append(row(r["tables"], r["seed"], *shares, f"{r['trust']:.2f}"))
    parts = {"estimates": "\n".join(estimates), "cancer": "\n".join(cancer)}
    return filled(PAGE, parts)
