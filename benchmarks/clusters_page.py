"""Write tables of two pages on clusters: ``python -m benchmarks.clusters_page``.

Everything between a pair of markers comes from the committed results.
"""

import re
from pathlib import Path

from benchmarks import ablation, best_view, clusters, number_of_clusters
from unaligned.json_lines import read_records

DOCS = Path(__file__).parents[1] / "docs"


def tables_of_clusters():
    """Compose the tables of the page on SAVuC's clusters."""
    parts = [*read_records(ablation.RESULTS)]
    candidates = [r for r in parts if r["study"] == "candidates"]
    records = [*read_records(clusters.RESULTS)]
    choices = [*read_records(best_view.RESULTS)]
    fusions = [r for r in parts if r["study"] == "fusion"]
    return {
        "best view": best_view.table(choices),
        "evenness": best_view.by_evenness(choices, fusions),
        "keeping": best_view.table_of_keeping(choices),
        "rules": clusters.table(records),
        "picks": clusters.table_of_picks(records),
        "fusion": ablation.table(fusions),
        "candidates": ablation.table_of_candidates(candidates),
        "cases": ablation.table_of_cases(candidates),
    }


def tables_of_choosing():
    """Compose the tables of the page on choosing without labels."""
    records = [*read_records(number_of_clusters.RESULTS)]
    return {
        "numbers": number_of_clusters.table(records),
        "coverage": number_of_clusters.coverage(records),
        "datasets": number_of_clusters.table_of_datasets(records),
    }


def page(name, tables):
    """Compose a page: its text as it is, its tables from the results."""
    text = (DOCS / name).read_text()
    for mark, table in tables.items():
        between = re.compile(f"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.S)
        text = between.sub(lambda found, t=table: f"{found[1]}{t}\n{found[2]}", text)
    return text


PAGES = {"savuc_clusters.md": tables_of_clusters, "choosing.md": tables_of_choosing}


if __name__ == "__main__":
    for name, tables in PAGES.items():
        (DOCS / name).write_text(page(name, tables()))
