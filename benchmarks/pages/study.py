"""Figures of docs/study.md."""

from collections import Counter, defaultdict

import numpy as np

from benchmarks import classes, confidence, savuc, trust
from benchmarks.data.split import CHECKING, DEVELOPMENT
from benchmarks.pages import trust as trust_page
from benchmarks.pages.markdown import DOCS, NOT_RUN, filled, head, row
from unaligned.json_lines import read_records

PAGE = DOCS / "study.md"
DIAGRAM = DOCS / "images" / "reliability.svg"
LEAST_OF_CLASSES = 1.5  # times chance: rows of one name that are of one class


def by_case(results, cases):
    """Group the shuffles of some cases, those of development sets first."""
    wanted = {str(case) for case in cases}
    groups = defaultdict(list)
    for result in results:
        if result["case"][0] in wanted:
            views = ", ".join(map(str, result["views"]))
            key = result["dataset"], result["rows"], views, result["ratio"]
            groups[key].append(result)
    order = sorted(
        groups, key=lambda key: (key[0] not in DEVELOPMENT, key[0].lower(), *key[1:])
    )
    return {key: groups[key] for key in order}


def name_of(dataset, rows, results):
    """Name of a case: rows only where they are not all of the dataset's."""
    of_dataset = {r["rows"] for r in results if r["dataset"] == dataset}
    return dataset if len(of_dataset) == 1 else f"{dataset}, {rows:,} rows"


def mean(values, digits=1):
    """Mean of values that are there, as text."""
    values = [value for value in values if not np.isnan(value)]
    return f"{np.mean(values):.{digits}f}" if values else ""


def matches_of(result):
    """List the groups of matched views, that of the template first."""
    return [result, *result["others"]]


def rates_of(results, name):
    """List the rates of all matched views of all shuffles."""
    return [rate for r in results for of in matches_of(r) for rate in of[name]]


def aligned_table(cases, names):
    """Rates of matched views."""
    lines = head(
        "data", "side", "rows", "shuffles", "matched", "one class (chance)",
        "one object (worst)", "AUC", "CPU s", "GB",
    )  # fmt: skip
    for key, results in cases.items():
        matched = [
            sum(len(of["matched"]) + 1 for of in matches_of(r) if of["matched"])
            for r in results
        ]
        several = "–".join(str(n) for n in sorted({min(matched), max(matched)}))
        same_class = rates_of(results, "same class")
        same_object = rates_of(results, "same object")
        rates = ["", "", ""]
        if same_class:
            chance = results[0]["chance"]
            rates = [
                f"{mean(same_class, 3)} ({chance:.3f})" if chance < 1 else "",
                f"{mean(same_object, 3)} ({min(same_object):.3f})",
                mean(rates_of(results, "AUC of confidence"), 3),
            ]
        seconds = mean([r["CPU seconds"] for r in results], 0)
        memory = mean([r["peak GB"] for r in results])
        case = names[key], results[0]["side"], f"{key[1]:,}", len(results)
        of_all = f"{several} of {len(results[0]['views'])}"
        lines.append(row(*case, of_all, *rates, seconds, memory))
    return lines


def false_trust(results):
    """Sentences on views whose objects or classes are named, and on wrong ones."""
    wrong = {"objects": [], "classes": []}
    n_views = {"objects": 0, "classes": 0}
    for r in results:
        told = f"{r['dataset']}, {r['rows']:,} rows, shuffle {r['shuffle']}, view "
        for of in matches_of(r) if r["ratio"] < 1 else ():
            n_views["objects"] += len(of["matched"])
            for i, same_class, exact in zip(
                of["matched"], of["same class"], of["same object"], strict=True
            ):
                record = {"exact": exact, "same_class": same_class}
                if not trust_page.is_right(record | {"chance": r["chance"]}):
                    wrong["objects"].append(f"{told}{i}")
        named = r.get("classes named", {"views": [], "same class": []})
        n_views["classes"] += len(named["views"])
        for i, same_class in zip(named["views"], named["same class"], strict=True):
            if same_class < LEAST_OF_CLASSES * r["chance"]:
                wrong["classes"].append(f"{told}{i}")
    return [
        f"With the verdict `{verdict}`, over all shuffles and shares of known pairs: "
        f"{n_views[verdict]} views. Wrong of them: {len(found)}"
        f"{': ' if found else ''}{'; '.join(found)}."
        for verdict, found in wrong.items()
    ]


def clustered_table(cases, names):
    """Accuracies beside their floors."""
    lines = head(
        "data", "side", "best view", "template",
        "single view, of those matched (oracle)", "single view, of all (oracle)",
        "each view", "PAVuC-ATS, each view", "joint", "PAVuC-ATS, joint",
    )  # fmt: skip
    for key, results in cases.items():
        singles = [r["single (oracle)"] for r in results]
        of_matched = [
            max(single[i] for i in (r["template"], *r["matched"]))
            for single, r in zip(singles, results, strict=True)
        ]
        lines.append(
            row(
                names[key],
                results[0]["side"],
                mean([best_accuracy(r) for r in results]),
                mean([r["scores"]["acc"][r["template"]] for r in results]),
                mean(of_matched) if any(r["matched"] for r in results) else "",
                mean([max(single) for single in singles]),
                mean([np.mean(r["scores"]["acc"]) for r in results]),
                mean([np.mean(r["PAVuC-ATS"]["acc"]) for r in results]),
                with_floor([r["joint"] for r in results]),
                with_floor([r["PAVuC-ATS, joint"] for r in results]),
            )
        )
    return lines


def best_accuracy(result):
    """Accuracy of `best_view_`, the template where nothing is matched."""
    return result["scores"]["acc"][result.get("best view", result["template"])]


