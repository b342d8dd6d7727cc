"""Matched views or one of the others: ``python -m benchmarks.best_view``.

Some views of a dataset are taken for matched, with their rows in their true pairs, and
are clustered together; every view is clustered alone as well. A JSON line per dataset
and draw of rows goes to ``benchmarks/results/best_view.jsonl``: the accuracy of every
partition and how well views predict it. What is there is not run again; ``--table``
prints the tables of the documentation. A rule gives matched views a number, which
competes with the predictability of the other views.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.latent_classes import choose_consensus, latent_classes
from benchmarks.pools import (
    DATASETS,
    LEFT_OUT,
    SCALES,
    Case,
    cluster_spaces,
    load_views,
    neighbors_for,
)
from benchmarks.trust import RESULTS as TRUST
from unaligned.json_lines import append_record, read_records
from unaligned.metrics import clustering_accuracy
from unaligned.partitions.features import view_features
from unaligned.partitions.scores import (
    draw_halves,
    joint_predictability,
    predictability,
)
from unaligned.savuc.config import NORMAL
from unaligned.savuc.consensus import N_BEST, consensus
from unaligned.savuc.recipes import joint_spaces, view_spaces

RESULTS = Path(__file__).parent / "results" / "best_view.jsonl"
CASES = [Case(d, seed=s, most_rows=1000) for s in range(3) for d in DATASETS[:-3]]
N_PAIRS, N_TRIPLES = 10, 5  # of a dataset, at most: cost
SIMPLE = ", k-means", ", diffusion"  # recipes of the oracle
EVEN = 0.97  # evenness from which classes count as equal: set by looking at the data
CHOSEN = "as it is or latent classes, by share of entropy"  # in the ablation


def groups_of(n_views):
    """List pairs and triples of views that are taken for matched."""
    rng, found = np.random.RandomState(0), []
    for size, most in ((2, N_PAIRS), (3, N_TRIPLES)):
        every = [*combinations(range(n_views), size)]
        found += [every[i] for i in sorted(rng.permutation(len(every))[:most])]
    return found


def run(case):
    """Cluster every view and every group of a case, and score the partitions."""
    Xs, (y, *_) = load_views(case)
    k, rng = int(y.max()) + 1, np.random.RandomState(case.seed)
    features = [view_features(X, neighbors_for(y)) for X in Xs]
    half, views = draw_halves(len(y), rng), range(len(Xs))

    def accuracy(labels):
        return round(100 * float(clustering_accuracy(y, labels)), 1)

    def alone(labels, members):
        return [predictability(features[i], labels, k, half) for i in members]

    def together(labels, members):
        return joint_predictability([features[i] for i in members], labels, k, half)

    pools, own, oracle = [], [], []
    for of_view in features:
        spaces = dict(zip(SCALES, view_spaces(of_view), strict=True))
        found = cluster_spaces(spaces, k, rng)
        pools.append([*found.values()])
        own.append(consensus(np.column_stack(pools[-1]), k, rng))
        found |= cluster_spaces(spaces, k, rng, LEFT_OUT)
        simple = [labels for name, labels in found.items() if name.endswith(SIMPLE)]
        oracle.append(max(map(accuracy, simple)))
    told = [[alone(labels, views) for labels in pool] for pool in pools]
    groups = []
    for members in groups_of(len(Xs)):
        chosen = [features[i] for i in members]
        spaces = dict(enumerate(joint_spaces(chosen, NORMAL.ridge)))
        pool = [*cluster_spaces(spaces, k, rng).values()]
        q = [alone(labels, members) for labels in pool]
        for i in members:
            pool += pools[i]
            q += [[of_labels[j] for j in members] for of_labels in told[i]]
        best = np.argsort(np.log(q).mean(axis=1))[-N_BEST:]
        top = np.column_stack([pool[b] for b in best])
        fused, classes = consensus(top, k, rng), latent_classes(top, k)
        either = choose_consensus(chosen, (fused, classes), k, half)
        groups.append(
            {
                "views": list(members),
                "accuracy": accuracy(fused),
                "latent classes": accuracy(classes),
                "chosen consensus": accuracy(either),
                "each": rounded(alone(fused, members)),
                "together": round(together(fused, members), 4),
                "own, together": rounded(together(own[i], members) for i in members),
            }
        )
    return {
        "evenness": evenness(y),
        "accuracy": [accuracy(labels) for labels in own],
        "oracle": oracle,
        "each": [rounded(alone(labels, views)) for labels in own],
        "groups": groups,
    }


def evenness(classes):
    """Entropy of the classes over the log of their number."""
    shares = np.bincount(classes) / len(classes)
    return round(float(-shares @ np.log(shares) / np.log(len(shares))), 3)


def rounded(values):
    """Numbers for a record."""
    return [round(float(value), 4) for value in values]


# What a group is worth, by how well its partition is predicted from each of its views
# and from all together, and how well each of its views predicts its own partition.
RULES = {
    "together": lambda group, own: group["together"],
    "mean over its views": lambda group, own: np.mean(group["each"]),
    "geometric mean": lambda group, own: np.exp(np.mean(np.log(group["each"]))),
    "largest over its views": lambda group, own: max(group["each"]),
    "largest of its views alone": lambda group, own: max(own),
    "larger of that and together": lambda group, own: max(*own, group["together"]),
    "always the matched views": lambda group, own: np.inf,
    "never": lambda group, own: -np.inf,
}
BY_LABELS = "the better, by labels"


def own_qualities(record):
    """How well every view predicts its own partition."""
    return np.diag(record["each"])


def found_pairs():
    """Pairs of views that a search without known pairs finds and trusts, by dataset."""
    found = {}
    for record in read_records(TRUST):
        kind, _, views = record["case"][:3]
        trusted = record["excess"] >= NORMAL.turning_point
        if kind == "true" and trusted:
            found.setdefault(views[0], set()).add(tuple(views[1:]))
    return found


def is_found(members, pairs):
    """Whether pairs connect all views of a group."""
    reached = {members[0]}
    for _ in members:
        for pair in pairs:
            if {*pair} <= {*members} and reached & {*pair}:
                reached |= {*pair}
    return reached == {*members}


def gains(records, wanted=lambda dataset, members: True):
    """Accuracy of every rule less the best view's by labels: a row per dataset."""
    by_dataset = {}
    for record in records:
        dataset, own = record["case"].split(",")[0], own_qualities(record)
        for group in record["groups"]:
            members = group["views"]
            others = [i for i in range(len(own)) if i not in members]
            if not others or not wanted(dataset, tuple(members)):
                continue
            rival = max(others, key=lambda i: own[i])
            either = group["accuracy"], record["accuracy"][rival]
            found = [
                either[0] if value(group, own[members]) >= own[rival] else either[1]
                for value in RULES.values()
            ]
            found = np.array([*found, max(either)]) - max(record["oracle"])
            by_dataset.setdefault(dataset, []).append(found)
    n_groups = sum(map(len, by_dataset.values()))
    return np.array([np.mean(of, axis=0) for of in by_dataset.values()]), n_groups


