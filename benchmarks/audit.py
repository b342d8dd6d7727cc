"""Shares of rows found again, estimated and true: ``python -m benchmarks.audit``.

Tables whose truth is known are audited twice, with it and without. Generated ones have
common factors, Gaussian in groups or skewed, and noise; the others are columns of
scikit-learn's tables and views of development datasets, 600 rows at most
(``$UNALIGNED_DATA`` names their folder; without it they are left out). The way to
estimate was chosen on these; breast cancer, at the end, was not among them.

Writes a JSON line for each to ``benchmarks/results/audit.jsonl``.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from benchmarks.records import FOLDER
from unaligned import audit
from unaligned.datasets import load, load_digits_views
from unaligned.json_lines import append_record

RESULTS = FOLDER / "audit.jsonl"
CANCER = "breast cancer"

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


def main():
    """Audit tables whose truth is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="for breast cancer")
    cancer = load_breast_cancer(as_frame=True).data
    worst, mean = (cancer.filter(like=word) for word in ("worst", "mean"))
    todo = [(name, tables, 0) for name, tables in cases()]
    for seed in range(parser.parse_args().seeds):
        todo.append((CANCER, [worst, mean], seed))
        raw = [worst.values, mean.values]
        todo.append((f"{CANCER}, no logarithms", raw, seed))
    RESULTS.unlink(missing_ok=True)
    for case in todo:
        record = compare(*case)
        append_record(RESULTS, record)
        print(record, flush=True)


if __name__ == "__main__":
    main()