def with_floor(scores):
    """Joint accuracy, and in brackets that of random names."""
    acc, floor = (mean([s[name] for s in scores]) for name in ("acc", "floor_acc"))
    return f"{acc} ({floor})"


def averages(cases):
    """Sentences: how far SAVuC is from the best single view, picked with the labels."""
    gaps = defaultdict(list)
    for results in cases.values():
        side, matched = results[0]["side"], all(r["matched"] for r in results)
        gap = [best_accuracy(r) - max(r["single (oracle)"]) for r in results]
        gaps[side, matched].append(np.mean(gap))
    return [
        f"On {side} sets where {'views are' if matched else 'no view is'} matched, the "
        f"best view is {np.mean(found):+.1f} points from the best single view (oracle) "
        f"on average ({len(found)} cases, from {min(found):+.1f} to {max(found):+.1f})."
        for (side, matched), found in sorted(gaps.items(), reverse=True)
    ]


def realigned_table(cases, names):
    """Accuracies of methods for aligned views."""
    others = ["PAVuC", *savuc.FOR_ALIGNED_VIEWS]
    lines = head("data", "SAVuC", *others)
    for key, results in cases.items():
        results = [r for r in results if r.get("realigned")]
        if results:
            own = mean([r["scores"]["acc"][r["template"]] for r in results])
            scores = [mean([r["realigned"][name] for r in results]) for name in others]
            lines.append(row(names[key], own, *scores))
    return lines


def known_table(cases, names):
    """Verdicts and joint accuracies by the share of pairs known."""
    lines = head(
        "data", "views", "known", "shuffles", "verdicts", "joint", "classes",
        "one object",
    )  # fmt: skip
    for key, results in cases.items():
        verdicts = Counter(
            verdict
            for r in results
            for i, verdict in enumerate(r["verdict"])
            if i != r["template"]
        )
        told = ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items()))
        acc, floor = (
            mean([score for r in results for score in r["classes named"][what]])
            for what in ("acc", "floor")
        )
        joint = with_floor([r["joint"] for r in results])
        classes = f"{acc} ({floor})" if acc else ""
        case = names[key], key[2], f"{100 * key[3]:g} %", len(results)
        exact = mean(rates_of(results, "same object"), 3)
        lines.append(row(*case, told, joint, classes, exact))
    return lines


def trust_parts(records):
    """Figures on trust, by the name of their markers."""
    sizes = head(
        "pairs of views", "side", "rows", "wrong", "trusted of them", "found",
        "missed of them", "largest excess of a wrong one",
    )  # fmt: skip
    sizes += [row(*cells) for cells in trust_page.size_rows(records)]
    checking = trust_page.of_side(records, "checking")
    bins = head("trust", "pairs", "mean trust", "right")
    bins += [
        row(f"{at / 10:g} to {(at + 1) / 10:g}", n, f"{trust:.3f}", f"{right:.3f}")
        for at, trust, right, n in trust_page.reliability(checking)
    ]
    image = f"![Share that is right over trust]({DIAGRAM.relative_to(DOCS)})"
    told = [trust_page.describe_fit(records), *trust_page.summary(checking)]
    below = ["", image, "", *(f"- {line}" for line in told)]
    noises, cells = trust_page.power_rows(records)
    power = head("rows", "columns", *(f"noise {noise:g}" for noise in noises))
    power += [row(*line) for line in cells]
    errors = [
        f"- {trust_page.describe_error(record)}"
        for record in trust_page.errors_of(records)
    ]
    return {
        "trust": table_or_nothing(sizes),
        "calibration": table_or_nothing(bins, below),
        "power": table_or_nothing(power),
        "errors": "\n".join(errors or ["None." if records else NOT_RUN]),
    }


def table_or_nothing(lines, more=()):
    """Text of a table and what follows it, or that there is nothing in it."""
    return "\n".join([*lines, *more]) if len(lines) > 2 else NOT_RUN


def page(study=savuc.RESULTS, of_trust=trust.RESULTS, of_confidence=confidence.RESULTS):
    """Compose the page: its text as it is, its figures from the results."""
    results = savuc.study_records(study)
    nothing = by_case(results, [*savuc.LARGE, *savuc.NOTHING_KNOWN])
    floored = {
        key: with_floors
        for key, of_case in nothing.items()
        if (with_floors := [r for r in of_case if "PAVuC-ATS" in r])
    }
    known = by_case(results, savuc.SOME_KNOWN)
    names = {key: name_of(key[0], key[1], results) for key in {**nothing, **known}}
    sides = {"Development": DEVELOPMENT, "Checking": CHECKING}
    parts = {
        "split": "\n".join(f"- {side}: {', '.join(of)}." for side, of in sides.items()),
        "alignment": table_or_nothing(
            aligned_table(nothing, names), ["", "\n\n".join(false_trust(results))]
        ),
        "clusters": table_or_nothing(
            clustered_table(floored, names), ["", "\n\n".join(averages(floored))]
        ),
        "realigned": table_or_nothing(realigned_table(nothing, names)),
        "known": table_or_nothing(known_table(known, names)),
        **trust_parts(trust_page.distinct(read_records(of_trust))),
        "classes": "\n".join(classes.table([*read_records(classes.RESULTS)])),
        "confidence": table_or_nothing(
            *confidence.reliability_table([*read_records(of_confidence)])
        ),
    }
    return filled(PAGE, parts)


def draw():
    """Draw the diagram of the page."""
    records = trust_page.distinct(read_records(trust.RESULTS))
    if checking := trust_page.of_side(records, "checking"):
        trust_page.draw_reliability(checking, DIAGRAM)
