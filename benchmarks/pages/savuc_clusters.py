"""Tables of docs/savuc_clusters.md."""

import numpy as np

from benchmarks.clusters import PICKS, RULES
from benchmarks.fusions import ORACLE
from benchmarks.pages.markdown import DOCS, best_on_others, filled, gains, head, row
from benchmarks.records import FOLDER
from unaligned.json_lines import read_records
from unaligned.savuc.config import NORMAL

PAGE = DOCS / "savuc_clusters.md"
EARLIER = "before: sum of three scores"  # measured once, by the rule that was replaced
EVEN = 0.97  # evenness from which classes count as equal: set by looking at the data
CHOSEN = "as it is or latent classes, by share of entropy"  # in the ablation
SHOWN = (
    "SAVuC",
    "mean graph, k-means",
    "mean graph, merging",
    "network fusion, k-means",
    "FPMVSCAG",
    ORACLE,
)
# What a group of matched views is worth, by how well its partition is predicted from
# each of its views and from all together, and how well each of its views predicts its
# own partition.
RULES_OF_GROUPS = {
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


def dataset_of(record):
    """Name the dataset of a case."""
    return record["case"].split(",")[0]


def over_datasets(records, values):
    """Mean of the values of a dataset's records, for every dataset."""
    groups = {}
    for record, value in zip(records, values, strict=True):
        groups.setdefault(dataset_of(record), []).append(value)
    return np.array([np.mean(group, axis=0) for group in groups.values()])


def column(records, name):
    """Percentages of a variant, in all records."""
    return np.array([record["accuracy"][name] for record in records])


def rules_table(records):
    """Every rule that picks a view and its partition, against the oracle."""
    names = [*RULES, EARLIER, "random view", "random choice"]
    found = {
        name: np.array([r[name] - r["oracle"] for r in records if name in r])
        for name in names
    }
    of_rules = np.column_stack([found[name] for name in RULES])
    found["best rule on the other datasets"] = best_on_others(of_rules)
    lines = head(f"rule ({len(records)} datasets)", "mean", "standard error", "worst")
    lines += [row(name, *gains(of)) for name, of in found.items() if len(of)]
    return "\n".join(lines)


def picks_table(records):
    """Tell what scores pick in all views, against the oracle of each view."""
    lines = head("score", "mean", "standard error")
    for pick in PICKS:
        found = np.array([record["all views"][pick] for record in records])
        lines.append(row(pick, *gains(found)[:2]))
    return "\n".join(lines)


def variants_table(records):
    """Mean over datasets of every variant of a study, against that which comes first.

    Time is that of all cases over that of the first variant.
    """
    (first, *others), timed = records[0]["accuracy"], "seconds" in records[0]
    base = column(records, first)
    columns = "variant", "mean", "against", "error", "better / worse by 1"
    lines = head(*columns, *["time"] * timed)
    mean = f"{over_datasets(records, base).mean():.1f}"
    lines.append(row(first, mean, *[""] * (3 + timed)))
    for name in others:
        found = column(records, name)
        gain = over_datasets(records, found - base)
        mean = f"{over_datasets(records, found).mean():.1f}"
        cells = [*gains(gain)[:2], f"{np.sum(gain >= 1)} / {np.sum(gain <= -1)}"]
        if timed:
            spent = [sum(r["seconds"][of] for r in records) for of in (name, first)]
            cells.append(f"{spent[0] / spent[1]:.2f}")
        lines.append(row(name, mean, *cells))
    return "\n".join(lines)


def candidates_table(records):
    """Every way to fuse views against the best view, and leaving one out."""
    oracle = column(records, ORACLE)
    found = {
        name: over_datasets(records, column(records, name) - oracle)
        for name in records[0]["accuracy"]
        if name != ORACLE
    }
    chosen = best_on_others(np.column_stack([*found.values()]))
    found["best on the other datasets"] = chosen
    lines = head(f"candidate ({len(chosen)} datasets)", "mean", "error", "worst")
    for name, gain in sorted(found.items(), key=lambda item: -item[1].mean()):
        lines.append(row(name, *gains(gain)))
    return "\n".join(lines)


def cases_table(records):
    """Accuracy of some candidates, for every dataset and choice of views."""
    cases = {}
    for record in records:
        cases.setdefault(record["case"].rsplit(", seed", 1)[0], []).append(record)
    lines = head("data", *SHOWN, "seeds")
    for name, found in cases.items():
        means = (f"{column(found, shown).mean():.1f}" for shown in SHOWN)
        lines.append(row(name, *means, len(found)))
    return "\n".join(lines)


def own_qualities(record):
    """How well every view predicts its own partition."""
    return np.diag(record["each"])


def found_pairs():
    """Pairs of views that a search without known pairs finds and trusts, by dataset."""
    found = {}
    for record in read_records(FOLDER / "trust.jsonl"):
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


def gains_of_groups(records, wanted=lambda dataset, members: True):
    """Accuracy of every rule less the best view's by labels: a row per dataset."""
    of_groups, found = [], []
    for record in records:
        own = own_qualities(record)
        for group in record["groups"]:
            members = group["views"]
            others = [i for i in range(len(own)) if i not in members]
            if not others or not wanted(dataset_of(record), tuple(members)):
                continue
            rival = max(others, key=lambda i: own[i])
            either = group["accuracy"], record["accuracy"][rival]
            taken = [
                either[0] if value(group, own[members]) >= own[rival] else either[1]
                for value in RULES_OF_GROUPS.values()
            ]
            of_groups.append(record)
            found.append(np.array([*taken, max(either)]) - max(record["oracle"]))
    return over_datasets(of_groups, found), len(found)


def best_view_table(records):
    """Every rule, for all groups and for those that a search finds."""
    pairs = found_pairs()
    every, n_every = gains_of_groups(records)
    some, n_some = gains_of_groups(
        records, lambda name, of: is_found(of, pairs.get(name, ()))
    )
    all_groups = f"all groups ({n_every}, of {len(every)} datasets)"
    found_groups = f"groups that are found ({n_some}, of {len(some)})"
    of_each = "error", "worst"
    lines = head("a group's number", all_groups, *of_each, found_groups, *of_each)
    names = [*RULES_OF_GROUPS, BY_LABELS]
    for name, one, other in zip(names, every.T, some.T, strict=True):
        lines.append(row(name, *gains(one), *gains(other)))
    of_rules = [taken[:, : len(RULES_OF_GROUPS)] for taken in (every, some)]
    chosen = [cell for taken in of_rules for cell in gains(best_on_others(taken))]
    lines.append(row("best rule on the other datasets", *chosen))
    return "\n".join(lines)


def instead_of_fused(record, group):
    """Accuracies of what could be taken instead of a group's fused partition."""
    accuracy, each = np.array(record["accuracy"]), np.array(record["each"])
    members = group["views"]
    own, either = accuracy[members], np.array([group["accuracy"], *accuracy[members]])
    each_alone = group["each"], *each[members][:, members]
    scores = {
        "joint score": [np.mean(np.log(q)) for q in each_alone],
        "predictability together": [group["together"], *group["own, together"]],
        "own predictability": [group["together"], *own_qualities(record)[members]],
    }
    return {
        **{
            f"fused or a view's own, by {name}": either[np.argmax(values)]
            for name, values in scores.items()
        },
        "latent classes": group["latent classes"],
        "fused or latent classes, by share of entropy": group["chosen consensus"],
        "the better view's own, by labels": own.max(),
        "fused or a view's own, by labels": either.max(),
    }


def keeping_table(records):
    """Fused partitions against what single matched views have."""
    of_groups, found = [], []
    for record in records:
        for group in record["groups"]:
            instead = instead_of_fused(record, group)
            of_groups.append(record)
            found.append([value - group["accuracy"] for value in instead.values()])
    lines = head("instead of the fused partition", "points", "error", "worst")
    for name, of in zip(instead, over_datasets(of_groups, found).T, strict=True):
        lines.append(row(name, *gains(of)))
    return "\n".join(lines)


def evenness_table(records, fusions):
    """Gains of the chosen consensus where classes are of equal and unequal size."""
    even = {dataset_of(record): record["evenness"] for record in reversed(records)}
    groups = [(record, group) for record in records for group in record["groups"]]
    gained = {
        "all views": (fusions, column(fusions, CHOSEN) - column(fusions, "as it is")),
        "pairs and triples": (
            [record for record, _ in groups],
            [group["chosen consensus"] - group["accuracy"] for _, group in groups],
        ),
    }
    lines = head("views", "classes", "datasets", "points", "error", "worst")
    for views, (of, values) in gained.items():
        means = over_datasets(of, values)
        names = dict.fromkeys(map(dataset_of, of))
        equal = np.array([even[name] >= EVEN for name in names])
        for kind, chosen in (("unequal", ~equal), ("equal", equal)):
            lines.append(row(views, kind, chosen.sum(), *gains(means[chosen])))
    return "\n".join(lines)


def page():
    """Compose the page: its text as it is, its tables from the results."""
    clusters, best_view, ablation = (
        [*read_records(FOLDER / f"{name}.jsonl")]
        for name in ("clusters", "best_view", "ablation")
    )
    candidates = [r for r in ablation if r["study"] == "candidates"]
    fusions = [r for r in ablation if r["study"] == "fusion"]
    return filled(
        PAGE,
        {
            "best view": best_view_table(best_view),
            "evenness": evenness_table(best_view, fusions),
            "keeping": keeping_table(best_view),
            "rules": rules_table(clusters),
            "picks": picks_table(clusters),
            "fusion": variants_table(fusions),
            "candidates": candidates_table(candidates),
            "cases": cases_table(candidates),
        },
    )
