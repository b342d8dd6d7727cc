"""Shares of rows found again, estimated and true: ``python -m benchmarks.audit``.

Tables whose truth is known are audited twice, with it and without. Generated ones have
common factors, Gaussian in groups or skewed, and noise; the others are columns of
scikit-learn's tables and views of development datasets, 600 rows at most
(``$UNALIGNED_DATA`` names their folder; without it they are left out). The way to
estimate was chosen on these; breast cancer, at the end, was not among them.

Writes a JSON line for each to ``benchmarks/results/audit.jsonl``, and the figures of
docs/audit.md from them; ``--page`` does the latter only.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from benchmarks.clusters_page import page as filled_page
from unaligned import audit
from unaligned.alignment import TRUSTED
from unaligned.datasets import load, load_digits_views
from unaligned.json_lines import append_record, read_records

RESULTS = Path(__file__).parent / "results" / "audit.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "audit.md"
CANCER = "breast cancer"
HARDLY_ANYTHING = 0.1

VIEWS = {
    "ORL": ((0, 1), (0, 2)),
    "ProteinFold": ((0, 1), (3, 4)),
    "CITEseq-1000": ((0, 1),),
    "3Sources": ((0, 1),),
    "CCV": ((0, 1),),
}


def factors(n, noise, skewed, seed, widths=(12, 9), n_factors=6):
    """Two tables with common factors."""
    rng = np.random.RandomState(seed)
    if skewed:
        common = rng.gamma(2, size=(n, n_factors))
    else:
        in_group = rng.uniform(size=(n, 1)) < 0.4
        centres = rng.normal(size=(2, n_factors)) * [[2], [1]]
        common = np.where(in_group, *centres) + rng.normal(size=(n, n_factors))
    return [
        common @ rng.normal(size=(n_factors, d)) / np.sqrt(n_factors)
        + noise * rng.normal(size=(n, d))
        for d in widths
    ]


def cases():
    """Name pairs of tables whose rows correspond."""
    for n in (300, 800):
        for noise in (0.1, 0.2, 0.3, 0.5, 0.8):
            for skewed in (False, True):
                kind = "skewed" if skewed else "in groups"
                seed = int(n + 10 * noise) + skewed
                yield (
                    f"{n} rows, {kind}, noise {noise}",
                    factors(n, noise, skewed, seed),
                )
    digits = load_digits_views().Xs
    for i, j in ((0, 1), (0, 3), (1, 2), (2, 3)):
        yield f"digits {i}, {j}", [digits[i][:600], digits[j][:600]]
    for name, table in (("wine", load_wine()), ("diabetes", load_diabetes())):
        yield name, [table.data[:, ::2], table.data[:, 1::2]]
    for name, pairs in VIEWS.items():
        try:
            Xs = load(name).Xs
        except FileNotFoundError:
            continue
        rows = np.random.RandomState(0).permutation(Xs[0].shape[0])[:600]
        for i, j in pairs:
            both = [Xs[v][rows] for v in (i, j)]
            both = [X.toarray() if hasattr(X, "toarray") else X for X in both]
            yield f"{name} {i}, {j}", [X.astype(np.float64) for X in both]


def compare(name, tables, seed):
    """Audit with the truth and without."""
    one, other = tables
    counted = audit(one, other, same_order=True, random_state=seed)
    order = np.random.RandomState(seed).permutation(len(other))
    shuffled = other[order] if isinstance(other, np.ndarray) else other.iloc[order]
    estimated = audit(one, shuffled, random_state=seed)
    return {
        "tables": name,
        "seed": seed,
        "found": round(counted.share, 4),
        "by_search": round(counted.by_search, 4),
        "estimated": round(estimated.share, 4),
        "trust": round(estimated.trust, 3),
    }


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


def page(results=RESULTS):
    """Compose the page: its text as it is, its figures from the results."""
    records = [*read_records(results)]
    cancer = [r for r in records if r["tables"].startswith(CANCER)]
    others = [r for r in records if not r["tables"].startswith(CANCER)]
    trusted, refused = (
        [r for r in others if (r["trust"] >= TRUSTED) == wanted]
        for wanted in (True, False)
    )
    nothing = [r["estimated"] for r in refused if r["found"] < HARDLY_ANYTHING]
    lines = [
        describe(trusted, "Trusted searches"),
        describe(refused, "Searches that are not trusted"),
        f"- Of these, {len(nothing)} in which less than "
        f"{100 * HARDLY_ANYTHING:.0f} % can be found: estimated "
        f"{100 * min(nothing):.0f} to {100 * max(nothing):.0f} %",
    ]
    table = [
        "| tables | seed | found | by search | estimated | trust |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for r in cancer:
        shares = (f"{100 * r[k]:.1f} %" for k in ("found", "by_search", "estimated"))
        cells = (r["tables"], str(r["seed"]), *shares, f"{r['trust']:.2f}")
        table.append(f"| {' | '.join(cells)} |")
    parts = {"estimates": "\n".join(lines), "cancer": "\n".join(table)}
    return filled_page(PAGE.name, parts)


def main():
    """Audit tables whose truth is known, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="for breast cancer")
    parser.add_argument("--page", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    if not arguments.page:
        cancer = load_breast_cancer(as_frame=True).data
        worst, mean = (cancer.filter(like=word) for word in ("worst", "mean"))
        todo = [(name, tables, 0) for name, tables in cases()]
        for seed in range(arguments.seeds):
            todo.append((CANCER, [worst, mean], seed))
            raw = [worst.values, mean.values]
            todo.append((f"{CANCER}, no logarithms", raw, seed))
        RESULTS.unlink(missing_ok=True)
        for case in todo:
            record = compare(*case)
            append_record(RESULTS, record)
            print(record, flush=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
