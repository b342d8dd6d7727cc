"""What the exam on fresh tables says: ``python -m benchmarks.fresh_page``."""

from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "fresh.jsonl"
LEAST_EXACT = 0.05  # share of right matches from which objects were found
RELATED = "split", "groups"
NULLS = "cross", "disjoint", "parts", "columns"


def outcome(record):
    """Tell what came of a case, and of a refusal why."""
    found = record.get("exact", 0.0) >= LEAST_EXACT
    if record["trusted"]:
        return "aligned" if found else "FALSE TRUST"
    if record["case"][0] in NULLS:
        return "refused"
    truth = record["truth"]
    if max(truth["exact"], truth["started"]) < LEAST_EXACT:
        return "nothing to find"
    return "search failed" if truth["trust"] >= 0.5 else "test refused"


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
