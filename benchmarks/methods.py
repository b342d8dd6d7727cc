"""Write docs/methods.md from code and results: ``python -m benchmarks.methods``."""

import inspect
from pathlib import Path

from benchmarks.baselines import METHODS, read_results
from unaligned.base import ViewClusterer
from unaligned.baselines._paired import PairedRowsClusterer
from unaligned.benchmark import published_tables

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
PUBLISHED_NAMES = {
    "AEVC": "AEVCMVC",
    "FPMVSCAG": "FPMVS-CAG",
    "PAVuC": "PAVuC-ATS",
    "UPMGCSM": "UPMGC-SM",
}
COSTS = {"UPMGCSM": "cubic", "VuCG": "cubic; n^1.4 with matching='greedy'"}
COMMON = {
    "n_clusters", "n_init", "view_sizes", "random_state", "verbose", "max_iter", "tol",
    "reference_view", "device",
}  # fmt: skip

HEAD = """\
# Methods, and how their figures reproduce

This page is made by `python -m benchmarks.methods` from the code and from
`benchmarks/results/baselines.jsonl`, which `python -m benchmarks.baselines` writes.
Views are fully shuffled; scores are the mean of five shuffles, in percent, in the row
order that the method is scored in. Settings other than the defaults are named; they
were picked by looking at labels, as the published ones were ("oracle").

Uniform random labels score 11.8 / 16.9 / 4.3 on ProteinFold and 12.5 / 0.6 / 10.4 on
Wiki. Methods that ignore misalignment are near that on ProteinFold, and k-means on the
best single view (oracle: 37.5 and 56.6 ACC) beats them all.

"""


def assumption(cls):
    """Tell what a method takes the rows of two views for."""
    if issubclass(cls, PairedRowsClusterer):
        return "row r of all views is one object"
    if cls.__name__ == "CMVNMF":
        return "nothing; must-links and cannot-links help"
    return "rows correspond one to one, unknown how"


def options(cls):
    """Parameters of a method that are its own."""
    return ", ".join(
        f"`{name}`" for name in inspect.signature(cls).parameters if name not in COMMON
    )


def scores(row):
    """ACC / NMI / F of a result or of a published row."""
    return " / ".join(f"{row[key]:.1f}" for key in ("ACC", "NMI", "F"))


def methods_table():
    """Tell what every method assumes, costs and offers."""
    lines = [
        "| method | assumes | time in n | sparse views | own parameters |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, cls in sorted(METHODS.items()):
        assert issubclass(cls, ViewClusterer)
        mark = " (**reconstruction**)" if getattr(cls, "reconstruction", False) else ""
        cost = COSTS.get(name, "n^1.4" if name == "PAVuC" else "linear")
        sparse = "yes" if cls._accepts_sparse else "no"
        lines.append(
            f"| `{name}`{mark} | {assumption(cls)} | {cost} | {sparse} | "
            f"{options(cls)} |"
        )
    return "\n".join(lines)


def scores_table():
    """Ours beside the published figures."""
    published = published_tables()["table4_fully_unaligned"]
    lines = [
        "| method | data | ours | published | setting | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for (name, dataset), result in sorted(read_results().items()):
        row = published[PUBLISHED_NAMES.get(name, name)][dataset]
        chosen = result["parameters"].items()
        setting = ", ".join(f"{key}={value:g}" for key, value in chosen) or "defaults"
        if result["scored"] != "template":
            setting += f"; {result['scored']}"
        mark = " (reconstruction)" if result["reconstruction"] else ""
        cells = [
            f"`{name}`{mark}",
            dataset,
            scores(result),
            scores(row),
            setting,
            f"{result['seconds']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page():
    """Text of the page."""
    return (
        f"{HEAD}## What they assume\n\n{methods_table()}\n\n"
        f"## ACC / NMI / F beside Table 4\n\n{scores_table()}\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
