"""What each part of SAVuC is worth: ``python -m benchmarks.ablation``.

Parts are left out or replaced, one at a time, and constants halved and doubled; a JSON
line per case and variant goes to ``benchmarks/results/ablation.jsonl``. What is there
is not run again. A study of `STUDIES` gives, for a case,
percentages by variant, and their CPU seconds where each is a run of its own:

- ``fusion``: accuracy of the partition of views whose rows are in their true pairs,
  from pools that `benchmarks.data.pools` keeps;
- ``candidates``: the same against other ways to fuse views (`benchmarks.fusions`), and
  against the best view that labels pick;
- ``search``: rows with the right partner (`benchmarks.search_parts`).
"""

import argparse
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.data.pools import FUSED, LEFT_OUT, fused_pool
from benchmarks.fusions import compare_fusions
from benchmarks.latent_classes import choose_consensus, latent_classes
from benchmarks.pages.savuc_clusters import variants_table
from benchmarks.records import FOLDER
from benchmarks.search_parts import MATCHED, ablate_search
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.kmeans import kmeans
from unaligned.partitions.scores import draw_halves, information
from unaligned.savuc.consensus import (
    N_BEST,
    consensus,
    consensus_rows,
    joint_score,
)
from unaligned.savuc.recipes import N_STARTS, RECIPES

RESULTS = FOLDER / "ablation.jsonl"


def ablate_fusion(case):
    """Accuracy of the fused partition with parts of the pool or of the rule changed."""
    pool = fused_pool(case)
    k, names, more = pool.n_clusters, [*pool.partitions], [*pool.left_out]
    partitions = pool.partitions | pool.left_out
    half = draw_halves(len(pool.classes), np.random.RandomState(case.seed))
    scores = {
        name: joint_score(pool.features, labels, k, half)
        for name, labels in partitions.items()
    }

    def best(chosen, number=N_BEST):
        ranked = sorted(chosen, key=lambda name: -scores[name])
        return np.column_stack([partitions[name] for name in ranked[:number]])

    def accuracy(labels):
        return 100 * clustering_accuracy(pool.classes, labels)

    def fuse(partitions):
        return accuracy(consensus(partitions, k, np.random.RandomState(case.seed)))

    def without(part):
        return fuse(best([name for name in names if part not in name]))

    def with_recipe(part):
        return fuse(best(names + [name for name in more if part in name]))

    top = best(names)
    shared = [np.mean([information(p, q, k) for q in top.T]) for p in top.T]
    found = {"as it is": fuse(top)}
    found |= {f"without {part}": without(f", {part}") for part in RECIPES}
    found |= {f"with {part}": with_recipe(f", {part}") for part in LEFT_OUT}
    found[f"with {' and '.join(LEFT_OUT)}"] = with_recipe("")
    found |= {
        f"without {part}": without(part)
        for part in ("side by side", "shared", "view", "plain", "standard")
    }
    found |= {
        f"{number} partitions": fuse(best(names, number))
        for number in (N_BEST // 2, 2 * N_BEST)
    }
    found["all partitions, no score"] = fuse(best(names, len(names)))
    by_embedding = consensus(top, k, np.random.RandomState(case.seed))
    classes = latent_classes(top, k)
    chosen = choose_consensus(pool.features, (by_embedding, classes), k, half)
    found["latent classes"] = accuracy(classes)
    found["as it is or latent classes, by share of entropy"] = accuracy(chosen)
    members = np.hstack([np.eye(k)[labels] for labels in top.T])
    apart = pdist(members, "sqeuclidean")
    tree = fcluster(linkage(apart, "average"), k, "maxclust")
    found["average linkage by shared clusters"] = accuracy(tree)
    by_kmeans = kmeans(members, k, np.random.RandomState(case.seed), N_STARTS)
    found["k-means of memberships"] = accuracy(by_kmeans)
    embedded = consensus_rows(top, k)
    for method, name in (("ward", "Ward's tree"), ("average", "average linkage")):
        cut = fcluster(linkage(embedded, method), k, "maxclust")
        found[f"{name} of the embedding"] = accuracy(cut)
    agreed = [
        np.mean([normalized_mutual_info_score(labels, p) for p in top.T])
        for labels in (tree, by_kmeans)
    ]
    better = (tree, by_kmeans)[int(np.argmax(agreed))]
    found["before: linkage or k-means of memberships"] = accuracy(better)
    found["no consensus: largest score"] = accuracy(top[:, 0])
    found["no consensus: agrees most"] = accuracy(top[:, int(np.argmax(shared))])
    found["random partition"] = np.mean([pool.accuracy[name] for name in names])
    single = [pool.accuracy[name] for name in names if name.startswith("view")]
    found["oracle: best partition of a view"] = max(single)
    found["oracle: best partition"] = max(pool.accuracy[name] for name in names)
    return {name: round(float(value), 1) for name, value in found.items()}, {}


# Study: what gives percentages and seconds by variant, and the cases it is asked about.
STUDIES = {
    "fusion": (ablate_fusion, FUSED),
    "candidates": (compare_fusions, FUSED),
    "search": (ablate_search, MATCHED),
}


def run(job):
    """Give the result of one case of a study."""
    study, case = job
    start = time.process_time()
    found, seconds = STUDIES[study][0](case)
    record = {"study": study, "case": case.name, "accuracy": found}
    record |= {"seconds": seconds} if seconds else {}
    record["CPU seconds"] = round(time.process_time() - start, 1)
    return record


def main():
    """Run the cases that have no result yet, and print the table of the search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", nargs="+", default=[*STUDIES], choices=STUDIES)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    there = {(r["study"], r["case"]) for r in read_records(arguments.results)}
    for study in arguments.studies:
        jobs = [(study, case) for case in STUDIES[study][1]]
        jobs = [job for job in jobs if (study, job[1].name) not in there]
        with Pool(arguments.jobs) as pool:
            for record in pool.imap_unordered(run, jobs):
                append_record(arguments.results, record)
                print(record["case"], record["CPU seconds"], flush=True)
    found = [r for r in read_records(arguments.results) if r["study"] == "search"]
    if found:  # the others have a page of the documentation
        print(variants_table(found))


if __name__ == "__main__":
    main()
