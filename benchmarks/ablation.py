"""What each part of SAVuC is worth: ``python -m benchmarks.ablation``.

Parts are left out or replaced, one at a time, and constants halved and doubled; a JSON
line per case and variant goes to ``benchmarks/results/ablation.jsonl``. What is there
is not run again; ``--table`` prints the tables. A study of `STUDIES` gives, for a case,
percentages by variant, and their CPU seconds where each is a run of its own:

- ``fusion``: accuracy of the partition of views whose rows are in their true pairs,
  from pools that `benchmarks.pools` keeps;
- ``search``: rows with the right partner (`benchmarks.search_parts`).
"""

import argparse
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from benchmarks.pools import FUSED, fused_pool
from benchmarks.search_parts import MATCHED, ablate_search
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import draw_halves, information
from unaligned.savuc.consensus import N_BEST, consensus, cut_tree, joint_score
from unaligned.savuc.recipes import N_STARTS, RECIPES

RESULTS = Path(__file__).parent / "results" / "ablation.jsonl"
ORACLE = "oracle: best partition"


def ablate_fusion(case):
    """Accuracy of the fused partition with parts of the pool or of the rule changed."""
    pool = fused_pool(case)
    k, names = pool.n_clusters, [*pool.partitions]
    half = draw_halves(len(pool.classes), np.random.RandomState(0))
    scores = {
        name: joint_score(pool.features, labels, k, half)
        for name, labels in pool.partitions.items()
    }

    def best(chosen, number=N_BEST):
        ranked = sorted(chosen, key=lambda name: -scores[name])
        return [pool.partitions[name] for name in ranked[:number]]

    def accuracy(labels):
        return 100 * clustering_accuracy(pool.classes, labels)

    def fuse(partitions):
        return accuracy(consensus(partitions, k, np.random.RandomState(0)))

    def without(part):
        return fuse(best([name for name in names if part not in name]))

    top = best(names)
    members = np.hstack([np.eye(k)[labels] for labels in top])
    shared = [np.mean([information(p, q, k) for q in top]) for p in top]
    found = {"as it is": fuse(top)}
    found |= {f"without {part}": without(f", {part}") for part in RECIPES}
    found |= {
        f"without {part}": without(part)
        for part in ("side by side", "shared", "view", "plain", "standard")
    }
    found |= {
        f"{number} partitions": fuse(best(names, number))
        for number in (N_BEST // 2, 2 * N_BEST)
    }
    found["all partitions, no score"] = fuse(best(names, len(names)))
    found["tree alone"] = accuracy(cut_tree(members, k))
    by_kmeans = kmeans(members, k, np.random.RandomState(0), N_STARTS)
    found["k-means alone"] = accuracy(by_kmeans)
    found["no consensus: largest score"] = accuracy(top[0])
    found["no consensus: agrees most"] = accuracy(top[int(np.argmax(shared))])
    found["random partition"] = np.mean([*pool.accuracy.values()])
    single = [pool.accuracy[name] for name in names if name.startswith("view")]
    found["oracle: best partition of a view"] = max(single)
    found[ORACLE] = max(pool.accuracy.values())
    return {name: round(float(value), 1) for name, value in found.items()}, {}


# Study: what gives percentages and seconds by variant, and the cases it is asked about.
STUDIES = {"fusion": (ablate_fusion, FUSED), "search": (ablate_search, MATCHED)}


def run(job):
    """Give the result of one case of a study."""
    study, case = job
    start = time.process_time()
    found, seconds = STUDIES[study][0](case)
    record = {"study": study, "case": case.name, "accuracy": found}
    record |= {"seconds": seconds} if seconds else {}
    record["CPU seconds"] = round(time.process_time() - start, 1)
    return record


def table(records):
    """Markdown: mean over datasets of every variant, against the method as it is."""
    variants = [name for name in records[0]["accuracy"] if name != "as it is"]
    timed = "seconds" in records[0]
    head = ["variant", "mean", "against", "better / worse by 1", "time"][: 4 + timed]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    datasets = [record["case"].split(",")[0] for record in records]

    def mean(values):
        groups = {name: [] for name in datasets}
        for name, value in zip(datasets, values, strict=True):
            groups[name].append(value)
        return np.mean([np.mean(group) for group in groups.values()])

    def column(of, name):
        return np.array([record[of][name] for record in records])

    base = column("accuracy", "as it is")
    lines.append(f"| as it is | {mean(base):.1f} |{' |' * (len(head) - 2)}")
    for name in variants:
        found = column("accuracy", name)
        gain = found - base
        counts = f"{np.sum(gain >= 1)} / {np.sum(gain <= -1)}"
        cells = [name, f"{mean(found):.1f}", f"{mean(gain):+.1f}", counts]
        if timed:
            times = column("seconds", name).sum() / column("seconds", "as it is").sum()
            cells.append(f"{times:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    """Run the cases that have no result yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", nargs="+", default=[*STUDIES], choices=STUDIES)
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    there = {(r["study"], r["case"]) for r in read_records(arguments.results)}
    for study in arguments.studies:
        jobs = [(study, case) for case in STUDIES[study][1]]
        jobs = [job for job in jobs if (study, job[1].name) not in there]
        with Pool(arguments.jobs) as pool:
            todo = [] if arguments.table else jobs
            for record in pool.imap_unordered(run, todo):
                append_record(arguments.results, record)
                print(record["case"], record["CPU seconds"], flush=True)
        found = [r for r in read_records(arguments.results) if r["study"] == study]
        if found:
            print(f"\n### {study}\n\n{table(found)}")


if __name__ == "__main__":
    main()