def table(records):
    """Markdown: every rule, for all groups and for those that a search finds."""
    pairs = found_pairs()
    every, n_every = gains(records)
    some, n_some = gains(records, lambda name, of: is_found(of, pairs.get(name, ())))
    heads = (
        f"all groups ({n_every}, of {len(every)} datasets)",
        f"groups that are found ({n_some}, of {len(some)})",
    )
    of_each = " | error | worst |"
    lines = [f"| a group's number | {heads[0]}{of_each} {heads[1]}{of_each}"]
    lines.append("| --- " * 7 + "|")
    for name, one, other in zip([*RULES, BY_LABELS], every.T, some.T, strict=True):
        lines.append(f"| {name} | {cells(one)} | {cells(other)} |")
    for_rules = [taken[:, : len(RULES)] for taken in (every, some)]
    chosen = " | ".join(cells(leave_one_out(taken)) for taken in for_rules)
    lines.append(f"| best rule on the other datasets | {chosen} |")
    return "\n".join(lines)


def cells(found):
    """Mean, its standard error, and the worst dataset."""
    error = found.std(ddof=1) / np.sqrt(len(found))
    return f"{found.mean():+.1f} | {error:.1f} | {found.min():+.1f}"


def leave_one_out(found):
    """Score on each dataset the rule that is best on the others."""
    rest = [np.delete(found, i, axis=0).mean(axis=0) for i in range(len(found))]
    return np.array([found[i, np.argmax(of)] for i, of in enumerate(rest)])


