"""Page docs/methods.md, from the code."""

import inspect

from benchmarks.pages.markdown import DOCS, head, row
from unaligned import PAVuC, SAVuC, baselines
from unaligned.base import ViewClusterer
from unaligned.baselines._pair_trained import PairTrainedClusterer
from unaligned.baselines._paired import PairedRowsClusterer

PAGE = DOCS / "methods.md"
METHODS = {name: getattr(baselines, name) for name in baselines.__all__}
METHODS |= {"PAVuC": PAVuC, "SAVuC": SAVuC}
ASSUMPTIONS = {
    "CMVNMF": "nothing; must-links and cannot-links help",
    "CPMN": "clusters of the views correspond",
    "Rosetta": "one view is the other, rotated",
    "SAVuC": "nothing; what cannot be aligned is refused",
    "SMILE": "clusters have the same shares in all views",
    "SCOT": "neighbours in one view are near in the other",
}
COSTS = {
    "PAVuC": "n^1.4",
    "SAVuC": "n^1.4",
    "SCOT": "cubic",
    "UPMGCSM": "cubic",
    "VuCG": "cubic; n^1.4 with matching='greedy'",
}
COMMON = {
    "n_clusters", "n_init", "view_sizes", "random_state", "verbose", "max_iter", "tol",
    "reference_view", "device",
}  # fmt: skip

HEAD = """\
# Methods, and what they assume

This page is made by `python -m benchmarks.pages methods` from the code. Their figures
beside the published ones are in [the paper, reproduced](reproduction.md).

"""


def assumption(name, cls):
    """Tell what a method takes the rows of two views for."""
    if issubclass(cls, PairedRowsClusterer):
        return "row r of all views is one object"
    if issubclass(cls, PairTrainedClusterer) and cls._needs_pairs:
        return "some pairs are known"
    return ASSUMPTIONS.get(name, "rows correspond one to one, unknown how")


def options(cls):
    """Parameters of a method that are its own."""
    return ", ".join(
        f"`{name}`" for name in inspect.signature(cls).parameters if name not in COMMON
    )


def methods_table():
    """Tell what every method assumes, costs and offers."""
    lines = head("method", "assumes", "time in n", "sparse views", "own parameters")
    for name, cls in sorted(METHODS.items()):
        assert issubclass(cls, ViewClusterer)
        mark = " (**reconstruction**)" if getattr(cls, "reconstruction", False) else ""
        sparse = "yes" if cls._accepts_sparse else "no"
        about = assumption(name, cls), COSTS.get(name, "linear"), sparse, options(cls)
        lines.append(row(f"`{name}`{mark}", *about))
    return "\n".join(lines)


def page():
    """Text of the page."""
    return f"{HEAD}{methods_table()}\n"
