"""Write docs/study.md from what was measured: ``python -m benchmarks.savuc_page``."""

from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks import savuc, trust
from unaligned.json_lines import read_records

PAGE = Path(__file__).parents[1] / "docs" / "study.md"

HEAD = """\
# SAVuC, measured

This page is made by `python -m benchmarks.savuc_page` from
`benchmarks/results/savuc.jsonl` and `benchmarks/results/trust.jsonl`. No label was
used to choose anything, except where a column says *oracle*. Every view is shuffled
on its own; figures are means over shuffles, so many as the table tells.

"""

ALIGNED = """\
## Alignment

With no pair known. A view is *trusted* at a trust of 0.5 or more; rates are those of
the trusted views beside the template, over all its rows: share of matches of one
class, with what chance gives, and of one object (in brackets the worst view of the
worst shuffle). AUC: how well `confidence` ranks right matches above wrong ones. CPU
seconds are those of the whole fit, clusters included.

"""

CLUSTERED = """\
## Clusters

Accuracy in percent. *Template*: labels of the template's rows. *Single view*: the
best of k-means and spectral clustering, on two scales, picked with the labels
(oracle), of the views that were aligned and of all views. *All views*: mean accuracy
over every view's own rows, beside PAVuC-ATS on centred data. Where nothing is
trusted, the template is the view whose own clusters are predicted best from it, agree
best between recipes and keep neighbours together best.

"""

REALIGNED = """\
## Other methods on the realigned rows

What methods for aligned views make of the alignment that SAVuC found: accuracy in
percent on the template's rows, with the views that were fused in its row order and
default settings. PAVuC is told that all rows correspond. On Caltech101-20, where two
classes have half of the rows, FPMVS-CAG keeps large clusters whole and is better.

"""

KNOWN = """\
## Some pairs known

Share of the other rows that found their own partner (mean over views; in brackets the
worst shuffle; 0 where the views were refused). Beyond a few, known pairs decide.

"""

TRUST = """\
## Trust

Pairs of views that have something to do with each other, and pairs that have not:
views of different datasets, views whose columns were permuted one by one, and views
of different objects. A true pair is right if it matches three times as many rows of
one class as chance does. The share by which the score exceeds that of random
matchings is the gain; trust is a function of it, and of whether a second search
confirms it.

"""

TAIL = """\
## What fails, and why

- **Views that share no linear directions** (half of the views of Handwritten, image
  and text of Wiki, most of ProteinFold's): the canonical correlations of the *true*
  matching are hardly above those of a random one, so no search can tell it from
  others by this score. They are refused.
- **Few rows.** With 200 to 600 rows the true matching may stand out and still be
  missed in one run of three: ORL's views 0 and 2 are found in most shuffles, not in
  all. `effort="thorough"` searches longer.
- **Classes without objects.** In BBCSport the two parts of a story share its topic
  and little else: rows are matched by class, a second search matches other rows, and
  `confidence` says so. Such views keep their own clusters under common names.
- **Two groups of views.** ORL and MSRC-v1 have two pairs of views that align within
  and not between. An `Alignment` has one template; the other group is in its `others`,
  and is labelled together, under names of its own.
"""


def by_case(results):
    """Results of all shuffles of a case, by what makes the case."""
    cases = defaultdict(list)
    for result in results:
        views = ", ".join(map(str, result["views"]))
        cases[result["dataset"], result["rows"], views, result["ratio"]].append(result)
    return cases


def row(*cells):
    """Line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def table(*columns):
    """Head of a table."""
    return [row(*columns), row(*["---"] * len(columns))]


def name_of(dataset, rows, results):
    """Name of a case: rows only where they are not all of the dataset's."""
    of_dataset = {r["rows"] for r in results if r["dataset"] == dataset}
    return dataset if len(of_dataset) == 1 else f"{dataset}, {rows:,} rows"


def mean(values, digits=1):
    """Mean of values that are there, as text."""
    values = [value for value in values if not np.isnan(value)]
    return f"{np.mean(values):.{digits}f}" if values else ""


def aligned_table(cases, names):
    """Rates of trusted views."""
    lines = table(
        "data", "rows", "shuffles", "views trusted", "one class (chance)",
        "one object (worst)", "AUC", "CPU s", "GB",
    )  # fmt: skip
    for key, results in cases.items():
        trusted = [len(r["trusted"]) + 1 if r["trusted"] else 0 for r in results]
        several = "–".join(str(n) for n in sorted({min(trusted), max(trusted)}))
        same_class = [rate for r in results for rate in r["same class"]]
        same_object = [rate for r in results for rate in r["same object"]]
        rates = ["", "", ""]
        if same_class:
            rates = [
                f"{mean(same_class, 3)} ({results[0]['chance']:.3f})",
                f"{mean(same_object, 3)} ({min(same_object):.3f})",
                mean([auc for r in results for auc in r["AUC of confidence"]], 3),
            ]
        lines.append(
            row(
                names[key],
                f"{key[1]:,}",
                len(results),
                f"{several} of {len(results[0]['views'])}",
                *rates,
                mean([r["CPU seconds"] for r in results], 0),
                mean([r["peak GB"] for r in results]),
            )
        )
    return lines


