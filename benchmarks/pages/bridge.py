"""Tables of docs/bridge.md, from what `benchmarks.bridge` measured, and its figures."""

from collections import defaultdict

import numpy as np

from benchmarks.data.split import side_of
from benchmarks.pages.markdown import DOCS, filled, head, row
from benchmarks.pages.study import mean
from benchmarks.records import FOLDER
from unaligned.benchmark.cells import Results
from unaligned.benchmark.figures import figure4
from unaligned.json_lines import read_records

RESULTS = FOLDER / "bridge.jsonl"
CELLS = FOLDER / "figure4" / "cells.jsonl"
PAGE = DOCS / "bridge.md"
IMAGES = DOCS / "images"
SMALL = "3Sources", "BBCSport", "WebKB", "NGs"  # of development
OTHERS = (  # of either side
    "scGEM",
    "MSRC-v1",
    "Reuters-600",
    "Movies",
    "ORL",
    "digits",
    "BBC4view",
    "ProteinFold",
)
BARS = {  # joint accuracy in percent with 2, 10 and 50 % of the pairs
    "Wiki": (38, 40, 50),
    "Handwritten 0, 1": (70, 85, 91),
    "BDGP": (40, 44, 55),
    "LandUse-21": (19, 24, 29),
    "Caltech101-20-recon": (38, 44, 50),
}
SHARES = 0.02, 0.1, 0.5
LADDER = 0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9, 1.0
WRONG = 0.0, 0.1, 0.2, 0.4


def grouped(kind):
    """Results of a kind, by dataset, share known and share wrong."""
    found = defaultdict(list)
    for result in read_records(RESULTS):
        if result["case"][0] == kind:
            found[tuple(result["case"][1:4])].append(result)
    return found


def percent(share):
    """Write a share in percent."""
    return f"{100 * share:g} %"


def of_all(found, name, shares, key):
    """Mean of a figure for each share of known pairs, where it was measured."""
    return [mean([r[key] for r in found.get((name, s, 0.0), ())]) for s in shares]


def bars_table(found):
    """Joint accuracy on the checks, with the bars."""
    lines = head(
        "data", *(f"{percent(s)} (bar)" for s in SHARES), "side by side", "CPU s"
    )
    for name, bars in BARS.items():
        ours = of_all(found, name, SHARES, "bridge")
        cells = [f"{acc} ({bar})" for acc, bar in zip(ours, bars, strict=True)]
        plain = " / ".join(of_all(found, name, SHARES, "side by side"))
        lines.append(row(name, *cells, plain, of_all(found, name, SHARES, "cpu")[-1]))
    return lines


def others_table(found):
    """Joint accuracy on other sets, beside coordinates side by side."""
    designs = "side by side", "bridge"
    lines = head("data", "side", *designs)
    for name in (*SMALL, *OTHERS):
        cells = (" / ".join(of_all(found, name, SHARES, d)) for d in designs)
        lines.append(row(name, side_of(name), *cells))
    return lines


def ladder_table(found):
    """Joint accuracy with more and more pairs, and the largest fall."""
    lines = head("data", *map(percent, LADDER), "largest fall")
    for name in SMALL:
        cells = of_all(found, name, LADDER, "bridge")
        fall = ""
        if all(cells):
            values = np.array(cells, dtype=float)
            fall = f"{(np.maximum.accumulate(values) - values).max():.1f}"
        lines.append(row(name, *cells, fall))
    return lines


def wrong_table(found):
    """AUC of suspicion, and joint accuracy, with some of the pairs permuted."""
    lines = head("data", *(f"{percent(w)}: AUC" for w in WRONG[1:]), "accuracy")
    for name in SMALL:
        results = [found.get((name, 0.5, wrong), []) for wrong in WRONG]
        aucs = [mean([r["auc"] for r in these], 2) for these in results[1:]]
        accuracies = " / ".join(mean([r["acc"] for r in these]) for these in results)
        lines.append(row(name, *aucs, accuracies))
    return lines


def pictures():
    """Draw the figures of `unaligned bench figure4 --output` the folder of CELLS."""
    return figure4(Results(CELLS))


def tables():
    """All tables of the page, and the figures."""
    joint = grouped("joint")
    seconds = [r for results in grouped("time").values() for r in results]
    parts = [
        "**With bars.** Side by side: principal coordinates, estimated by ridge.",
        bars_table(joint),
        "**Other sets**, with 2 / 10 / 50 % of the pairs.",
        others_table(joint),
        "**More and more pairs.**",
        ladder_table(joint),
        "**Wrong pairs.** Of half of the pairs of the first two views, some are "
        "permuted; AUC of the suspicion, and joint accuracy with none and with "
        "10, 20, 40 % wrong.",
        wrong_table(grouped("wrong")),
        f"**Time.** 5,000 rows of three views: {max(r['fit'] for r in seconds):.1f} "
        f"CPU s for the bridge, {max(r['all'] for r in seconds):.1f} with clusters.",
    ]
    for picture in pictures():
        parts += [f"![{picture.title}](images/{picture.name}.svg)", picture.caption]
    texts = [part if isinstance(part, str) else "\n".join(part) for part in parts]
    return "\n\n".join(texts)


def page():
    """Text of the page, with tables from the results."""
    return filled(PAGE, {"tables": tables()})


def draw():
    """Write the figures of the page."""
    for picture in pictures():
        (IMAGES / f"{picture.name}.svg").write_text(picture.file)
