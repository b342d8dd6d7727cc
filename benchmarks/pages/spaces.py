"""Table of docs/spaces.md."""

from benchmarks.pages.markdown import DOCS, filled, head, row
from benchmarks.spaces import RESULTS
from unaligned.json_lines import read_records

PAGE = DOCS / "spaces.md"
SHARES = ("top-1", "confidence", "confidence, absent", "confidence, noise")


def page():
    """Compose the page: its text as it is, its table from the results."""
    lines = head(
        "rows", "effort", "on disk", "top-1", "confidence", "no counterpart", "noise",
        "CPU s", "peak GB",
    )  # fmt: skip
    for record in read_records(RESULTS):
        lines.append(
            row(
                f"{record['rows']:,}",
                record["effort"],
                "yes" if record["mapped"] else "no",
                *(f"{record[name]:.3f}" if name in record else "–" for name in SHARES),
                f"{record['fit CPU s'] + record.get('lookup CPU s', 0):.0f}",
                f"{record['peak GB']:.1f}" if "peak GB" in record else "–",
            )
        )
    return filled(PAGE, {"spaces": "\n".join(lines)})