def table_of_keeping(records):
    """Markdown: fused partitions against what single matched views have."""
    by_dataset = {}
    for record in records:
        accuracy, each = np.array(record["accuracy"]), np.array(record["each"])
        for group in record["groups"]:
            members = group["views"]
            own, fused = accuracy[members], group["accuracy"]
            either = np.array([fused, *own])
            each_alone = group["each"], *each[members][:, members]
            qualities = [group["together"], *own_qualities(record)[members]]
            scores = {
                "joint score": [np.mean(np.log(q)) for q in each_alone],
                "predictability together": [group["together"], *group["own, together"]],
                "own predictability": qualities,
            }
            found = {
                f"fused or a view's own, by {name}": either[np.argmax(values)]
                for name, values in scores.items()
            }
            found["latent classes"] = group["latent classes"]
            found["fused or latent classes, by share of entropy"] = group[
                "chosen consensus"
            ]
            found["the better view's own, by labels"] = own.max()
            found["fused or a view's own, by labels"] = either.max()
            dataset = record["case"].split(",")[0]
            for name, value in found.items():
                by_dataset.setdefault(name, {}).setdefault(dataset, [])
                by_dataset[name][dataset].append(value - fused)
    lines = ["| instead of the fused partition | points | error | worst |"]
    lines.append("| --- " * 4 + "|")
    for name, of in by_dataset.items():
        means = np.array([np.mean(values) for values in of.values()])
        lines.append(f"| {name} | {cells(means)} |")
    return "\n".join(lines)


def by_evenness(records, fusions):
    """Markdown: gains of the chosen consensus where classes are of unequal size.

    ``fusions`` are the records of the ablation of the fusion of all views.
    """
    even, found = {}, {"all views": {}, "pairs and triples": {}}
    for record in records:
        dataset = record["case"].split(",")[0]
        even.setdefault(dataset, record["evenness"])
        found["pairs and triples"].setdefault(dataset, []).extend(
            group["chosen consensus"] - group["accuracy"] for group in record["groups"]
        )
    for record in fusions:
        dataset, accuracy = record["case"].split(",")[0], record["accuracy"]
        gain = accuracy[CHOSEN] - accuracy["as it is"]
        found["all views"].setdefault(dataset, []).append(gain)
    lines = ["| views | classes | datasets | points | error | worst |"]
    lines.append("| --- " * 6 + "|")
    for name, gains_of in found.items():
        for kind, is_even in (("unequal", False), ("equal", True)):
            chosen = [d for d in gains_of if (even[d] >= EVEN) == is_even]
            means = np.array([np.mean(gains_of[dataset]) for dataset in chosen])
            lines.append(f"| {name} | {kind} | {len(means)} | {cells(means)} |")
    return "\n".join(lines)


def main():
    """Run the cases that have no result yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    there = {record["case"] for record in read_records(RESULTS)}
    for case in [] if arguments.table else CASES:
        if case.name not in there:
            append_record(RESULTS, {"case": case.name} | run(case))
            print(case.name, flush=True)
    records = [*read_records(RESULTS)]
    print(table(records), table_of_keeping(records), sep="\n\n")


if __name__ == "__main__":
    main()
