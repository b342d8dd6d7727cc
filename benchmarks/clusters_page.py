"""Write the tables of the page on clusters: ``python -m benchmarks.clusters_page``.

Everything between a pair of markers comes from the committed results.
"""

import re
from pathlib import Path

from benchmarks import ablation, clusters
from unaligned.json_lines import read_records

PAGE = Path(__file__).parents[1] / "docs" / "savuc_clusters.md"


def page():
    """Compose the page: its text as it is, its tables from the results."""
    fusion = [r for r in read_records(ablation.RESULTS) if r["study"] == "fusion"]
    records = [*read_records(clusters.RESULTS)]
    tables = {
        "rules": clusters.table(records),
        "picks": clusters.table_of_picks(records),
        "fusion": ablation.table(fusion),
    }
    text = PAGE.read_text()
    for name, table in tables.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = between.sub(lambda found, t=table: f"{found[1]}{t}\n{found[2]}", text)
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