def clustered_table(cases, names):
    """Accuracies beside their floors."""
    lines = table(
        "data", "template", "single view, of those aligned (oracle)",
        "single view, of all (oracle)", "all views", "PAVuC-ATS, all views",
    )  # fmt: skip
    for key, results in cases.items():
        results = [r for r in results if "PAVuC-ATS" in r]
        if not results:
            continue
        singles = [r["single (oracle)"] for r in results]
        fused = [[r["template"], *r["trusted"]] for r in results]
        of_fused = [
            max(single[i] for i in views)
            for single, views in zip(singles, fused, strict=True)
        ]
        lines.append(
            row(
                names[key],
                mean([r["scores"]["acc"][r["template"]] for r in results]),
                mean(of_fused) if any(r["trusted"] for r in results) else "",
                mean([max(single) for single in singles]),
                mean([np.mean(r["scores"]["acc"]) for r in results]),
                mean([np.mean(r["PAVuC-ATS"]["acc"]) for r in results]),
            )
        )
    return lines


def averages(cases):
    """Sentences: how far SAVuC is from the best single view, picked with the labels."""
    gaps = {True: [], False: []}
    for results in cases.values():
        of_shuffles = [
            r["scores"]["acc"][r["template"]] - max(r["single (oracle)"])
            for r in results
        ]
        trusted = all(r["trusted"] for r in results)
        gaps[trusted].append(np.mean(of_shuffles))
    return "".join(
        f"{told}, the template is {np.mean(found):+.1f} points from the best single "
        f"view (oracle) on average over {len(found)} cases, from {min(found):+.1f} to "
        f"{max(found):+.1f}.\n"
        for told, found in (
            ("Where views are trusted", gaps[True]),
            ("Where none is", gaps[False]),
        )
        if found
    )


def realigned_table(cases, names):
    """Accuracies of methods for aligned views."""
    others = ["PAVuC", *savuc.FOR_ALIGNED_VIEWS]
    lines = table("data", "SAVuC", *others)
    for key, results in cases.items():
        results = [r for r in results if r["realigned"]]
        if results:
            own = mean([r["scores"]["acc"][r["template"]] for r in results])
            scores = [mean([r["realigned"][name] for r in results]) for name in others]
            lines.append(row(names[key], own, *scores))
    return lines


def known_from_above(known, nothing):
    """Cases with no pair known that stand in the tables above, too."""
    kinds = {key[:3] for key in known}
    return [key for key in nothing if key[:3] in kinds]


def known_table(cases, names):
    """Exact rates by the share of pairs known."""
    ratios = sorted({key[3] for key in cases})
    lines = table("data", "views", *(f"{100 * ratio:g} %" for ratio in ratios))
    kinds = dict.fromkeys(key[:3] for key in cases)
    for dataset, rows, views in kinds:
        cells = []
        for ratio in ratios:
            found = cases.get((dataset, rows, views, ratio), [])
            rates = [np.mean(r["same object"] or [0]) for r in found]
            cells.append(f"{np.mean(rates):.3f} ({min(rates):.3f})" if rates else "")
        lines.append(row(names[dataset, rows, views, ratios[0]], views, *cells))
    return lines


def trust_table(results):
    """Gains and trust of pairs by what they have to do with each other."""
    lines = table("pairs of views", "rows", "pairs", "trusted", "gain")
    kinds = {
        "cross": "of different datasets",
        "columns": "columns permuted",
        "disjoint": "different objects of the same classes",
        "true, wrong": "the same objects, not found",
        "true, right": "the same objects, found",
    }
    for kind, told in kinds.items():
        for low, high in trust.SIZES:
            these = trust.of_kind(results, kind, low, high)
            if these:
                gains = [r["gain"] for r in these]
                trusted = sum(trust.trust_of(r) >= 0.5 for r in these)
                ends = f"{min(gains):.3f} to {max(gains):.3f}"
                lines.append(row(told, f"{low}–{high}", len(these), trusted, ends))
    return lines


def page():
    """Text of the page."""
    results = [*read_records(savuc.RESULTS)]
    nothing = by_case(r for r in results if r["ratio"] == 0 and "PAVuC-ATS" in r)
    known = by_case(r for r in results if "PAVuC-ATS" not in r)
    known |= {key: nothing[key] for key in known_from_above(known, nothing)}
    names = {key: name_of(key[0], key[1], results) for key in {**nothing, **known}}
    parts = [HEAD, ALIGNED, "\n".join(aligned_table(nothing, names)), "\n\n"]
    parts += [CLUSTERED, "\n".join(clustered_table(nothing, names)), "\n\n"]
    parts += [averages(nothing), "\n"]
    parts += [REALIGNED, "\n".join(realigned_table(nothing, names)), "\n\n"]
    if known:
        parts += [KNOWN, "\n".join(known_table(known, names)), "\n\n"]
    parts += [
        TRUST,
        "\n".join(trust_table([*read_records(trust.RESULTS)])),
        "\n\n",
        TAIL,
    ]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
